"""Every kind of parameter from a spec to a verdict, by an operator that is made up: generated, run
on the loopback, judged, minimized, exported and read again.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests import loopback
from tests.support import copies, made_up

SCRIPT = """
import json, os, sys, opgen
from opgen.cli import main
from opgen.devices import backend
from opgen.minimization import files
folder, libraries, soc, runner = sys.argv[1:]
os.environ |= {"OPGEN_OPAPI": libraries, "LOOPBACK_SOC": soc}
bundle = f"{folder}/suite.h5"
opgen.generate(["made_up_backward"], plan="standard", output=bundle)
with opgen.open(bundle) as suite, open(f"{folder}/calls.jsonl", "w") as lines:
    for case in suite:
        print(json.dumps({**case.call, "id": case.id}, allow_nan=False), file=lines)
    told = {case.id: [case.expect.codes, case.call["args"]] for case in suite}
opgen.generate(calls=f"{folder}/calls.jsonl", output=f"{folder}/again.h5")
with opgen.open(f"{folder}/again.h5") as suite:
    again = {case.id: [case.expect.codes, case.call["args"]] for case in suite}
verdicts = {}
for fault in ("", "element"):
    os.environ["LOOPBACK_FAULT"] = fault
    with opgen.open(bundle) as suite:
        opgen.run(suite, backend("aclnn"), f"{folder}/results{fault}.h5")
        opgen.run(suite, f"cmd:{runner}", f"{folder}/cmd{fault}.h5")
    for way in ("results", "cmd"):
        found = opgen.diff(bundle, f"{folder}/{way}{fault}.h5")
        verdicts[way + fault] = {v.case: v.verdict for v in found}
os.environ["LOOPBACK_FAULT"] = "element"
failing = "*weights0.[35]x*beta[02].*"
minimal = opgen.minimize(bundle, f"{folder}/resultselement.h5", failing, "aclnn", most=1)
for name, text in files(minimal.failure).items():
    with open(f"{folder}/{name}", "w") as program:
        program.write(text)
for tool, file, also in (
    ("atk", "atk_ascend910b.json", ["--product", "ascend910b"]),
    ("ttk", "cases.csv", []),
):
    tree, lines = f"{folder}/{tool}", f"{folder}/{tool}.jsonl"
    main(["export", tool, bundle, "-o", tree, "-q"], standalone_mode=False)
    main(["import", tool, f"{tree}/{file}", *also, "-o", lines, "-q"], standalone_mode=False)
json.dump({"told": told, "again": again, "verdicts": verdicts}, sys.stdout)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up.checkout(tmp_path_factory.mktemp("made-up"))


@pytest.mark.parametrize("more", [[], ["--digests"], ["--json"]])
def test_audit_of_a_spec_without_a_page_proves_nothing(
    copy: Path, tmp_path: Path, more: list[str]
) -> None:
    shown = copies.opgen(copy, "audit", "--pages", str(tmp_path), "made_up_backward", *more)
    said = "made_up_backward: has no page to compare with\n"
    assert (shown.returncode, shown.stderr) == (1, said)


@pytest.fixture(scope="module")
def seen(copy: Path) -> dict[str, dict]:
    libraries = loopback.libraries()
    soc = loopback.SOCS["ascend910b"]
    given = [str(copy), str(libraries), soc, str(loopback.runner())]
    done = copies.python(copy, "-c", SCRIPT, *given)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_right_device_passes_and_a_wrong_one_does_not(seen) -> None:
    right, wrong = seen["verdicts"]["results"], seen["verdicts"]["resultselement"]
    assert set(right.values()) <= {"passed", "inconclusive", "skipped"}
    assert list(right.values()).count("passed") > 40
    computed = [case for case in wrong if ".invalid." not in case and right[case] == "passed"]
    failed = [case for case in computed if wrong[case] == "failed"]
    assert len(failed) > len(computed) / 2


def test_a_runner_without_python_answers_as_the_backend_does(seen) -> None:
    for fault in ("", "element"):
        assert seen["verdicts"][f"cmd{fault}"] == seen["verdicts"][f"results{fault}"]


def test_cases_stand_on_limits_of_reals_and_beside_them(seen) -> None:
    def values(name: str, codes: list[object]) -> set[object]:
        return {args[name] for told, args in seen["told"].values() if told == codes}

    assert {0.0, 0.5, 1.0} == values("p", [0])
    assert {-5e-324, 1.0000000000000002, "nan"} < values("p", [161002])
    assert {1.401298464324817e-45, 0.10000000149011612, 2.0, "inf"} == values("eps", [0])
    assert {0.0, -1.401298464324817e-45} < values("eps", [161002])


def test_cases_try_words_arrays_of_reals_and_the_last_of_uint64(seen) -> None:
    def values(name: str, codes: list[object]) -> list[object]:
        return [args[name] for told, args in seen["told"].values() if told == codes]

    last = 2**64 - 1
    assert set(values("count", [0])) == {1, last} and 0 in values("count", [161002])
    assert set(values("reduction", [0])) >= {"none", "mean"}
    assert {"", "no_mean_none"} < set(values("reduction", [161002]))
    assert None in values("reduction", [161001])
    assert all(weights in values("weights", [0]) for weights in (None, [], [0.5, 0.25]))
    assert [0.5, 0.2499999850988388] in values("weights", [161002])
    together = [args for codes, args in seen["told"].values() if args["count"] == last]
    assert {args["reduction"] for args in together} >= {"none", "mean"}


def test_cases_try_scalars_with_dtypes_of_their_own(seen) -> None:
    def values(codes: list[object]) -> list[object]:
        return [args["beta"] for told, args in seen["told"].values() if told == codes]

    single = {"value": 0.10000000149011612, "dtype": "FLOAT"}
    double, whole = {"value": 0.1, "dtype": "DOUBLE"}, {"value": 2, "dtype": "INT32"}
    assert all(beta in values([0]) for beta in (None, single, double, whole))
    assert {"value": 0, "dtype": "INT32"} in values([161002])
    broken = [beta for beta in values([161002]) if beta]
    assert {"nan", -1.401298464324817e-45} <= {beta["value"] for beta in broken}
    assert {"FLOAT16", "UINT32"} <= {beta["dtype"] for beta in broken}


def test_calls_are_the_same_when_they_are_written_and_read(seen) -> None:
    assert seen["again"] == seen["told"]


@pytest.mark.usefixtures("seen")
def test_programs_show_a_fault(copy: Path) -> None:
    libraries = str(loopback.libraries())
    source, program = copy / "repro.cpp", copy / "repro"
    link = ["-L", libraries, "-lascendcl", "-lnnopbase", "-lopapi", "-Wall", "-Wextra", "-Werror"]
    compiler = loopback.compiler("g++", "clang++")
    subprocess.run([compiler, "-std=c++17", "-o", program, source, *link], check=True)
    environment = os.environ | {
        "LOOPBACK_SOC": loopback.SOCS["ascend910b"],
        "LD_LIBRARY_PATH": libraries,
    }
    for command in ([program], ["python3", copy / "repro.py", libraries]):
        for fault, status in (("element", 1), ("", 0)):
            shown = subprocess.run(
                command,
                env=environment | {"LOOPBACK_FAULT": fault},
                capture_output=True,
                text=True,
                check=False,
            )
            assert shown.returncode == status, shown.stdout + shown.stderr


def test_other_tools_files_are_read_again(copy: Path, seen) -> None:
    def attributes(calls: Iterable[dict[str, object]]) -> list[dict[str, object]]:
        return [{n: v for n, v in args.items() if not n.startswith("grad")} for args in calls]

    told = seen["told"].items()
    valid = [args for case, (codes, args) in told if codes == [0] and ".910b." in case]
    for tool in ("atk", "ttk"):
        lines = map(json.loads, (copy / f"{tool}.jsonl").read_text().splitlines())
        kept = [args for args in valid if tool == "ttk" or args["weights"] != []]
        read = [line["args"] for line in lines if line["product"] == "ascend910b"]
        assert kept and attributes(read) == attributes(kept)
