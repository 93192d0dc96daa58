"""What the check of an operator says of a kernel."""

from __future__ import annotations

import click

from opgen.model import Problem


def check_kernel(op: str) -> list[Problem]:
    """What the kernel of an operator breaks of its contract, or computes otherwise than torch."""
    from opgen.generation.contract import broken
    from opgen.generation.kernels import file_of, whole
    from opgen.spec.catalog import catalog

    known = catalog()
    why = known.of(known.operators[op])[0].status_only if op in known.operators else ""
    if why:
        click.echo(f"{op}: no kernel, only statuses are checked: {why}")
        return []
    file, kernel = file_of(op), whole(op)
    problems = broken(kernel, file)
    if problems:
        return problems
    click.echo(f"{op}: the kernel keeps its contract")
    if not hasattr(kernel, "FORWARD"):
        click.echo(f"{op}: not compared with its forward: {file} has no FORWARD")
    agreed, problem = _with_torch(op)
    if problem:
        return [Problem(file, None, "torch", problem)]
    click.echo(f"{op}: {agreed}")
    return []


def _with_torch(op: str) -> tuple[str, str]:
    """What came of the comparison with torch: what agrees, or why nothing was compared; and what
    does not agree.
    """
    from pathlib import Path
    from tempfile import TemporaryDirectory

    import opgen
    from opgen.comparison.statuses import BAD
    from opgen.devices import DeviceError
    from opgen.report.terminal import counted
    from opgen.spec.catalog import catalog

    if op not in catalog().operators:
        return "not compared with torch: there is no spec of it yet", ""
    with TemporaryDirectory() as folder:
        bundle, results = (Path(folder) / name for name in ("suite.h5", "results.h5"))
        opgen.generate([op], output=bundle, workers=1)
        try:
            opgen.run(bundle, "torch", results)
        except DeviceError as error:
            return f"not compared with torch: {error}", ""
        report = opgen.diff(bundle, results)
    bad = [verdict for verdict in report if verdict.verdict in BAD]
    passed = sum(verdict.verdict == "passed" for verdict in report)
    if bad:
        compared = counted(passed + len(bad), "call")
        return "", f"differs in {len(bad)} of {compared}, such as {bad[0].case}: {bad[0].detail}"
    if not passed:
        return "not compared with torch, which has no such operator", ""
    return f"agrees with torch on {counted(passed, 'call')}", ""
