"""The command line as its users meet it: messages, exit codes, what goes where."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

import opgen
from opgen.calls.call_json import to_json
from opgen.calls.vocabulary import vocabulary
from opgen.cli import Commands, main, titles
from opgen.cli.choosing import choose
from opgen.cli.generate import summary_table
from opgen.devices import DeviceError
from opgen.model import FileError, Problem
from opgen.spec.catalog import catalog
from opgen.spec.spec_folder import TABLES
from opgen.suite.selection import Request
from tests.support import copies, device_sample
from tests.support.bundle_sample import sample

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("numpy", "h5py", "yaml", "rich", "ml_dtypes", "torch")
RUN = "from opgen.cli import main; main(prog_name='opgen')"


def run(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin, prog_name="opgen")


def spawn(*args: str, code: str = RUN, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}  # type: ignore[dict-item]
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        **options,
    )  # type: ignore[call-overload, no-any-return]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample().write(tmp_path_factory.mktemp("cli") / "suite.h5")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("cases", "--ids", "--json"), "--ids and --json: give only one of them"),
        (
            ("coverage", "--bundle", "{bundle}", "--calls", "{bundle}"),
            "--bundle and --calls: give only one of them",
        ),
        (
            ("coverage", "{bundle}", "--calls", "calls.jsonl"),
            "only one file of calls can be counted",
        ),
        (
            (
                "run",
                "{bundle}",
                "--backend",
                "mutant:nan_lost",
                "--device",
                "inf_clipped",
                "-o",
                "{folder}/r.h5",
            ),
            "--device: 'inf_clipped', and --backend mutant:nan_lost names another",
        ),
        (
            ("minimize", "{bundle}", "{results}", "*", "--backend", "mutant", "-o", "/dev/null"),
            "/dev/null: is a file; name a folder",
        ),
        (
            (
                "minimize",
                "{bundle}",
                "{results}",
                "*",
                "--backend",
                "mutant",
                "-o",
                "{folder}/no/folder",
            ),
            "there is no folder",
        ),
        (
            ("audit", "--pages", "{folder}", "--plan", "smoke", "--lock", "{bundle}"),
            "--plan and --lock: give only one of them",
        ),
        (
            ("audit", "--pages", "{folder}", "--digests", "--json"),
            "--digests and --json: give only one of them",
        ),
    ],
    ids=range(8),
)
def test_what_contradicts_or_cannot_be_written_is_refused_at_once(
    given: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    bundle, results = device_sample.write(tmp_path / "suite.h5"), tmp_path / "results.h5"
    assert (
        run("run", str(bundle), "--backend", "mutant:wrong_code", "-o", str(results)).exit_code == 0
    )
    before = sorted(tmp_path.iterdir())
    shown = run(*(word.format(bundle=bundle, results=results, folder=tmp_path) for word in given))
    assert shown.exit_code == 2 and said in shown.stderr and sorted(tmp_path.iterdir()) == before, (
        shown.stderr
    )


# the group ----------------------------------------------------------------------------------------
def test_help_names_every_command_in_full() -> None:
    text = run("--help").output
    assert all(
        re.search(rf"^  {name} +{re.escape(title)}$", text, re.MULTILINE)
        for name, title in titles().items()
    )


def test_a_module_with_a_command_says_so_in_its_first_line() -> None:
    for path in sorted((ROOT / "opgen" / "cli").glob("*.py")):
        has = (
            re.search(r"^def command\(", path.read_text(encoding="utf-8"), re.MULTILINE) is not None
        )
        assert has == (path.stem in titles()), (
            f'{path.name} must begin with: """``opgen {path.stem}``: ..."""'
        )


@pytest.mark.parametrize("name", titles())
def test_every_command_has_help_examples_and_helpful_options(name: str) -> None:
    shown = run(name, "--help")
    assert shown.exit_code == 0
    assert re.search(rf"^ *\$ opgen {name}\b", shown.output, re.MULTILINE), "no example"
    command = main.get_command(click.Context(main), name)  # type: ignore[attr-defined]
    for parameter in command.params:
        assert not isinstance(parameter, click.Option) or parameter.help, (
            f"--{parameter.name} has no help"
        )
    assert max(map(len, shown.output.splitlines())) <= 100


@pytest.mark.parametrize("args", [["--help"], ["-h"], ["generate", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(args: list[str]) -> None:
    probe = (
        "import sys, atexit; atexit.register(lambda: print(sorted(set(sys.modules) &"
        f" set({HEAVY!r})), file=sys.stderr)); {RUN}"
    )
    shown = spawn(*args, code=probe)
    assert shown.returncode == 0 and shown.stderr.strip() == "[]"


@pytest.mark.parametrize(("given", "threads"), [(None, "1"), ("4", "4")])
def test_one_thread_of_blas_unless_asked_before_numpy_is_there(
    given: str | None, threads: str
) -> None:
    code = """
import os, sys
class Watch:
    def find_spec(name, path=None, target=None):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_NUM_THREADS"), file=sys.stderr)
sys.meta_path.insert(0, Watch)
from opgen.cli import main
main(["ops"])
"""
    environment = {
        name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"
    }
    if given is not None:
        environment["OPENBLAS_NUM_THREADS"] = given
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr.split() == [threads]


def test_version() -> None:
    assert run("--version").output == f"opgen {opgen.__version__}\n"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("inspcet", "inspect"), ("generat", "generate"), ("gen", "generate"), ("list", None)],
)
def test_misspelt_commands(typed: str, meant: str | None) -> None:
    shown = run(typed)
    assert shown.exit_code == 2
    assert f"no such command '{typed}'" in shown.stderr
    assert (f"did you mean '{meant}'?" in shown.stderr) == (meant is not None)


def test_one_thing_is_called_alike_everywhere() -> None:
    """An option has one metavar and is a flag in every command or in none; so is what it names."""
    said: dict[str, set[str | None]] = {}
    for name in titles():
        command = main.get_command(click.Context(main), name)  # type: ignore[attr-defined]
        for parameter in command.params:
            flag = getattr(parameter, "is_flag", False)
            metavar = None if flag else parameter.make_metavar(click.Context(command))
            word = parameter.opts[-1] if isinstance(parameter, click.Option) else parameter.name
            said.setdefault(word, set()).add(metavar and metavar.strip("[]."))
            kind = parameter.type
            if isinstance(parameter, click.Option) and isinstance(kind, click.Path):
                shown = {"FILE": kind.file_okay, "DIR": kind.dir_okay}
                whole = {"FILE", "FILE|DIR", "DIR", "smoke|standard|full|models|determinism|FILE"}
                assert metavar in whole and ("FILE" in metavar) == shown["FILE"], (name, word)
    several = {word: metavars for word, metavars in said.items() if len(metavars) > 1}
    assert several == {
        "--output": {"FILE", "DIR", "FILE|DIR"},
        "format": {"{atk|ttk}", "{atk|gtest|npz|ttk}"},
        "operators": {"OP", "OP|FILE"},
    }


@pytest.mark.parametrize(
    "line",
    [
        "ops {} --json",
        "page {}",
        "cases {} --ids",
        "coverage {} --plan smoke --json",
        "mutants {} --mutant border_missing --json",
        "refresh {} --check",
        "audit {} --pages .",
        "generate {} -o suite.h5",
    ],
)
def test_an_operator_goes_by_either_name(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    (tmp_path / "aclnnReflectionPad1dBackward.md").touch()
    said = []
    for name in ("reflection_pad1d_backward", "aclnnReflectionPad1dBackward"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))  # nothing is checked yet
        shown = run(*line.format(name).split(), *(["--force"] if "-o" in line else []))
        said.append((shown.exit_code, shown.stdout, shown.stderr))
        wrong = run(*line.format(name[:-2]).split(), *(["--force"] if "-o" in line else []))
        assert wrong.exit_code == 2 and f"did you mean '{name}'?" in wrong.stderr
    assert said[0] == said[1] and said[0][0] == ("audit" in line), said  # its page is empty


@pytest.mark.parametrize("command", ["generate", "mutants", "coverage"])
def test_the_first_line_says_what_is_done_once_the_request_is_sound(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    few = ["--mutant", "output_truncated"] if command == "mutants" else []
    shown = run(command, "reflection_pad1d_backward", *few)
    assert shown.exit_code == 0 and shown.stderr.startswith("enumerating calls ...\n")
    for wrong in (["nothing"], ["--plan", "nothing"]):
        shown = run(command, *wrong)
        assert shown.exit_code == 2 and "enumerating" not in shown.stderr, shown.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        ["--product", "nothing"],
        ["--shard", "3/2"],
        ["--recipe", "integers"],
        ["--calls", "absent.jsonl"],
        ["--seed-calls", "absent.jsonl"],
    ],
)
@pytest.mark.parametrize("command", ["cases", "generate"])
def test_a_wrong_request_is_refused_before_anything_is_enumerated(
    command: str, wrong: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = run(command, *wrong)
    assert shown.exit_code == 2 and "enumerating" not in shown.stderr, shown.stderr


def test_cases_says_what_it_does_before_it_does_it_but_not_to_programs() -> None:
    told = {option: run("cases", "silu_backward", *option).stderr for option in [(), ("--json",)]}
    assert told == {(): "enumerating calls ...\n", ("--json",): ""}


def test_a_product_that_no_page_lists_is_one_that_a_device_should_refuse() -> None:
    shown = run("ops", "avg_pool2d_backward").stdout
    assert "ascend910_93  not on the page: a device should refuse every call" in shown


# errors -------------------------------------------------------------------------------------------
PROBLEMS = FileError(
    [Problem("a.yaml", 3, "pad", "no such name"), Problem("a.yaml", None, "", "not YAML")]
)


@pytest.mark.parametrize(
    ("error", "lines", "code"),
    [
        (PROBLEMS, ["a.yaml:3: pad: no such name", "a.yaml: not YAML"], 2),
        (opgen.BundleError("x.h5: truncated"), ["x.h5: truncated"], 2),
        (PermissionError(13, "Permission denied", "here"), ["here: Permission denied"], 2),
        (BrokenPipeError(32, "Broken pipe"), [], 141),
        (
            ImportError("Original error was:\nlib.so: failed to map segment", name="numpy"),
            ["a library cannot be loaded: lib.so: failed to map segment; install opgen anew"],
            2,
        ),
        (
            ModuleNotFoundError("No module named 'scipy'", name="scipy"),
            ["needs scipy, which is not installed: pip install scipy"],
            2,
        ),
        (OSError(28, "No space left on device"), ["standard output: No space left on device"], 2),
        (OSError("lib.so: failed to map"), ["lib.so: failed to map"], 2),
        (KeyboardInterrupt(), ["interrupted"], 130),
        (EOFError(), ["interrupted"], 130),
        (MemoryError(), ["not enough memory; try a smaller plan, fewer workers, or --shard"], 2),
        (click.ClickException("no"), ["Error: no"], 1),
    ],
)
def test_errors_become_lines(error: BaseException, lines: list[str], code: int) -> None:
    shown = failing(error)
    assert (shown.exit_code, shown.stderr.splitlines(), shown.stdout) == (code, lines, "")


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (opgen.BundleError("x.h5: full"), ["x.h5: full", "go on"]),
        (KeyboardInterrupt(), ["go on", "interrupted"]),
    ],
)
def test_what_an_error_says_besides_is_shown(error: BaseException, lines: list[str]) -> None:
    error.add_note("go on")
    assert failing(error).stderr.splitlines() == lines


@pytest.mark.parametrize(
    "error",
    [PROBLEMS, DeviceError("aclnn", "no library", "no device")],
)
def test_another_process_gets_the_problems(error: FileError) -> None:
    assert pickle.loads(pickle.dumps(error)).problems == error.problems


def test_a_fault_of_opgen_keeps_its_traceback() -> None:
    shown = failing(ZeroDivisionError("ouch"))
    assert shown.exit_code == 2
    assert (
        "Traceback" in shown.stderr
        and "ZeroDivisionError: ouch" in shown.stderr
        and "a fault of opgen" in shown.stderr
    )


def failing(error: BaseException) -> Result:
    def fail() -> None:
        raise error

    group = Commands(name="opgen", invoke_without_command=True, callback=fail)
    return CliRunner().invoke(group, [], prog_name="opgen")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("args", ["ops", "--version", "--help"])
def test_a_full_output_is_one_line(args: str) -> None:
    with open("/dev/full", "w") as full:
        shown = subprocess.run(
            [sys.executable, "-c", RUN, args],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert (shown.returncode, shown.stderr) == (2, "standard output: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("args", ["judge missing.jsonl", "ops nothing", "frobnicate"])
def test_messages_that_cannot_be_written_are_no_difference(args: str) -> None:
    with open("/dev/full", "w") as full:
        shown = subprocess.run(
            [sys.executable, "-c", RUN, *args.split()],
            stderr=full,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert shown.returncode == 2


@pytest.mark.parametrize(
    ("args", "closed", "code"),
    [
        ("judge -", ">&-", 0),
        ("ops", ">&-", 0),
        ("judge missing.jsonl", ">&-", 2),
        ("judge -", "2>&-", 0),
        ("judge missing.jsonl", "2>&-", 2),
        ("judge -", "<&-", 2),
    ],
)
def test_a_stream_that_is_closed_takes_nothing_and_gives_nothing(
    args: str, closed: str, code: int
) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", RUN, *args.split()]
    shown = subprocess.run(
        command,
        input="",
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    message = {
        "judge missing.jsonl": "missing.jsonl: cannot be read: No such file or directory\n",
        "ops": "",
    }.get(args, "")
    if (args, closed) == ("judge -", ">&-"):
        message = "standard input: no calls\n"
    if closed == "<&-":
        message = "<stdin>: cannot be read: standard input is closed\n"
    assert (shown.returncode, shown.stdout, shown.stderr) == (
        code,
        "",
        "" if closed == "2>&-" else message,
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["inspect", "nowhere.h5"], "'nowhere.h5' does not exist"),
        (["inspect", "{here}"], "is a directory"),
        (["inspect", "{text}"], "not an opgen bundle"),
        (
            ["inspect", "{bundle}", "one/FLOT16/0"],
            "no such case among 19 (did you mean 'one/FLOAT16/0'?)",
        ),
        (["inspect", "{bundle}", "x*"], "ID|GLOB: x*: matches no case"),
        (["inspect", "{bundle}", "x*", "--where", "N == 1"], "ID|GLOB: x*: matches no case"),
        (["unpack", "{bundle}", "-o", "{text}"], "exists already; --force replaces it"),
        (
            ["run", "{bundle}", "--backend", "mutant", "-o", "{text}"],
            "exists already; --force replaces it",
        ),
        (["unpack", "{bundle}", "-o", "{here}/no/tree.h5"], "there is no folder"),
        (
            ["run", "{bundle}", "--backend", "touch", "-o", "{text}"],
            "no such backend 'touch'; did you mean 'torch'?",
        ),
        (["run", "{bundle}", "--backend", "touch", "-o", "{text}"], "exists already; --force"),
        (
            ["run", "{bundle}", "--backend", "mutant:none", "-o", "r.h5"],
            "mutant: none: no such mutant; opgen explain mutants lists them; mutant:nothing is a",
        ),
        (
            ["run", "{bundle}", "--backend", "mutant", "-o", "r.h5"],
            "mutant: name one, as in mutant:NAME; opgen explain mutants lists them; mutant:nothing",
        ),
        (["generate", "--product", "910b"], "no such product (did you mean 'ascend910b'?)"),
        (["explain", "161002", "avg_pol2d_backward"], "no such operator (did you mean 'avg_pool2d"),
        (["unpack", "{bundle}"], "Missing option '-o'"),
        (["ops", "avg_pool2d"], "no such operator (did you mean 'avg_pool2d_backward'?)"),
        (["new", "plan", "no_backward"], "OP: no_backward: no such operator"),
        (["explain", "--bundle", "{bundle}", "x*"], "ID|GLOB: x*: matches no case"),
        (["mutants", "{bundle}"], "a file, not an operator; opgen inspect shows a bundle"),
        (["learn", "{bundle}"], "FILE: name the bundle of these results of opgen run, with --bund"),
        (["page", "group_norm"], "no such operator (did you mean 'group_norm_backward'?)"),
        (["audit"], "Missing option '--pages'"),
        (["audit", "--pages", "{here}"], "cannot be read: No such file"),
        (["check", "{text}"], "is not a spec, plan, errata or sizes file"),
        (["generate", "--product", "ascend910c"], "no such product (did you mean 'ascend910"),
        (["generate", "--plan", "smok"], "did you mean 'smoke'?"),
        (["generate", "-o", "{bundle}"], "exists already"),
        (["generate", "nonsense", "-o", "{bundle}"], "no such operator"),
        (["generate", "--calls", "{empty}"], "empty.jsonl: holds no call"),
        (
            ["run", "{bundle}", "--backend", "torch", "-o", "r.h5", "--timeout", "nan"],
            "'--timeout': nan is not a finite number",
        ),
        (
            ["minimize", "{bundle}", "{bundle}", "x", "--backend", "torch", "--timeout", "inf"],
            "'--timeout': inf is not a finite number",
        ),
        (["coverage", "--fail-under", "nan"], "'--fail-under': nan is not a finite number"),
        (["mutants", "--fail-under", "nan"], "'--fail-under': nan is not a finite number"),
        (
            ["backtest", "--fail-under", "nan", "{text}"],
            "'--fail-under': nan is not a finite number",
        ),
        (
            ["generate", "-o", "-"],
            "'-o' / '--output': is not a file: this output cannot go to standard output",
        ),
        (["generate", "-o", "suite.h5/"], "'suite.h5/' names a folder: name a file"),
        (["diff", "{bundle}", "{bundle}", "--html", "-"], "'--html': is not a file"),
        (["coverage", "absent.h5"], "OP: absent.h5: no such file"),
        (["coverage", "no/where"], "OP: no/where: no such file"),
    ],
)
def test_bad_usage_exits_2_with_a_message(
    args: list[str], message: str, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = tmp_path / "text.txt"
    text.write_text("hello: there\n", encoding="utf-8")
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    before = bundle.read_bytes()
    shown = run(*(arg.format(here=tmp_path, text=text, empty=empty, bundle=bundle) for arg in args))
    assert shown.exit_code == 2
    assert message in shown.stderr and "Traceback" not in shown.stderr
    assert shown.stdout == "" and bundle.read_bytes() == before


# commands -----------------------------------------------------------------------------------------
def test_ops_lists_pages_products_and_dtypes() -> None:
    shown = run("ops")
    assert shown.exit_code == 0 and "aclnnConvolutionBackward.atlas.txt" in shown.output
    listed = {entry["spec"]: entry for entry in json.loads(run("ops", "--json").output)}
    pool = listed["specs/avg_pool2d_backward.yaml"]
    assert pool["api"] == "aclnnAvgPool2dBackward" and pool["products"] == [
        "ascend310p",
        "ascend910",
        "ascend910b",
    ]
    assert pool["dtypes"]["ascend910"]["self"] == ["FLOAT", "FLOAT16"]
    assert pool["dtypes"]["ascend910b"]["gradOutput"] == ["FLOAT", "FLOAT16", "BFLOAT16"]
    norms = json.loads(run("ops", "aclnnGroupNormBackward", "--json").output)
    assert [(entry["op"], entry["edition"]) for entry in norms] == [
        ("group_norm_backward", None),
        ("group_norm_backward", "2026-08"),
    ]
    (newer,) = json.loads(
        run("ops", "group_norm_backward", "--edition", "2026-08", "--json").output
    )
    assert newer["judges"] == [name for name in vocabulary().products if name != "ascend310b"]


def test_a_table_of_many_operators_has_a_row_for_each() -> None:
    """Of few, and of one product, a row for each product; the numbers are the same."""
    few = [
        {"op": f"op{i}", "product": product, "kind": kind, "cases": i + 1}
        for i in range(10)
        for product in ("ascend910b", "ascend950")
        for kind in ("valid", "invalid")
    ]
    one = {"op": "last", "product": "ascend950", "kind": "valid", "cases": 7}
    one_product = [entry | {"product": "ascend950"} for entry in [*few[::4], one]]
    narrow, many, wide = (
        [[str(cell) for cell in row] for row in summary_table(counts).rows]
        for counts in (few, [*few, one], one_product)
    )
    assert narrow[:2] == [["op0", "ascend910b", "1", "1"], ["op0", "ascend950", "1", "1"]]
    summed = [[f"op{i}", "all", str(2 * i + 2), str(2 * i + 2)] for i in range(10)]
    assert many == [*summed, ["last", "all", "7", "0"]]
    assert len(wide) == 11 and {product for _, product, *_ in wide} == {"ascend950"}


def test_check_counts_rules_and_compares_pages() -> None:
    whole, shown = run("check", "--all"), run("check")
    assert whole.exit_code == shown.exit_code == 0, shown.output
    assert "aclnnConvolutionBackward: said differently" in whole.output
    assert "aclnnConvolutionBackward: said differently" not in shown.output
    assert len(shown.output.splitlines()) == 1, "quiet where all is well"
    specs, plans, errata = (
        sum(path.name not in TABLES for path in (ROOT / folder).glob("*.yaml"))
        for folder in ("specs", "cases", "specs/errata")
    )
    assert (
        shown.output.splitlines()[-1]
        == f"no problem in {specs} specs, {plans} plans, {errata} errata files, 1 sizes file"
    )
    found = json.loads(run("check", "--json").output)
    assert found["problems"] == [] and len(found["specs"]) >= 5 and len(found["plans"]) >= 4
    assert all(sum(spec["buckets"].values()) == spec["rules"] for spec in found["specs"])
    differences = {d["fact"]: d for d in found["differences"]["aclnnConvolutionBackward"]}
    sides = differences["kernel_height"]["pages"]
    assert sides["convolution_backward.ascend910b"]["at"] == [51, 96] and sides[
        "convolution_backward.atlas"
    ]["at"] == [22]


def test_check_says_every_problem_of_every_file(tmp_path: Path) -> None:
    spec = (ROOT / "specs" / "reflection_pad2d_backward.yaml").read_text(encoding="utf-8")
    first, second = tmp_path / "one.yaml", tmp_path / "two.yaml"
    first.write_text(
        spec.replace("padLeft < W", "padLeft < Q").replace("products:", "product:"),
        encoding="utf-8",
    )
    second.write_text(
        (ROOT / "cases" / "group_norm_backward.yaml").read_text(encoding="utf-8") + "\nextra: 1\n",
        encoding="utf-8",
    )
    shown = run("check", str(first), str(second))
    assert shown.exit_code == 2 and "no problem" not in shown.stdout
    problems = shown.stderr.splitlines()
    assert len(problems) >= 3 and all(
        line.startswith((f"{first}:", f"{second}:")) for line in problems
    )
    assert any("did you mean 'products'?" in line for line in problems)
    assert any("no such key" in line and "extra" in line for line in problems)


def test_check_says_the_problems_of_a_shipped_file_once(tmp_path: Path) -> None:
    copy = copies.checkout(tmp_path)
    broken = copy / "specs" / "avg_pool2d_backward.yaml"
    broken.write_text(
        broken.read_text(encoding="utf-8").replace("range: [-255, 255]", "rnge: [-255, 255]"),
        encoding="utf-8",
    )
    shown = copies.opgen(copy, "check", str(broken))
    assert (
        shown.returncode == 2
        and sum("did you mean 'range'?" in line for line in shown.stderr.splitlines()) == 1
    )
    assert (
        "did you mean 'range'?"
        in copies.opgen(copy, "check", str(copy / "cases" / "avg_pool2d_backward.yaml")).stderr
    )


def test_check_says_what_a_new_operator_lacks(tmp_path: Path) -> None:
    folder = copies.checkout(tmp_path) / "specs"
    shutil.copy(folder / "reflection_pad1d_backward.yaml", folder / "new_backward.yaml")
    text = (
        (folder / "new_backward.yaml")
        .read_text(encoding="utf-8")
        .replace("aclnnReflectionPad1dBackward", "aclnnNewBackward")
    )
    (folder / "new_backward.yaml").write_text(text, encoding="utf-8")
    shown = copies.opgen(tmp_path, "check")
    assert shown.returncode == 2 and shown.stderr.splitlines() == [
        (
            "opgen/golden/new_backward.py: is missing: an operator needs a kernel with golden,"
            " magnitude, depth"
        ),
    ]
    assert "said differently" not in shown.stdout


def test_check_reads_errata_against_their_pages(tmp_path: Path) -> None:
    path = tmp_path / "errata" / "pad.yaml"
    path.parent.mkdir()
    shipped = (ROOT / "specs" / "errata" / "reflection_pad2d_backward.yaml").read_text(
        encoding="utf-8"
    )
    path.write_text(shipped, encoding="utf-8")
    assert run("check", str(path)).stdout.splitlines()[-1] == "no problem in 1 errata file"
    path.write_text(shipped.replace("code: 161002", "code: 161999", 1), encoding="utf-8")
    shown = run("check", str(path))
    assert (
        shown.exit_code == 2
        and shown.stderr.startswith(f"{path}:")
        and "no such status code 161999" in shown.stderr
    )


def test_a_broken_spec_is_said_once_and_errata_are_not_held_against_it(tmp_path: Path) -> None:
    spec, errata = tmp_path / "reflection_pad2d_backward.yaml", tmp_path / "errata" / "pad.yaml"
    errata.parent.mkdir()
    spec.write_text(
        (ROOT / "specs" / spec.name)
        .read_text(encoding="utf-8")
        .replace("padLeft < W", "padLeft < Q"),
        encoding="utf-8",
    )
    errata.write_text("release: 7\nstages: {}\ntolerates: {}\n", encoding="utf-8")
    shown = run("check", str(spec), str(errata))
    assert (
        shown.exit_code == 2
        and "no such name 'Q'" in shown.stderr
        and str(errata) not in shown.stderr
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "groups: {kind: int32",
            "groups: {kind: int64",
            "another prototype than in specs/convolution_backward.ascend910b.yaml",
        ),
        (
            "judges: [ascend310p, ascend910]",
            "judges: [ascend310p]",
            "ascend910 is judged by no page; exactly one is needed (key 'judges')",
        ),
    ],
)
def test_pages_of_one_operator_that_contradict_each_other_are_told(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    """A page that is given and the shipped one beside it."""
    path = tmp_path / "convolution_backward.atlas.yaml"
    text = (ROOT / "specs" / path.name).read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    shown = run("check", str(path))
    assert shown.exit_code == 2 and "no problem" not in shown.stdout
    assert any(
        "aclnnConvolutionBackward" in line and line.endswith(said)
        for line in shown.stderr.splitlines()
    ), shown.stderr


def test_a_plan_is_held_against_its_spec(tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    plan = (ROOT / "cases" / "avg_pool2d_backward.yaml").read_text(encoding="utf-8")
    path.write_text(plan.replace("sets: [kH, kW]", "sets: [kH, self.ranks]"), encoding="utf-8")
    shown = run("check", str(path))
    assert shown.exit_code == 2 and "self.ranks" in shown.stderr
    for old, new, said in [
        ("sets: [kH, kW]", "sets: [kH, kX]", "axes.kernel: nothing reads 'kX'"),
        (
            "  self.view:",
            "  selv.view:",
            "axes.selv.view: nothing reads 'selv' (did you mean 'self'?)",
        ),
        ("growW]", "growX]", "axes.size: nothing reads 'growX' (did you mean 'growW'?)"),
        (
            "cubeMathType: default",
            "cubeMathType: {values: [300], why: beyond its type}",
            "axes.cubeMathType.values: 300 does not fit -128 to 127",
        ),
        (
            "[13, 2]]",
            "[13, 99999999999999999999]]",
            "axes.size.values: 99999999999999999999 does not fit",
        ),
    ]:
        assert old in plan
        path.write_text(plan.replace(old, new, 1), encoding="utf-8")
        shown = run("check", str(path))
        assert shown.exit_code == 2 and said in shown.stderr, shown.stderr
    path.write_text(
        plan.replace("op: aclnnAvgPool2dBackward", "op: aclnnAvgPool9dBackward"), encoding="utf-8"
    )
    assert (
        "no such operator 'aclnnAvgPool9dBackward' (did you mean" in run("check", str(path)).stderr
    )


def test_inspect_shows_a_bundle_and_a_case(bundle: Path) -> None:
    shown = run("inspect", str(bundle))
    assert shown.exit_code == 0 and "19 cases" in shown.output and "aclnnOne" in shown.output
    assert max(map(len, shown.output.splitlines()[2:])) <= 100
    found = json.loads(run("inspect", str(bundle), "--json").output)
    assert found["cases"] == 19 and sum(entry["cases"] for entry in found["counts"]) == 19
    case = run("inspect", str(bundle), "one/invalid").output
    for text in (
        "161002 or any_error",
        "pad_height",
        "161002.7",
        "padH=2, kH=2",
        "nearest valid: one/FLOAT16/0",
        "inconclusive: no data",
        "null",
    ):
        assert text in case


def test_inspect_shows_views_numbers_and_what_is_not_there(tmp_path: Path) -> None:
    pad = device_sample.pad("COMPLEX64")
    small, large = (
        device_sample.tensor([1, 2, 3, 4], "COMPLEX64"),
        device_sample.tensor([1, 2, 5, 6], "COMPLEX64"),
    )
    view = {
        **small,
        "strides": [48, 24, 6, 1],
        "offset": 2,
        "storage_shape": [80],
        "range": [-2, 2.5],
    }
    args = {
        **pad["args"],
        "gradOutput": large,
        "self": view,
        "padding": [1, 1, 1, 1],
        "gradInput": small,
    }
    nothing = {
        name: device_sample.tensor([0, 2, *extents])
        for name, extents in {"self": (3, 4), "gradOutput": (5, 6)}.items()
    }
    none = {
        **device_sample.pad("FLOAT")["args"],
        **nothing,
        "padding": [1, 1, 1, 1],
        "gradInput": nothing["self"],
    }
    calls = {
        "view": {**pad, "args": args},
        "none": {**pad, "args": none},
        "masked": device_sample.CALLS["conv-masked"],
    }
    path = device_sample.write(tmp_path / "suite.h5", calls)

    def shown(case: str) -> str:
        found = run("inspect", str(path), case)
        assert found.exit_code == 0
        return " ".join(found.output.split())

    text = shown("view")
    assert (
        "self COMPLEX64 ND [1, 2, 3, 4] strides [48, 24, 6, 1] offset 2 storage [80] range [-2.0,"
        " 2.5]" in text
    )
    with opgen.open(path) as opened:
        golden = opened["view"].golden["gradInput"]
        assert opened["none"].golden["gradInput"].size == 0
    first = f"({golden.flat[0].real:.6g},{golden.flat[0].imag:.6g})"
    assert (
        f"COMPLEX128 [1, 2, 3, 4] {abs(golden).min():.6g} {abs(golden).max():.6g} {first}" in text
    )
    assert "gradInput golden DOUBLE [0, 2, 3, 4] - -" in shown("none")
    assert "outputMask [true, false, true]" in shown("masked")


def test_inspect_as_json_is_the_call_and_its_tensors(bundle: Path) -> None:
    whole = json.loads(run("inspect", str(bundle), "two 0", "--json").output)
    assert whole["args"]["input"] == {
        "shape": [2, 3],
        "dtype": "BFLOAT16",
        "format": "ND",
        "strides": [1, 4],
        "offset": 5,
        "storage_shape": [4, 5],
    }
    tensors = {(t["name"], t["role"]): t for t in whole["tensors"]}
    with opgen.open(bundle) as opened:
        first = opened["two 0"].inputs["input"].reshape(-1)[:6].astype(float).tolist()
    assert tensors["input", "input"]["first"] == [
        value if abs(value) < float("inf") else str(value) for value in first
    ]
    many = json.loads(run("inspect", str(bundle), "two [01]", "two [23]", "--json").output)
    assert [case["id"] for case in many] == ["two 0", "two 1", "two 2", "two 3"]


def test_inspect_shows_a_results_file_and_an_answer(bundle: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.h5"
    with (
        opgen.open(bundle) as opened,
        opgen.Results.create(
            path, opened, header={"backend": "none", "device": "[bold]"}
        ) as results,
    ):
        results.add(
            "two 0",
            0,
            {"gradInput": np.array([[1.5, np.nan, 0], [-2, 3, 4]], np.float32)},
            run_status=361001,
            time=0.25,
        )
        results.add("one/invalid", "skipped", error="no such device")
        results.add("two 1", 0)
    text = " ".join(run("inspect", str(path)).output.split())
    for wanted in (
        "3 cases",
        "backend: none",
        "device: [bold]",
        "0 361001 1",
        "0 - 1",
        "skipped - 1",
    ):
        assert wanted in text
    found = json.loads(run("inspect", str(path), "--json").output)
    assert (
        found["header"]["device"] == "[bold]"
        and sum(one["cases"] for one in found["counts"]) == found["cases"] == 3
    )
    text = " ".join(run("inspect", str(path), "two 0").output.split())
    assert (
        "two 0 first phase 0, second phase 361001, 0.25 s" in text
        and "gradInput output BFLOAT16 [2, 3] -2 4 1.5 nan 0 -2 3 4" in text
    )
    assert "one/invalid first phase skipped, second phase - no such device" in " ".join(
        run("inspect", str(path), "one/*").output.split()
    )
    answer = json.loads(run("inspect", str(path), "two 0", "--json").output)
    assert (answer["status"], answer["run_status"], answer["tensors"][0]["not_finite"]) == (
        0,
        361001,
        1,
    )
    assert [
        one["id"] for one in json.loads(run("inspect", str(path), "two *", "--json").output)
    ] == ["two 0", "two 1"]
    wrong = run("inspect", str(path), "two 3")
    assert wrong.exit_code == 2 and "no such case among 3" in wrong.stderr


def test_unpack_writes_the_chosen_cases(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "tree.h5"
    shown = run("unpack", str(bundle), "-o", str(out), "--case", "one/FLOAT*", "--case", "two 1")
    assert (shown.exit_code, shown.stdout) == (0, "") and shown.stderr == f"{out}: 5 cases\n"
    assert run("unpack", str(bundle), "-o", str(out), "--force", "--quiet").stderr == ""


def test_verify_finds_damage(bundle: Path, tmp_path: Path) -> None:
    shown = run("verify", str(bundle))
    assert (shown.exit_code, shown.stderr) == (0, f"{bundle}: whole and sound\n")
    torn = tmp_path / "torn.h5"
    torn.write_bytes(bundle.read_bytes()[:-100])
    shown = run("verify", str(bundle), str(torn), "--quiet")
    assert (
        shown.exit_code == 1
        and shown.stderr.startswith(f"{torn}: has ")
        and shown.stderr.count("\n") == 1
    )


def test_page_is_in_the_order_of_the_page() -> None:
    shown = run("page", "avg_pool2d_backward").output
    numbers = [int(n) for n in re.findall(r"^line (\d+)$", shown, re.MULTILINE)]
    assert numbers == sorted(set(numbers)) and {17, 51, 79, 97} <= set(numbers)
    assert shown.count("pad_height  [161002.7]") == 1 and "no line of the page" in shown
    whole = json.loads(run("page", "convolution_backward", "--json").output)
    assert [page["spec"] for page in whole] == [
        "specs/convolution_backward.ascend910b.yaml",
        "specs/convolution_backward.atlas.yaml",
        "specs/convolution_backward.2026-08.yaml",
    ]
    (newer,) = json.loads(
        run("page", "convolution_backward", "--edition", "2026-08", "--json").output
    )
    assert newer == whole[2] and newer["editions"] == whole[0]["editions"]
    assert whole[0]["editions"] == {
        "undated": ["ascend910b", "ascend910_93", "ascend310p", "ascend910"],
        "2026-08": ["ascend310p", "ascend910", "ascend910b", "ascend910_93", "ascend950"],
    }
    for words, spec in (
        (("convolution_backward.atlas",), "convolution_backward.atlas"),
        (("avg_pool2d_backward",), "avg_pool2d_backward"),
        (("avg_pool2d_backward.2026-08",), "avg_pool2d_backward.2026-08"),
        (("avg_pool2d_backward", "--edition", "2026-08"), "avg_pool2d_backward.2026-08"),
        (("avg_pool2d_backward", "--edition", "undated"), "avg_pool2d_backward"),
    ):
        (page,) = json.loads(run("page", *words, "--json").output)
        assert page["spec"] == f"specs/{spec}.yaml", words


def test_page_names_the_editions_first() -> None:
    shown = run("page", "avg_pool2d_backward").output
    first, second, title = shown.splitlines()[:3]
    assert first.startswith("edition  undated: ") and second.startswith("edition  2026-08: ")
    assert "ascend950" in second and "ascend950" not in first and "ascend910b" in first
    assert title.startswith("aclnnAvgPool2dBackward: ")
    assert "edition  " not in run("page", "conv_tbc_backward").output, "it has one alone"


def test_audit_says_what_stands_on_changed_lines(tmp_path: Path) -> None:
    (tmp_path / "aclnnReflectionPad2dBackward.txt").write_text("x\n" * 21, encoding="utf-8")
    shown = run("audit", "--pages", str(tmp_path), "reflection_pad2d_backward")
    assert (
        shown.exit_code == 1
        and "changed" in shown.output
        and "vanished" in shown.output
        and "padding" in shown.output
    )
    found = json.loads(
        run("audit", "--pages", str(tmp_path), "reflection_pad2d_backward", "--json").output
    )
    assert {finding["line"] for finding in found} >= {5, 20, 22} and all(
        finding["facts"] for finding in found if finding["line"]
    )
    assert [finding["state"] for finding in found if not finding["line"]] == ["differs"]
    assert "beside the lines above" in shown.output
    block = run("audit", "--pages", str(tmp_path), "reflection_pad2d_backward", "--digests")
    assert (
        block.exit_code == 0
        and "sha256: " in block.output
        and re.search(r"^    5 [0-9a-f]{12}", block.output, re.MULTILINE)
    )


@pytest.mark.parametrize("more", [[], ["--digests"]])
def test_audit_says_what_it_can_of_every_page(tmp_path: Path, more: list[str]) -> None:
    pages = [spec.page.file for spec in catalog().specs if spec.page]
    said = "".join(
        f"{tmp_path / name}: cannot be read: No such file or directory\n" for name in pages
    )
    none = "".join(
        f"{spec.name}: has no page to compare with\n" for spec in catalog().specs if not spec.page
    )
    shown = run("audit", "--pages", str(tmp_path), *more)
    assert (shown.exit_code, shown.stdout, shown.stderr) == (2, "", none + said)
    known = catalog().specs
    single = [s.page.file for s in known if s.page and len(catalog().of(s.api)) == 1]
    first, second = single[:2]
    (tmp_path / first).write_text("x\n" * 21, encoding="utf-8")
    shown = run("audit", "--pages", str(tmp_path), *more)
    left = "".join(line for line in said.splitlines(keepends=True) if f"/{first}:" not in line)
    assert (shown.exit_code, shown.stderr) == (2, none + left) and shown.stdout
    shutil.copy(tmp_path / first, tmp_path / second)
    found = json.loads(run("audit", "--pages", str(tmp_path), "--json").stdout)
    assert {finding["spec"] for finding in found} == {
        spec.name for spec in known if spec.page and spec.page.file in (first, second)
    }


def test_audit_names_the_cases_of_a_lock_that_are_touched(tmp_path: Path) -> None:
    (tmp_path / "aclnnReflectionPad2dBackward.txt").write_text("x\n" * 21, encoding="utf-8")
    lock = tmp_path / "mine.lock"
    assert (
        run("refresh", "reflection_pad2d_backward", "--lock", str(lock), "--quiet").exit_code == 0
    )
    shown = run(
        "audit",
        "--pages",
        str(tmp_path),
        "reflection_pad2d_backward",
        "--lock",
        str(lock),
        "--json",
    )
    found = json.loads(shown.output)
    named = {case for finding in found for case in finding["cases"]}
    assert shown.exit_code == 1 and any(".invalid.padding.length." in case for case in named)
    assert named <= {line.split()[0] for line in lock.read_text(encoding="utf-8").splitlines()}
    assert not [
        finding
        for finding in found
        if finding["facts"] == ["padding.length"] and not finding["cases"]
    ]


def test_accepted_calls_without_data_are_named_with_the_reason(tmp_path: Path) -> None:
    def pad(name: str, size: int, **more: Any) -> str:
        inside = {"shape": [1, 1, size, size], "dtype": "FLOAT", "format": "ND"}
        outside = {**inside, "shape": [1, 1, size + 2, size + 2], **more}
        args = {"gradOutput": outside, "self": inside, "padding": [1, 1, 1, 1], "gradInput": inside}
        return (
            json.dumps(
                {
                    "id": name,
                    "op": "aclnnReflectionPad2dBackward",
                    "product": "ascend910b",
                    "args": args,
                }
            )
            + "\n"
        )

    calls, path = tmp_path / "calls.jsonl", tmp_path / "calls.h5"
    lines = [
        pad("small", 4),
        pad("wide", 700),
        pad("huge", 1_000_000),
        pad("far", 4, offset=2**62),
        pad("outside", 4, storage_shape=[2]),
    ]
    calls.write_text("".join(lines), encoding="utf-8")
    refused = run("generate", "--calls", str(calls), "-o", str(path))
    assert refused.exit_code == 2
    why = {
        "huge": r"it takes [0-9.]+ TB of memory, and there are [0-9.]+ GB",
        "far": r"they have more than 2\^53 elements",
    }
    for name, text in why.items():
        message = f"{name}: {text}; --inputs seeded --golden sampled may need less; --skip-too-"
        assert re.search(message, refused.stderr)
    assert "wide:" not in refused.stderr and list(tmp_path.iterdir()) == [calls]
    shown = run("generate", "--calls", str(calls), "--skip-too-large", "-o", str(path))
    assert "5 cases, 2 with data" in shown.stderr
    for name, text in why.items():
        assert re.search(f"no data for 1, since {text}: {name}", shown.stderr)
    assert re.search(
        rf"{path.name}: takes [0-9.]+ MB of disk, up to [0-9.]+ MB of memory", shown.stderr
    )
    assert (
        "no data for 1, since a view leaves its storage, or a dtype cannot hold data: outside"
        in shown.stderr
    )
    with opgen.open(path) as bundle:
        assert [case.phase for case in bundle] == [2, 2, 1, 1, 1]


@pytest.mark.parametrize(
    ("budget", "key", "what"),
    [
        ("cases: 100", "cases", "left out"),
        ("bytes: 1 KiB", "bytes", "left out"),
        ("elements: 2**7", "elements", "without data"),
    ],
)
def test_what_a_budget_leaves_out_is_named_with_its_key(
    tmp_path: Path, budget: str, key: str, what: str
) -> None:
    op, plan = "reflection_pad2d_backward", tmp_path / "plan.yaml"

    def cases(limit: str, *way: str) -> Result:
        tier = f"tiers: {{smoke: {{strength: 1, {limit}}}}}"
        plan.write_text(f"op: {op}\nextends: default\n{tier}\n", encoding="utf-8")
        return run("cases", op, "--product", "ascend910b", "--plan", str(plan), *way)

    def ids(limit: str) -> set[str]:
        return {line.split("\t")[0] for line in cases(limit, "--ids").stdout.splitlines()}

    shown = cases(budget, "--json")
    [lost] = json.loads(shown.stdout)["pages"][op]["budgets"]
    assert (lost["key"], lost["data_only"]) == (key, what == "without data")
    gone = ids("elements: 2**20") - ids(budget)
    assert gone == ({*lost["cases"]} if what == "left out" else {*()})
    count, first = len(lost["cases"]), lost["cases"][0]
    assert (
        f"{op}: {count} cases {what}, because the plan limits '{key}': {first}, ...\n"
        in shown.stderr
    )
    refused = cases("cases: 0")
    assert (
        refused.exit_code == 2
        and "cases left out, because the plan limits 'cases'" in refused.stderr
    )


@pytest.mark.parametrize("command", ["generate", "cases"])
def test_a_plan_beside_given_calls_is_none_the_less_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    call = {"id": "a", "op": "aclnnReflectionPad2dBackward", "product": "ascend910b"}
    call["args"] = dict.fromkeys(("gradOutput", "self", "padding", "gradInput"))
    (tmp_path / "calls.jsonl").write_text(json.dumps(call), encoding="utf-8")
    asked = [command, "--calls", "calls.jsonl"]
    shown = run(*asked, "--plan", "nope")
    assert (
        shown.exit_code == 2
        and "--plan: nope: no such tier or file; tiers are smoke, standard, full, crash, or"
        in shown.stderr
    )
    assert os.listdir(tmp_path) == ["calls.jsonl"]
    shown = run(*asked, "--plan", "standard")
    assert (
        shown.exit_code == 0
        and "--plan standard: is not used; with --calls there is one case per call\n"
        in shown.stderr
    )
    assert "is not used" not in run(*asked, *(["--force"] if command == "generate" else [])).stderr


def test_an_id_is_one_line_that_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    call = {
        "id": "odd/../id\n\tx\x1b[31m",
        "op": "aclnnReflectionPad2dBackward",
        "product": "ascend910b",
    }
    calls.write_text(
        json.dumps({**call, "args": dict.fromkeys(("gradOutput", "self", "padding", "gradInput"))}),
        encoding="utf-8",
    )
    shown = run("cases", "--calls", str(calls), "--ids")
    assert shown.stdout == "odd/../id\\x0a\\x09x\\x1b[31m\t\n"


def test_calls_that_seed_a_plan_are_counted_and_not_made_again(tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    suite = Request(("reflection_pad2d_backward",), ("ascend910b",), plan="standard").suite()
    made = [case for case in suite.cases if case.kind == "valid"][::2]
    lines = [
        {"id": c.id, "op": c.call.api, "product": c.call.product, "args": to_json(c.call)}
        for c in made
    ]
    calls.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    asked = (
        "reflection_pad2d_backward",
        "--product",
        "ascend910b",
        "--plan",
        "standard",
        "--seed-calls",
        str(calls),
    )
    shown = run("cases", *asked, "--ids")
    said = re.search(
        r"^reflection_pad2d_backward: (\d+) legal calls given, (\d+) more"
        r" cover all tuples of the tier$",
        shown.stderr,
        re.MULTILINE,
    )
    assert said and int(said[1]) == len(lines) and int(said[2]) > 0
    ids = {line.split("\t")[0] for line in shown.stdout.splitlines()}
    assert not ids & {case.id for case in made} and len(ids) < len(suite.cases)
    written = run("generate", *asked, "-o", str(tmp_path / "rest.h5"))
    assert written.exit_code == 0 and said[0] in written.stderr
    with opgen.open(tmp_path / "rest.h5") as bundle:
        assert set(bundle.ids) == ids and bundle.header["chosen"] == [
            "ascend910b",
            f"seeded by {calls}",
        ]


# what several commands share ----------------------------------------------------------------------
def test_choose_keeps_order_and_names_what_is_missing() -> None:
    ids = ["b/1", "a/1", "a/[2]"]
    assert choose(ids, []) == ids
    assert choose(ids, ["a/*", "b/1"]) == ids
    assert choose(ids, ["a/[2]"]) == ["a/[2]"]
    with pytest.raises(FileError) as caught:
        choose(ids, ["a/2", "c*", "b/1"])
    assert [str(problem) for problem in caught.value.problems] == [
        "--case: a/2: no such case among 3 (did you mean 'a/[2]'?)",
        "--case: c*: matches no case",
    ]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("opgen insp", {"inspect"}),
        ("opgen ops aclnnGroupNormB", {"aclnnGroupNormBackward"}),
        ("opgen generate group_norm_b", {"group_norm_backward"}),
        ("opgen generate --product ascend910", {"ascend910", "ascend910b", "ascend910_93"}),
        ("opgen generate --plan s", {"smoke", "standard"}),
        ("opgen generate --plan mine", {"mine"}),
        ("opgen mutants --mutant ceil_", {"ceil_unclipped"}),
        ("opgen inspect {results} one", {"one/invalid"}),
        ("opgen inspect {bundle} two", {"two 0", "two 1", "two 2", "two 3"}),
        ("opgen inspect nowhere.h5 two", set()),
        ("opgen generate --case two", set()),
    ],
)
def test_completion(line: str, found: set[str], bundle: Path, tmp_path: Path) -> None:
    with opgen.open(bundle) as opened, opgen.Results.create(tmp_path / "r.h5", opened) as results:
        results.add("one/invalid", 161002)
    typed = line.format(bundle=bundle, results=tmp_path / "r.h5")
    environment = {
        "_OPGEN_COMPLETE": "bash_complete",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    shown = spawn(env=environment)
    assert {
        item.split(",", 1)[1] for item in shown.stdout.splitlines() if item
    } == found and shown.stderr == ""


def test_colour_only_where_it_is_wanted(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert "\x1b[" not in run("inspect", str(bundle)).output
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1m" in run("inspect", str(bundle)).output
    monkeypatch.setenv("NO_COLOR", "1")
    assert re.search(r"\x1b\[[0-9;]*3[0-7]", run("inspect", str(bundle)).output) is None


def test_a_quiet_diff_says_nothing_as_its_help_says(tmp_path: Path) -> None:
    suite = device_sample.write(tmp_path / "suite.h5", {"pad": device_sample.pad()})
    results = tmp_path / "results.h5"
    assert run("run", str(suite), "--backend", "mutant:nothing", "-o", str(results)).exit_code == 0
    assert (
        run("diff", str(suite), str(results)).stdout
        and run("diff", str(suite), str(results), "-q").output == ""
    )
    assert "-q, --quiet Print no report" in " ".join(run("diff", "--help").output.split())


@pytest.mark.parametrize("encoding", ["ascii", "koi8-r", "gbk", "utf-8"])
def test_every_text_is_written_whatever_the_encoding(encoding: str, tmp_path: Path) -> None:
    odd = "\xe4\xb7\u4e2d\U0001f600"
    suite = device_sample.write(tmp_path / "suite.h5", {odd: device_sample.pad()})
    results, calls = tmp_path / "results.h5", tmp_path / "calls.jsonl"
    calls.write_text(json.dumps({"id": odd, **device_sample.pad()}), encoding="utf-8")
    assert run("run", str(suite), "--backend", "mutant:nothing", "-o", str(results)).exit_code == 0
    compared = ("diff", str(suite), str(results), "--json")
    for command in (
        ("judge", str(calls), "--format", "text"),
        compared,
        ("inspect", str(suite), odd),
    ):
        utf8 = encoding == "ascii"  # click takes ASCII for a mistake, and writes UTF-8
        shown = spawn(
            *command, env={"PYTHONIOENCODING": encoding}, encoding="utf-8" if utf8 else encoding
        )
        assert shown.returncode == 0, shown.stderr
        kept = "".join(c if encodes(c, encoding) else json.dumps(c)[1:-1] for c in odd)
        assert kept in shown.stdout or (utf8 and odd in shown.stdout)
        if command is compared:
            assert [one["case"] for one in json.loads(shown.stdout)["verdicts"]] == [odd]


def encodes(text: str, encoding: str) -> bool:
    try:
        return bool(text.encode(encoding))
    except UnicodeEncodeError:
        return False
