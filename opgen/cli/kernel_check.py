"""What the check of an operator says of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opgen.model import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opgen.comparison.diff_report import DiffReport


def check_kernel(op: str) -> tuple[list[str], list[Problem]]:
    """What the kernel of an operator was held against, and what it breaks of its contract, offers
    to a plan that does not use it, or computes otherwise than torch.
    """
    from opgen.generation.contract import broken
    from opgen.generation.kernels import file_of, whole
    from opgen.spec.catalog import catalog

    known = catalog()
    api = known.operators.get(op, "")
    why = known.of(api)[0].status_only if api else ""
    if why:
        return [f"{op}: no kernel, only statuses are checked: {why}"], []
    file, kernel = file_of(op), whole(op)
    problems = [*broken(kernel, file), *(_unused(op, api) if hasattr(kernel, "thresholds") else ())]
    if problems:
        return [], problems
    told = [f"{op}: the kernel keeps its contract"]
    if not hasattr(kernel, "FORWARD"):
        told.append(f"{op}: not compared with its forward: {file} has no FORWARD")
    agreed, problem = _with_torch(op) if api else (_NOT + "there is no spec of it yet", "")
    if problem:
        return told, [Problem(file, None, "torch", problem)]
    return [*told, f"{op}: {agreed}"], []


_NOT = "not compared with torch: "


def _unused(op: str, api: str) -> Iterator[Problem]:
    """The problem of a plan by which no data lie at the thresholds of a kernel."""
    from opgen.suite.planning.plan_check import shipped_plan

    if api and "argument" not in shipped_plan(api).roles.values():
        text = (
            "no input has the role argument, so no data lie at the thresholds of the kernel; give"
            " it to the input at which the function is evaluated, such as {self: argument}"
        )
        yield Problem(f"cases/{op}.yaml", None, "roles", text)


def _with_torch(op: str) -> tuple[str, str]:
    """What came of the comparison with torch: what agrees, or why nothing was compared; and what
    does not agree.
    """
    from pathlib import Path
    from tempfile import TemporaryDirectory

    import opgen
    from opgen.devices import DeviceError

    with TemporaryDirectory() as folder:
        bundle, results = (Path(folder) / name for name in ("suite.h5", "results.h5"))
        opgen.generate([op], output=bundle, workers=1)
        try:
            opgen.run(bundle, "torch", results, watch=False)
        except DeviceError as error:
            return f"{_NOT}{error}", ""
        return agreement(opgen.diff(bundle, results))


def agreement(report: DiffReport) -> tuple[str, str]:
    """On how many of the calls with data torch agrees, which it refused and why, and what became of
    the rest; and where it differs.
    """
    from collections import Counter

    from opgen.comparison.diff_report import reason
    from opgen.comparison.statuses import BAD, PASSED, SKIPPED
    from opgen.report.terminal import counted

    asked = [verdict for verdict in report if verdict.metrics["dtype"]]
    count = Counter(verdict.verdict for verdict in asked)
    why = Counter(reason(verdict) for verdict in asked if verdict.verdict == SKIPPED)
    calls = counted(len(asked), "call")
    if bad := [verdict for verdict in asked if verdict.verdict in BAD]:
        return "", f"differs in {len(bad)} of {calls}, such as {bad[0].case}: {bad[0].detail}"
    if len(why) == 1 and count[SKIPPED] == len(asked):
        return f"{_NOT}{next(iter(why))}", ""
    refused = ", ".join(f"{number} ({words})" for words, number in why.most_common())
    others = [f"{n} {verdict}" for verdict, n in count.items() if verdict not in (PASSED, SKIPPED)]
    parts = [f"agrees with torch on {count[PASSED]} of {calls}", *others]
    return "; ".join([*parts, *([f"refused by torch: {refused}"] if why else ())]), ""
