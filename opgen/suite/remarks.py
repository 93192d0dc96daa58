"""What a person is told of a suite before it is made."""

from __future__ import annotations

from opgen.model import CALL_PLANS
from opgen.suite.selection import Request
from opgen.suite.suite import Suite


def remarks(request: Request, suite: Suite) -> list[str]:
    """What is to be known of a suite: that a plan beside given calls is not used; where calls seed
    a plan, how many of each page count, and how many more the tier needs beside them; the values
    of a plan that stand in no call of any page; of which operators only statuses are checked; and
    that no case has a golden.
    """
    golden = any(batch.wanted for batch in suite.batches)
    nothing = [
        f"{spec.op}: only statuses are checked: {spec.status_only}"
        for spec in suite.specs.values()
        if spec.status_only
    ] + ([] if golden else ["no case has a golden: only statuses are judged"])
    if request.files:
        unused = f"`plan` {request.plan}: is not used; with `calls` there is one case per call"
        return [*([] if request.plan in (Request.plan, *CALL_PLANS) else [unused]), *nothing]
    lines = [
        f"{name}: {report.given} legal calls given, {len(report.cover)} more cover all tuples"
        " of the tier"
        for name, report in suite.reports.items()
        if report.given and report.cover is not None
    ]
    for plan in {plan.file: plan for plan in suite.plans.values()}.values():
        pages = [suite.reports[name].untried for name in suite.reports if suite.plans[name] is plan]
        values = [
            value for value in (pages[0] if pages else ()) if all(value in page for page in pages)
        ]
        lines += [
            f"{plan.file}: no call has {value}: forbidden by {pages[0][value]}" for value in values
        ]
    return [*lines, *nothing]
