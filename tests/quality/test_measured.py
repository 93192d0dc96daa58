"""No number of mutants in the list of operators is older than what it was measured on."""

from __future__ import annotations

from opgen.spec.catalog import catalog
from tests.quality.measured import UNKNOWN, digests, measured_on

MOST_UNKNOWN = 13
"""Operators of which nobody knows what their numbers were measured on: fewer with each measure."""


def test_mutants_are_measured_again_where_an_operator_changes() -> None:
    now = {spec.op: measured_on(spec.op) for spec in catalog().specs}
    then = digests()
    stale = [op for op in now if then.get(op) not in (now[op], UNKNOWN)]
    assert not stale, (
        f"opgen mutants {' '.join(stale)} --plan standard --json > mutants.json;"
        " python -m tests.quality.measured mutants.json"
    )
    assert then.keys() == now.keys()
    assert list(then.values()).count(UNKNOWN) <= MOST_UNKNOWN
