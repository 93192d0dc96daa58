"""Which calls decide what becomes of a rule."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.calls.factorize import by_key
from opgen.learning import statuses
from opgen.learning.deciding import Deciding
from opgen.learning.lesson import Finding
from opgen.learning.statuses import Returned
from opgen.spec.catalog import catalog
from tests.learning import planted

PAD, RULE = "aclnnReflectionPad2dBackward", "left_below_width"


@pytest.fixture(scope="module")
def returned(tmp_path_factory: pytest.TempPathFactory) -> Returned:
    """What a library returned that lets pass what one rule forbids."""
    folder = tmp_path_factory.mktemp("calls")
    lines = planted.returned(planted.calls(PAD), (), [RULE])
    return statuses.read([planted.write(folder / "calls.jsonl", lines)], catalog()).pages[0]


def test_calls_that_break_a_rule_alone_decide_it(returned: Returned) -> None:
    broken = returned.judgement.broken
    decided = Deciding(returned).decided(())
    for i in range(len(broken)):
        alone = np.flatnonzero(broken[i] & (broken.sum(axis=0) == 1) & returned.firm)
        assert {*alone.tolist()} <= {*decided[i].tolist()}
        assert broken[i, decided[i]].all()


def test_calls_decide_more_once_a_rule_is_known_to_be_let_pass(returned: Returned) -> None:
    i = [rule.id for rule in returned.spec.rules].index(RULE)
    known = Finding((RULE,), "", 0, tuple(np.flatnonzero(returned.status == 0)), 3, True)
    deciding = Deciding(returned)
    before, free = deciding.decided(()), deciding.free.sum()
    after = deciding.decided((known,))
    others = [j for j in range(len(before)) if j != i]
    assert sum(len(after[j]) for j in others) > sum(len(before[j]) for j in others)
    assert deciding.free.sum() > free
    beside = returned.judgement.broken[i]
    more = by_key((j, row) for j in others for row in {*after[j].tolist()} - {*before[j].tolist()})
    assert all(beside[row] for rows in more.values() for row in rows)
