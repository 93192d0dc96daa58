"""Ways in which a device or its runner can lie, each run and judged as a user does: `opgen run`,
then `opgen diff`.

Most are seen. For each of the rest `opgen/devices/ACLNN.md` says why no host can see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.devices import Backend, DeviceLost
from opgen.devices.aclnn import AclnnBackend
from opgen.devices.running import run
from opgen.generation.engine import write
from opgen.spec.catalog import catalog
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.plan import plan_for
from tests import loopback
from tests.support import device_sample as sample
from tests.support.backends import Scripted
from tests.support.copies import ROOT
from tests.support.suites import SLOW

Lie = Callable[[CaseView, Result, list[Result]], Result | None]
"""From a case, a right answer and the answers so far to what is answered; None is silence."""
MANUAL = (ROOT / "opgen" / "devices" / "ACLNN.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    path = tmp_path_factory.mktemp("lies") / "smoke.h5"
    operators = ("avg_pool2d_backward", "group_norm_backward", "reflection_pad2d_backward")
    pages = [(spec, plan_for(spec.op)) for spec in catalog().specs if spec.op in operators]
    write(plan_suite(pages, "smoke", ["ascend910b"]), path, {"seed": 0})
    with opgen.open(path) as found:
        yield found


@pytest.fixture(scope="module")
def cases(bundle: Bundle) -> list[str]:
    """Of every operator valid calls, some with views and some without some outputs, and calls that
    break a rule, with their nearest valid ones.
    """
    table, chosen = bundle.cases, []
    for op in sorted(set(table["op"].tolist())):
        for phase, bucket, most in ((2, "valid", 16), (1, "stated", 8), (1, "unstated", 4)):
            keep = (table["op"] == op) & (table["phase"] == phase) & (table["bucket"] == bucket)
            chosen += table["id"][keep].tolist()[:most]
    nearest = [bundle[case].nearest_valid for case in chosen]
    return list(dict.fromkeys(case for case in (*nearest, *chosen) if case))


def right(case: CaseView) -> Result:
    """The answer of a device that does what it should."""
    outputs = sample.right(case) if case.phase == 2 else {}
    status, ran = sample.status_of(case), 0 if case.phase == 2 else None
    return Result(case.id, status, ran, outputs=outputs, unwritten=dict.fromkeys(outputs, 0))


def liar(lie: Lie) -> Backend:
    """A device that answers rightly but for its lie."""

    def answers(bundle: Bundle, cases: Sequence[str]) -> Iterator[Result]:
        told: list[Result] = []
        for case in map(bundle.__getitem__, cases):
            answer = lie(case, right(case), told)
            if answer is not None:
                told.append(answer)
                yield answer

    return Scripted(answers, {"backend": "liar", "device": "one"})


def noticed(bundle: Bundle, backend: Backend, path: Path, cases: Sequence[str]) -> str:
    """Who notices: ``run``, ``diff``, ``diff --strict``, or nobody."""
    try:
        run(bundle, backend, path, cases=cases)
    except DeviceLost:
        return "run"
    report = opgen.diff(bundle, path, cases=cases)
    if not report.green():
        return "diff"
    return "" if report.green(strict=True) else "diff --strict"


# lies ---------------------------------------------------------------------------------------------
def status(change: Callable[[CaseView], int | str]) -> Lie:
    """A first phase that returns what it should not; without outputs where that is an error."""

    def lie(case: CaseView, answer: Result, told: list[Result]) -> Result:
        code = change(case)
        return Result(case.id, code) if code else answer._replace(status=0)

    return lie


def output(change: Callable[[np.ndarray], np.ndarray]) -> Lie:
    """Other numbers in every output."""

    def lie(case: CaseView, answer: Result, told: list[Result]) -> Result:
        changed = {name: change(array.copy()) for name, array in answer.outputs.items()}
        return answer._replace(outputs=changed)

    return lie


def last(array: np.ndarray, value: float) -> np.ndarray:
    array.reshape(-1)[-1:] += np.asarray(value, array.dtype)
    return array


def of_the_call_before(case: CaseView, answer: Result, told: list[Result]) -> Result:
    alike = [
        {name: array for name, array in other.outputs.items() if name in answer.outputs}
        for other in told
        if [(name, array.shape, array.dtype) for name, array in other.outputs.items()]
        == [(name, array.shape, array.dtype) for name, array in answer.outputs.items()]
    ]
    return answer._replace(outputs=alike[-1]) if alike else answer


def sticky(case: CaseView, answer: Result, told: list[Result]) -> Result:
    """The first error is returned from then on."""
    errors = [other.status for other in told if other.status]
    return Result(case.id, errors[0]) if errors else answer


def nothing_is_said(case: CaseView, answer: Result, told: list[Result]) -> Result | None:
    return None if len(told) == 20 else answer


def truthfully(case: CaseView, answer: Result, told: list[Result]) -> Result:
    return answer


def runs(code: int | str) -> Lie:
    """A second phase that ends with a status."""
    return lambda case, answer, told: (
        Result(case.id, 0, code) if case.phase == 2 and "avg_pool" in case.id else answer
    )


STATUSES: dict[str, Lie] = {
    "every call is accepted": status(lambda case: 0),
    "every call is refused, as a null pointer is": status(lambda case: 161001),
    "every call is refused, as a wrong argument is": status(lambda case: 161002),
    "every call is refused, for an inner reason": status(lambda case: 561103),
    "every call gets a code of the runtime": status(lambda case: 507899),
    "every call gets -1": status(lambda case: -1),
    "calls that should be refused get a code of the runtime": status(
        lambda case: 0 if case.expect.bucket == "valid" else 507899
    ),
    "null pointers and wrong arguments get each other's code": status(
        lambda case: {161001: 161002, 161002: 161001}.get(int(sample.status_of(case)), 0)
    ),
    "calls are refused for a reason that no page names": status(
        lambda case: 0 if case.expect.bucket == "valid" else 561000
    ),
    "the first error is returned ever after": sticky,
    "the second phase refuses": runs(361001),
    "the kernel fails": runs(507011),
}
OUTPUTS: dict[str, Lie] = {
    "zeros are returned": output(np.zeros_like),
    "ones are returned": output(np.ones_like),
    "NaN is returned": output(lambda array: np.full_like(array, np.nan)),
    "the sign is wrong": output(lambda array: -array),
    "the last element is wrong": output(lambda array: last(array, 64)),
    "elements are in the wrong order": output(lambda array: array[::-1].copy()),
    "everything is doubled": output(lambda array: array + array),
    "outputs are those of the call before": of_the_call_before,
    "an output has the wrong shape": output(lambda array: array.reshape(-1)),
    "an output has the wrong dtype": output(lambda array: np.zeros(array.shape, np.int32)),
    "an output is not returned": lambda case, answer, told: answer._replace(
        outputs={}, unwritten={}
    ),
}
SILENCE: dict[str, Lie] = {
    "a case has no answer": nothing_is_said,
    "every case is skipped": lambda case, answer, told: Result(case.id, "skipped"),
    "every case with data is skipped": lambda case, answer, told: (
        Result(case.id, "skipped") if case.phase == 2 else answer
    ),
    "no status is recorded": lambda case, answer, told: answer._replace(status=None),
}
TURN = 3 if SLOW else 9
"""In every so many calls a process dies, which is then started again."""
MEMORY = {
    "nothing is written": "stale",
    "one element is not written": "partly",
    "the gaps of a view are written": "gaps",
    "the element behind an output is written": "beyond",
    "the byte before an output is written": "before",
    "byte 513 behind an output is written": "far",
    "an input is written": "input",
    "the byte behind an input is written": "behind_input",
    "16 bytes behind the workspace are written": "scratch",
    "the workspace is read before it is written": "workspace",
    "an output that is masked out is written": "mask",
    "the process dies": f"crash#{TURN}",
    "memory is spoilt": f"free#{TURN}",
    "the device is lost after some calls": "lost@any#31+",
}
"""Faults of the loopback library."""
UNSEEN = (
    "an error is smaller than its bound",
    "a cache answers instead of the device",
    "memory beyond the guards is written",
    "memory is read without effect on the outputs",
    "another device answers under this name",
    "a fault is rare",
)


def test_a_device_that_does_not_lie_is_believed(
    bundle: Bundle, cases: list[str], tmp_path: Path, aclnn: Backend
) -> None:
    for backend, path in ((liar(truthfully), "right.h5"), (aclnn, "loopback.h5")):
        assert noticed(bundle, backend, tmp_path / path, cases) == ""


@pytest.mark.parametrize(("name", "lie"), [*STATUSES.items(), *OUTPUTS.items(), *SILENCE.items()])
def test_a_lie_is_seen(
    bundle: Bundle, cases: list[str], tmp_path: Path, name: str, lie: Lie
) -> None:
    by = "run" if name.startswith("every call gets") else "diff"
    assert noticed(bundle, liar(lie), tmp_path / "r.h5", cases) == by


@pytest.fixture
def aclnn(monkeypatch: pytest.MonkeyPatch) -> Backend:
    monkeypatch.setenv("OPGEN_OPAPI", str(loopback.libraries()))
    monkeypatch.setenv("LOOPBACK_SOC", loopback.SOCS["ascend910b"])
    return AclnnBackend(timeout=20)


@pytest.mark.parametrize(("name", "fault"), MEMORY.items())
def test_a_lie_about_memory_is_seen(
    bundle: Bundle,
    cases: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    aclnn: Backend,
    name: str,
    fault: str,
) -> None:
    monkeypatch.setenv("LOOPBACK_FAULT", fault)
    by = {"mask": "diff --strict", "lost@any#31+": "run"}.get(fault, "diff")
    assert noticed(bundle, aclnn, tmp_path / "r.h5", cases) == by


def test_the_manual_names_what_no_host_can_see_and_most_lies_are_seen() -> None:
    seen = len(STATUSES) + len(OUTPUTS) + len(SILENCE) + len(MEMORY)
    assert [lie for lie in UNSEEN if lie not in MANUAL.lower()] == []
    assert (seen, len(UNSEEN)) == (41, 6)
