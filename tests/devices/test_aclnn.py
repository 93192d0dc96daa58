"""The ctypes runner against the loopback: every case of a smoke bundle, every misbehaviour, every
absence.

The loopback shows that arguments, memory and statuses arrive as they were meant, and says nothing
about a vendor's device.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterator, Sequence
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import opgen
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result, ResultsFile
from opgen.calls.vocabulary import vocabulary
from opgen.cli import main
from opgen.devices import DeviceError, DeviceLost, abi, aclnn, memory
from opgen.devices.libraries import operator_places, runtime_places
from opgen.devices.messages import CallRequest, Phase
from opgen.devices.running import run as devices_run
from opgen.devices.worker_process import CallAnswer
from opgen.generation.engine import write
from opgen.model import TensorDesc
from opgen.spec.catalog import catalog
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.plan import plan_for
from tests import loopback
from tests.loopback import SOCS
from tests.support.suites import OF_EACH_KIND, SLOW

Run = Callable[..., ResultsFile]
OPERATORS = POOL, CONV, NORM, PAD = tuple(
    f"aclnn{name}Backward" for name in ("AvgPool2d", "Convolution", "GroupNorm", "ReflectionPad2d")
)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    path = tmp_path_factory.mktemp("aclnn") / "smoke.h5"
    pages = [(spec, plan_for(spec.op)) for spec in catalog().specs if spec.api in OPERATORS]
    write(plan_suite(pages, "smoke"), path, {"seed": 0})
    with opgen.open(path) as found:
        yield found


@pytest.fixture(scope="session")
def libraries() -> Path:
    return loopback.libraries()


@pytest.fixture
def used() -> list[aclnn.AclnnBackend]:
    """The backends of a test, in the order of their runs."""
    return []


@pytest.fixture
def run(
    bundle: Bundle,
    libraries: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    used: list[aclnn.AclnnBackend],
) -> Iterator[Run]:
    for name in [
        name for name in os.environ if name.startswith(("ASCEND_", "LOOPBACK_", "OPGEN_"))
    ]:
        monkeypatch.delenv(name)
    opened: list[ResultsFile] = []

    def call(
        cases: Sequence[str],
        product: str = "ascend910b",
        fault: str = "",
        timeout: float = 20,
        told: str = "",
        **options: Any,
    ) -> ResultsFile:
        monkeypatch.setenv("OPGEN_OPAPI", str(libraries))
        monkeypatch.setenv("LOOPBACK_SOC", SOCS[product])
        monkeypatch.setenv("LOOPBACK_FAULT", fault)
        path = tmp_path / f"results{len(opened)}.h5"
        used.append(aclnn.AclnnBackend(timeout=timeout, product=told, **options))
        devices_run(bundle, used[-1], path, cases=cases)
        opened.append(opgen.Results.open(path))
        return opened[-1]

    yield call
    for one in opened:
        one.close()


def chosen(
    bundle: Bundle,
    op: str = "",
    product: str = "ascend910b",
    phase: int = 2,
    bucket: str = "valid",
    most: int = 3,
) -> list[str]:
    """Ids of cases of one kind."""
    table = bundle.cases
    keep = (
        (table["product"] == product)
        & (table["phase"] == phase)
        & (table["bucket"] == bucket)
        & ((table["op"] == op) | (op == ""))
    )
    return [one for one in table["id"][keep].tolist() if phase == 1 or len(bundle[one].golden)][
        :most
    ]


def complaints(case: CaseView, result: Result) -> list[str]:
    """Why an answer is not that of a correct device."""
    codes = case.expect.codes
    if result.status not in codes and not (
        "any_error" in codes and isinstance(result.status, int) and result.status != 0
    ):
        return [f"status {result.status}, not {codes}"]
    if case.phase == 1 or result.status != 0:
        return (
            [] if result.run_status is None and not result.outputs else ["the second phase was run"]
        )
    if result.run_status != 0:
        return [f"run status {result.run_status}"]
    found = [f"{name} was not asked for" for name in result.outputs if name not in case.golden]
    for name, golden in case.golden.items():
        got, bound = result.outputs[name], case.bound[name]
        if got.shape != golden.shape or str(got.dtype) != str(
            aclnn.numpy_dtype(case.call["args"][name]["dtype"])
        ):
            found.append(f"{name} is {got.dtype} {got.shape}")
            continue
        wide = got.astype(np.complex128 if np.iscomplexobj(golden) else np.float64)
        with np.errstate(invalid="ignore"):
            off = wide - golden
            good = (np.abs(off.real) <= bound.real) & (np.abs(off.imag) <= bound.imag)
        wrong = int((~(good | (wide == golden) | (np.isnan(wide) & np.isnan(golden)))).sum())
        found += [f"{name}: {wrong} wrong"] if wrong else []
    return found


@pytest.mark.parametrize("product", SOCS)
def test_every_case_of_a_product_passes(run: Run, bundle: Bundle, product: str) -> None:
    results = run(bundle.ids, product)
    mine = [case for case in bundle if case.product == product]
    assert len(mine) > 100
    assert {case.id: found for case in mine if (found := complaints(case, results[case.id]))} == {}
    assert {result.status for result in results if bundle[result.id].product != product} == {
        "skipped"
    }
    assert not [result.error for result in results if result.status == 0 and result.error]


def test_the_bundle_holds_what_a_runner_may_get_wrong(bundle: Bundle) -> None:
    args = [(name, value, case) for case in bundle for name, value in case.call["args"].items()]
    views = [
        value
        for _, value, case in args
        if isinstance(value, dict) and case.phase == 2 and value["strides"]
    ]
    assert any(view["offset"] for view in views) and any(view["storage_shape"] for view in views)
    assert any(value is None for _, value, _ in args) and any(value == [] for _, value, _ in args)
    assert any(
        case.call["args"]["groups"] > 1 for case in bundle if case.op == CONV and case.phase == 2
    )
    assert any(case.call["args"][name]["strides"] for case in bundle for name in case.golden)


@pytest.mark.parametrize(
    ("fault", "op", "status", "run_status", "text"),
    [
        ("code", POOL, 561000, None, "asked to return a wrong code"),
        ("crash1", CONV, "crash", None, "SIGSEGV in the first phase"),
        ("crash", NORM, 0, "crash", "SIGSEGV in the second phase"),
        ("hang1", PAD, "timeout", None, "no answer within 0.5 s in the first phase"),
        ("hang", POOL, 0, "timeout", "no answer within 0.5 s in the second phase"),
        ("runtime", PAD, 0, 361001, "aclnnReflectionPad2dBackward returned 361001: E361001"),
        ("kernel", CONV, 0, 507011, "aclrtSynchronizeStream returned 507011"),
        ("stale", NORM, 0, 0, "elements were not written"),
        ("partly", NORM, 0, 0, "elements were not written"),
        ("beyond", POOL, 0, "overrun", "of the bytes after its storage were overwritten"),
        ("before", POOL, 0, "overrun", "gradInput: 1 of the bytes before its storage"),
        ("far", POOL, 0, "overrun", "gradInput: 1 of the bytes after its storage"),
        ("behind_input", PAD, 0, "overrun", "gradOutput: 1 of the bytes after its storage"),
        ("scratch", CONV, 0, "overrun", "workspace: 16 of the bytes after its storage"),
        ("input", PAD, 0, "overrun", "gradOutput: the input was overwritten"),
        ("nan", POOL, 0, 0, ""),
        ("element", NORM, 0, 0, ""),
        ("reversed", PAD, 0, 0, ""),
        ("workspace", POOL, 0, 0, ""),
    ],
)
def test_misbehaviour_is_a_result_of_its_case_alone(
    run: Run, bundle: Bundle, fault: str, op: str, status: object, run_status: object, text: str
) -> None:
    finite = [one for one in chosen(bundle, op, most=9) if bundle[one].recipe != "nonfinite"]
    cases = finite[:2] + [
        one
        for other in (POOL, CONV, NORM, PAD)
        if other != op
        for one in chosen(bundle, other, most=1)
    ]
    results = run(cases, fault=f"{fault}@{op}", timeout=0.5 if fault.startswith("hang") else 20)
    for one in cases:
        found = complaints(bundle[one], results[one])
        if bundle[one].op != op:
            assert found == []
            continue
        assert found and (results[one].status, results[one].run_status) == (status, run_status)
        assert text in results[one].error
        assert fault != "stale" or any("wrong" in line for line in found)


def test_a_wrong_dtype_is_seen(run: Run, bundle: Bundle) -> None:
    cases = [
        one
        for one in chosen(bundle, CONV, most=30)
        if "gradInput" in bundle[one].golden and not bundle[one].inconclusive
    ]
    cases = [one for one in cases if bundle[one].call["args"]["gradInput"]["dtype"] == "FLOAT16"]
    results = run(cases, fault="dtype")
    assert cases and all("wrong" in "".join(complaints(bundle[one], results[one])) for one in cases)


def test_gaps_of_a_strided_output_stay_as_they_were(run: Run, bundle: Bundle) -> None:
    def has_gaps(case: str) -> bool:
        output = bundle[case].call["args"]["gradInput"]
        return prod(output["storage_shape"] or ()) > prod(output["shape"]) > 0

    views, plain = list[Result](), list[Result]()
    for product in SOCS:  # a plan tries a view on some product
        cases = chosen(bundle, PAD, product, most=100)
        gaps = list(filter(has_gaps, cases))
        dense = [one for one in cases if bundle[one].call["args"]["gradInput"]["strides"] is None]
        results = run([*gaps, *dense], product, fault="gaps")
        views += [results[one] for one in gaps]
        plain += [results[one] for one in dense]
    overwritten = "1 elements of its storage outside the view were overwritten"
    assert views and all(overwritten in one.error for one in views)
    assert plain and all(one.run_status == 0 for one in plain)


def test_a_masked_output_that_is_written_is_kept_and_mentioned(run: Run, bundle: Bundle) -> None:
    cases = [one for one in chosen(bundle, CONV, most=50) if "gradWeight" not in bundle[one].golden]
    plain, written = run(cases), run(cases, fault="mask")
    assert cases and all(plain[one].error == "" for one in cases)
    assert all("written though the output is masked out" in written[one].error for one in cases)
    assert all(
        "gradWeight" not in plain[one].outputs
        and written[one].unwritten["gradWeight"] < written[one].outputs["gradWeight"].size
        for one in cases
    )


def test_a_worker_counts_on_after_a_crash(run: Run, bundle: Bundle) -> None:
    cases = chosen(bundle, POOL, most=5)
    results = run(cases, fault=f"crash@{POOL}#3")
    assert [results[one].run_status for one in cases] == [0, 0, "crash", 0, 0]


def test_memory_that_cannot_be_given_back_is_a_fault_of_the_call_that_spoilt_it(
    run: Run, bundle: Bundle
) -> None:
    cases = chosen(bundle, POOL, most=3)
    results = run(cases, fault=f"free@{POOL}#2")
    assert [results[one].run_status for one in cases] == [0, "crash", 0]
    assert "SIGSEGV in the second phase" in results[cases[1]].error
    results = run(cases, fault=f"code@{POOL}#2,free@{POOL}#2")
    assert [(results[one].status, results[one].run_status) for one in cases] == [
        (0, 0),
        (561000, "crash"),
        (0, 0),
    ]
    assert "SIGSEGV after the first phase" in results[cases[1]].error


@pytest.mark.parametrize(
    ("fault", "status", "run_status", "text"),
    [
        ("memory", "unusable", None, "aclrtMalloc returned 207001: E207001: no memory for"),
        ("fetch", 0, "unusable", "aclrtMemcpy returned 507000: E507000: asked to refuse"),
    ],
)
def test_a_runtime_that_refuses_memory_is_told_apart_from_an_answer_of_the_call(
    run: Run, bundle: Bundle, fault: str, status: object, run_status: object, text: str
) -> None:
    (case,) = chosen(bundle, PAD, most=1)
    found = run([case], fault=fault)[case]
    assert (found.status, found.run_status, dict(found.outputs)) == (
        status,
        run_status,
        {},
    ) and text in found.error
    assert run([case])[case].run_status == 0


def test_a_worker_is_replaced_after_so_many_calls(run: Run, bundle: Bundle) -> None:
    """The loopback counts calls from its beginning: the third call of a worker never comes."""
    cases = chosen(bundle, POOL, most=5)
    for calls, expected in ((2, [0, 0, 0, 0, 0]), (3, [0, 0, "crash", 0, 0])):
        results = run(cases, fault=f"crash@{POOL}#3", calls_per_process=calls)
        assert [results[case].run_status for case in cases] == expected


def test_a_device_that_failed_once_is_asked_again_by_another_worker(
    run: Run, bundle: Bundle, used: list[aclnn.AclnnBackend]
) -> None:
    """The loopback counts calls from its beginning, so a worker that goes on would end at its
    third.
    """
    cases = chosen(bundle, POOL, most=4)
    results = run(cases, fault=f"kernel@{POOL}#2,crash@{POOL}#3")
    assert [results[case].run_status for case in cases] == [0, 507011, 0, 507011]
    assert used[0].worker is not None and used[0].worker.started == 2


def test_a_search_starts_its_worker_once(
    bundle: Bundle, libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a device is held, all bundles with calls of the same operator share a worker, unless it
    was stopped; calls of another operator need one that knows it.
    """
    monkeypatch.setenv("OPGEN_OPAPI", str(libraries))
    monkeypatch.setenv("LOOPBACK_SOC", SOCS["ascend910b"])
    backend, workers = aclnn.AclnnBackend(timeout=20), []
    with backend.held():
        for op in (POOL, POOL, PAD, PAD):
            devices_run(bundle, backend, tmp_path / "r.h5", cases=chosen(bundle, op), force=True)
            assert backend.worker is not None and not backend.worker.stopped
            workers.append(backend.worker)
            if len(workers) == 3:
                backend.worker.stop()
    first, again, other, last = workers
    assert first is again and len({first, other, last}) == 3
    assert first.started == 1 and all(worker.stopped for worker in workers)


def test_a_device_that_does_not_come_back_ends_the_run_and_keeps_what_was_answered(
    bundle: Bundle, libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "OPGEN_OPAPI": str(libraries),
        "LOOPBACK_SOC": SOCS["ascend910b"],
        "LOOPBACK_FAULT": f"crash@{POOL}#2",
    }.items():
        monkeypatch.setenv(name, value)
    cases = chosen(bundle, POOL, most=4)
    answered = 0

    def progress(done: int) -> None:
        nonlocal answered
        answered += done
        if answered == 2:
            monkeypatch.setenv("LOOPBACK_DEVICES", "0")

    backend = aclnn.AclnnBackend(device="npu", timeout=20, pauses=(0.0,))
    path = tmp_path / "results.h5"
    with pytest.raises(DeviceLost) as lost:
        devices_run(bundle, backend, path, cases=cases, progress=progress)
    assert str(lost.value).startswith(
        f"the device was lost before {cases[2]}: it did not come back: aclnn: there is no device"
    )
    opgen.Results.create(path, bundle, resume=True).close()
    with opgen.Results.open(path) as found:
        assert [found[one].run_status for one in cases[:2]] == [0, "crash"]
    report = opgen.diff(bundle, path, cases=cases)
    assert (answered, [report[case].verdict for case in cases[2:]]) == (2, ["missing"] * 2)


@pytest.mark.parametrize(("fault", "code"), [("lost", 507899), ("minus", -1)])
def test_a_device_that_is_lost_ends_the_run_and_what_came_after_is_repeated(
    run: Run, bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, code: int
) -> None:
    """Every invalid call gets an error, as it should: of the runtime."""
    cases = chosen(bundle, POOL, most=2) + chosen(bundle, POOL, phase=1, bucket="stated", most=9)
    run(cases[:1], fault=f"{fault}@any#5+").close()
    path, options = tmp_path / "r.h5", [f"--case={case}" for case in cases]
    command = ["run", str(bundle.path), "--backend", "aclnn", "-o", str(path), *options]
    shown = CliRunner().invoke(main, command)
    asked = [case for case in bundle.ids if case in cases]
    good = [case for case in asked[:4] if bundle[case].expect.codes == (0,)][-1]
    assert shown.exit_code == 1 and shown.stderr.splitlines()[-2:] == [
        f"the device was lost at {asked[4]}: 5 calls in a row got codes of the runtime or were"
        f" unusable, the last {code}; {good}, a valid call, is not accepted either",
        f"{path}: is not complete; --resume (resume=True) continues from the 5 answers so far",
    ]
    assert not path.exists(), "nobody takes them for all answers"
    monkeypatch.setenv("LOOPBACK_FAULT", "")
    again = CliRunner().invoke(main, [*command, "--resume"])
    assert again.exit_code == 0 and "5 kept" in again.stderr
    with opgen.Results.open(path) as found:
        wrong = [case for case in asked if complaints(bundle[case], found[case])]
    assert wrong == [asked[4]]


def test_codes_of_the_runtime_from_a_device_that_is_there_are_its_answers(
    run: Run, bundle: Bundle
) -> None:
    cases = chosen(bundle, PAD, most=1) + chosen(bundle, CONV, most=7)
    results = run(cases, fault=f"kernel@{CONV}")
    assert [results[case].run_status for case in cases] == [0] + [507011] * 7


@pytest.mark.parametrize("soc", ["Ascend999Q", ""])
def test_a_device_of_an_unknown_name_is_refused_unless_its_product_is_said(
    run: Run, bundle: Bundle, monkeypatch: pytest.MonkeyPatch, soc: str
) -> None:
    monkeypatch.setitem(SOCS, "ascend910b", soc)
    cases = [*chosen(bundle, PAD, most=1), *chosen(bundle, PAD, product="ascend910", most=1)]
    with pytest.raises(DeviceError, match=f"nobody knows which product the device '{soc}' is"):
        run(cases)
    results = run(cases, told="ascend910b")
    assert [results[case].status for case in cases] == [0, "skipped"]
    assert results.header["product"] == "ascend910b"
    monkeypatch.setitem(SOCS, "ascend910b", "Ascend910B3")
    with pytest.raises(DeviceError, match="`product`: ascend910, and the device is Ascend910B3"):
        run(cases, told="ascend910")
    with pytest.raises(DeviceError, match="no such product 'ascend1'"):
        run(cases, told="ascend1")


def test_guards_are_as_large_as_is_asked_for(run: Run, bundle: Bundle) -> None:
    (case,) = chosen(bundle, POOL, most=1)
    for guard, fault, status in (
        (0, "", 0),
        (512, "before", "overrun"),
        (512, "beyond", "overrun"),
        (1024, "far", "overrun"),
    ):
        results = run([case], fault=fault, guard=guard)
        assert (results[case].run_status, results.header["guard"]) == (status, guard)
    with pytest.raises(DeviceError, match="`guard`: 700 is no multiple of 512 bytes"):
        aclnn.AclnnBackend(guard=700)


def test_no_file_of_the_folder_is_run_as_a_module(
    run: Run, bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("numpy", "opgen", "ctypes", "signal"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')\nraise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    (case,) = chosen(bundle, POOL, most=1)
    assert run([case])[case].run_status == 0 and not (tmp_path / "ran").exists()


def test_a_refused_call_is_never_run(run: Run, bundle: Bundle) -> None:
    """Accepting what is forbidden shows as a status, and nothing crashes on data that are not
    there.
    """
    cases = chosen(bundle, phase=1, bucket="stated", most=20)
    results = run(cases, fault="accept,crash")
    assert all(results[one].status == 0 and results[one].run_status is None for one in cases)
    assert all(complaints(bundle[one], results[one]) for one in cases)


def test_the_header_says_what_ran(
    run: Run, bundle: Bundle, libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_GLOBAL_LOG_LEVEL", "3")
    header = run(chosen(bundle, PAD, most=1)).header
    assert (header["soc"], header["versions"]) == (SOCS["ascend910b"], "runtime loopback-1")
    assert (header["backend"], header["device"]) == ("aclnn", "npu:0")
    assert (
        str(libraries / "libopapi.so") in header["libraries"]
        and header["environment"]["ASCEND_GLOBAL_LOG_LEVEL"] == "3"
    )


def test_an_operator_that_no_library_has_is_skipped_and_named(
    run: Run, libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "aclnnReflectionPad1dBackward"
    pages = [(spec, plan_for(spec.op)) for spec in catalog().specs if spec.api in (other, PAD)]
    write(plan_suite(pages, "smoke", ["ascend910b"]), tmp_path / "both.h5", {"seed": 0})
    monkeypatch.setenv("OPGEN_OPAPI", str(libraries))
    monkeypatch.setenv("LOOPBACK_SOC", SOCS["ascend910b"])
    shown = CliRunner().invoke(
        main, ["run", f"{tmp_path}/both.h5", "--backend", "aclnn", "-o", f"{tmp_path}/results.h5"]
    )
    assert shown.exit_code == 0
    with (
        opgen.open(tmp_path / "both.h5") as both,
        opgen.Results.open(tmp_path / "results.h5") as results,
    ):
        there, skipped = ([case for case in both if case.op == op] for op in (PAD, other))
        assert len(there) > 10 and not any(complaints(case, results[case.id]) for case in there)
        said = {(results[case.id].status, results[case.id].error) for case in skipped}
    reason = f"no library has {other}GetWorkspaceSize, {other}"
    assert said == {("skipped", reason)}
    assert (
        shown.stderr.splitlines()[-1] == f"{tmp_path}/results.h5: {len(skipped)} skipped: {reason}"
    )


def test_of_many_operators_those_that_are_there_are_run_and_the_others_named(
    libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = tmp_path / "all.h5", tmp_path / "one operator"
    pages = [
        (spec, plan_for(spec.op)) for spec in catalog().specs if SLOW or spec.op in OF_EACH_KIND
    ]
    write(plan_suite(pages, "smoke", ["ascend910b"]), path, {"seed": 0})
    folder.mkdir()
    for name in ("libascendcl.so", "libnnopbase.so"):
        (folder / name).symlink_to(libraries / name)
    loopback.build(folder, "libopapi.so", ["executor.c", "numbers.c", "reflection_pad2d.c"])
    monkeypatch.setenv("OPGEN_OPAPI", str(folder))
    monkeypatch.setenv("LOOPBACK_SOC", SOCS["ascend910b"])
    results = tmp_path / "r.h5"
    command = ["run", str(path), "--backend", "aclnn", "-o", str(results)]
    shown = CliRunner().invoke(main, command)
    assert shown.exit_code == 0
    with opgen.open(path) as bundle, opgen.Results.open(results) as answers:
        ops = {case.op for case in bundle}
        skipped = {bundle[each.id].op for each in answers if each.status == "skipped"}
    assert PAD in ops and skipped == ops - {PAD} and len(skipped) > 3
    assert all(f"skipped: no library has {op}GetWorkspaceSize" in shown.stderr for op in skipped)


# what is not there --------------------------------------------------------------------------------
def absent(bundle: Bundle, tmp_path: Path, device: str = "npu:0") -> str:
    backend, cases = aclnn.AclnnBackend(device=device, timeout=5), chosen(bundle, PAD, most=1)
    with pytest.raises(DeviceError) as caught:
        devices_run(bundle, backend, tmp_path / "absent.h5", cases=cases)
    assert not (tmp_path / "absent.h5").exists() and "\n" not in str(caught.value)
    return str(caught.value)


def test_absent_things_are_said_with_where_was_looked(
    run: Run, bundle: Bundle, libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_TOOLKIT_HOME", "/no/toolkit")
    monkeypatch.delenv("OPGEN_OPAPI", raising=False)
    text = absent(bundle, tmp_path)
    assert (
        "cannot load libascendcl.so and libnnopbase.so; tried /no/toolkit/lib64/libascendcl.so"
        in text
        and "set OPGEN_OPAPI" in text
    )
    only = tmp_path / "runtime only"
    only.mkdir()
    for name in ("libascendcl.so", "libnnopbase.so"):
        (only / name).symlink_to(libraries / name)
    monkeypatch.setenv("OPGEN_OPAPI", str(only))
    text = absent(bundle, tmp_path)
    assert (
        f"no library has {PAD}GetWorkspaceSize, {PAD}; loaded {only}/libascendcl.so" in text
        and "set OPGEN_OPAPI" in text
    )
    monkeypatch.setenv("OPGEN_OPAPI", str(libraries))
    assert "there is no device npu:3: aclrtGetDeviceCount found 1" in absent(
        bundle, tmp_path, "npu:3"
    )
    assert all(
        f"no such device {name!r}" in absent(bundle, tmp_path, name)
        for name in ("cuda", "npu:²", "npu:-1")
    )
    monkeypatch.setenv("LOOPBACK_DEVICES", "0")
    assert "there is no device npu:0" in absent(bundle, tmp_path)
    monkeypatch.delenv("LOOPBACK_DEVICES")
    for fault, name in {
        "init": "aclInit",
        "open": "npu:0: aclrtSetDevice",
        "stream": "npu:0: aclrtCreateStream",
    }.items():
        monkeypatch.setenv("LOOPBACK_FAULT", fault)
        assert f"{name} returned 507000: E507000: asked to refuse" in absent(bundle, tmp_path)


def test_a_worker_that_dies_while_it_starts_is_one_message(
    run: Run, bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHOME", "/no/python")
    text = absent(bundle, tmp_path)
    assert (
        "the worker process did not start: the worker process died of exit status 1 (" in text
        and "Fatal Python error" in text
    )


def test_own_libraries_come_first_then_custom_ones_then_the_toolkit(tmp_path: Path) -> None:
    own, custom = (
        tmp_path / "own" / "libmine.so",
        tmp_path / "custom/vendors/me/op_api/lib/libcust_opapi.so",
    )
    opp = tmp_path / "cann/opp/vendors/customize/op_api/lib/libcust_opapi.so"
    kit = tmp_path / "cann/x86_64-linux/lib64/libopapi_nn.so"
    for path in (own, custom, opp, kit):
        path.parent.mkdir(parents=True)
        path.touch()
    environment = {
        "OPGEN_OPAPI": str(own),
        "ASCEND_CUSTOM_OPP_PATH": str(tmp_path / "custom"),
        "ASCEND_OPP_PATH": str(tmp_path / "cann/opp"),
    }
    assert operator_places(environment)[:4] == [str(own), str(custom), str(opp), str(kit)]
    assert operator_places({})[0] == "libopapi_math.so"
    assert runtime_places("libascendcl.so", environment)[-1] == "libascendcl.so"


# the pieces ---------------------------------------------------------------------------------------
def test_signatures_follow_from_the_kinds_of_parameters() -> None:
    kinds = catalog().kinds[CONV]
    _, arguments = abi.first_phase(tuple(kinds.values()))
    types = dict(zip(kinds, arguments, strict=False))
    assert (types["groups"], types["cubeMathType"], types["transposed"]) == (
        ctypes.c_int32,
        ctypes.c_int8,
        ctypes.c_bool,
    )
    assert {types[name] for name in ("gradOutput", "stride", "outputMask", "gradBias")} == {
        ctypes.c_void_p
    }
    assert len(arguments) == len(kinds) + 2


@pytest.mark.parametrize(
    "dtype", ["FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE", "COMPLEX64", "COMPLEX128"]
)
def test_what_a_floating_output_holds_before_a_run_is_no_number(dtype: str) -> None:
    desc = TensorDesc((2, 2), dtype, strides=(3, 1), storage_shape=(6,))
    raw, places = memory.prefilled(desc), np.array([0, 1, 3, 4])
    assert np.isnan(raw.view(aclnn.numpy_dtype(dtype)).astype(np.complex128)).all()

    def told(asked: bool) -> list[tuple[str, bool]]:
        return list(memory.of_output("x", memory.untouched(desc, [raw]), places, asked))

    assert told(False) == []
    assert told(True) == [("x: 4 of 4 elements were not written", False)]
    raw[2 * len(raw) // 6] ^= 1
    assert told(False) == [("x: 1 elements of its storage outside the view were overwritten", True)]


@pytest.mark.parametrize("dtype", ["INT8", "INT32", "BOOL", "UINT64"])
def test_integers_that_were_not_written_are_known_by_two_runs(dtype: str) -> None:
    """A device may well compute what either run laid there."""
    desc = TensorDesc((4,), dtype)
    assert memory.runs([dtype, "FLOAT"]) == 2 and memory.runs(["FLOAT", "COMPLEX64"]) == 1
    before = [memory.prefilled(desc, run).reshape(4, -1) for run in (0, 1)]
    result = np.concatenate([before[0][:1], before[1][:1], 0 * before[0][:1]])
    after = [np.concatenate([result, each[3:]]) for each in before]
    assert memory.untouched(desc, after).tolist() == [False, False, False, True]
    assert memory.untouched(desc, after[:1]).tolist() == [True, False, False, True]


class LazyDevice:
    """A worker whose kernel leaves the last element of every output as it is, and returns for the
    others what lies there in a first run.
    """

    setup, absent, facts = SimpleNamespace(apis={"aclnnX": ()}), {}, {"soc": "Ascend910B3"}

    def __init__(self, dtype: str) -> None:
        self.requests: list[CallRequest] = []
        self.first = memory.pattern(dtype)

    def execute(self, request: CallRequest) -> CallAnswer:
        self.requests.append(request)
        written = request.buffers[0].data.copy().reshape(4, -1)
        written[:-1] = self.first
        return CallAnswer(Phase(0, ""), Phase(0, "", {0: written.reshape(-1)}), 0.0)


@pytest.mark.parametrize(
    ("dtype", "runs", "left"), [("INT32", 2, 1), ("BOOL", 2, 1), ("FLOAT", 1, 4)]
)
def test_a_call_with_integer_outputs_runs_twice(dtype: str, runs: int, left: int) -> None:
    """One run could not tell what a device computed from what lay there; no operation makes the NaN
    of a floating output.
    """
    device, backend = LazyDevice(dtype), aclnn.AclnnBackend()
    case = SimpleNamespace(
        id="x",
        op="aclnnX",
        product="ascend910b",
        phase=2,
        args={"y": TensorDesc((4,), dtype)},
        storage={},
        golden={"y": np.zeros(4)},
    )
    backend.bundle, backend.worker, backend.product = {"x": case}, device, case.product
    (answer,) = backend.answers(["x"])
    assert (answer.run_status, answer.unwritten) == (0, {"y": left})
    assert f"y: {left} of 4 elements were not written" in answer.error
    assert len({request.buffers[0].data.tobytes() for request in device.requests}) == runs


def test_socs_belong_to_products() -> None:
    assert {soc: vocabulary().product_of(soc) for soc in SOCS.values()} == {
        soc: product for product, soc in SOCS.items()
    }
    assert {
        vocabulary().product_of(soc)
        for soc in ("Ascend910", "Ascend910B", "Ascend910ProB", "Ascend910PremiumA", "ascend910a")
    } == {"ascend910"}
    assert vocabulary().product_of("Ascend310B4") == "ascend310b"
    assert {
        vocabulary().product_of(soc) for soc in ("Ascend960PR", "Ascend310", "Ascend910C", "")
    } == {""}
    for product, soc in SOCS.items():
        assert [
            other for other, facts in vocabulary().products.items() if re.match(facts["socs"], soc)
        ] == [product]
