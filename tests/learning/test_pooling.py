"""Few calls of each of several rules of one kind speak together; of one rule alone they do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from opgen.calls.jsonl import NamedCall
from opgen.calls.table import from_calls
from opgen.learning import statuses
from opgen.learning.learner import learn
from opgen.learning.lesson import Finding
from opgen.learning.pooling import few_together
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from tests.learning import planted

PAD = "aclnnReflectionPad2dBackward"
SPEC = next(spec for spec in catalog().specs if spec.name == "reflection_pad2d_backward")
FORMATS = tuple(rule.id for rule in SPEC.rules if rule.key == "format")


def hint(rule: str, *calls: int, against: tuple[int, ...] = ()) -> Finding:
    return Finding((rule,), "", 0, calls, len(calls), True, against)


def passed(**calls: list[int]) -> dict[str, np.ndarray]:
    return {rule.replace("__", "."): np.array(rows) for rule, rows in calls.items()}


def told(findings: list[Finding], rows: dict[str, np.ndarray]) -> list[tuple[tuple[str, ...], int]]:
    known = few_together(findings, rows, SPEC.rule)
    return [(each.rules, len(each.calls)) for each in known if not each.hint]


def test_three_calls_of_one_kind_are_one_entry_that_names_its_rules() -> None:
    rows = passed(self__format=[1], gradOutput__format=[2, 3])
    hints = [hint("self.format", 1), hint("gradOutput.format", 2, 3)]
    (each,) = few_together(hints, rows, SPEC.rule)
    assert set(each.rules) == {"self.format", "gradOutput.format"}
    assert (each.status, each.calls, each.asked, each.hint) == (0, (1, 2, 3), 3, False)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(passed(self__format=[1, 2]), id="one rule, no kin"),
        pytest.param(passed(self__format=[1], gradOutput__format=[2]), id="two calls"),
        pytest.param(passed(self__format=[1, 2], gradOutput__format=[1, 2]), id="the same two"),
        pytest.param(passed(self__format=[1, 2], gradOutput__dtype=[3, 4]), id="two kinds"),
    ],
)
def test_fewer_stay_hints(rows: dict[str, np.ndarray]) -> None:
    hints = [hint(rule, *of.tolist()) for rule, of in rows.items()]
    assert list(few_together(hints, rows, SPEC.rule)) == hints


def test_a_rule_that_a_call_contradicts_is_not_among_them() -> None:
    rows = passed(self__format=[1, 2], gradOutput__format=[3], gradInput__format=[4])
    refused = hint("self.format", 1, 2, against=(9,))
    hints = [refused, hint("gradOutput.format", 3), hint("gradInput.format", 4)]
    assert told(hints, rows) == []
    assert list(few_together(hints, rows, SPEC.rule)) == hints


def test_a_rule_that_has_an_entry_keeps_it() -> None:
    own = Finding(("self.format",), "self.rank == 3", 0, (1, 2, 5), 3, True)
    rows = passed(self__format=[1, 2, 5], gradOutput__format=[3], gradInput__format=[4])
    assert told([own], rows) == [(("self.format",), 3)]


def one_call_each(rules: int) -> list[NamedCall]:
    """The calls of the sample, but of those that break formats one for each of some rules."""
    named = list(planted.calls(PAD))
    judged = judge(SPEC, from_calls(PAD, SPEC.kinds, [each.call for each in named]))
    about = np.array([rule.id in FORMATS for rule in SPEC.rules])
    kept = ~judged.broken[about].any(axis=0)
    for i in np.flatnonzero(about)[:rules]:
        kept[np.flatnonzero(judged.broken[i] & (judged.broken.sum(axis=0) == 1))[0]] = True
    return [named[row] for row in np.flatnonzero(kept)]


@pytest.mark.parametrize("rules", [2, 3])
def test_a_library_whose_formats_few_calls_show(tmp_path: Path, rules: int) -> None:
    lines = planted.returned(one_call_each(rules), tolerated=FORMATS)
    known = statuses.read([planted.write(tmp_path / "calls.jsonl", lines)], catalog())
    entries = [each.rules for each in learn(known.pages[0]).entries]
    of_formats = [named for named in entries if set(named) & set(FORMATS)]
    assert of_formats == ([FORMATS] if rules == 3 else [])
