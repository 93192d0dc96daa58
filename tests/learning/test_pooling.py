"""What few calls show of each of several rules is one finding; of fewer than three it is a hint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from opgen.calls.jsonl import NamedCall
from opgen.calls.table import from_calls
from opgen.learning import statuses
from opgen.learning.learner import learn
from opgen.learning.lesson import Finding
from opgen.learning.pooling import together
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from tests.learning import planted

PAD = "aclnnReflectionPad2dBackward"
SPEC = next(spec for spec in catalog().specs if spec.name == "reflection_pad2d_backward")
FORMATS = tuple(rule.id for rule in SPEC.rules if rule.key == "format")


def one_call_each(rules: int) -> list[NamedCall]:
    """The calls of the sample, but of those that break formats one for each of some rules."""
    named = list(planted.calls(PAD))
    judged = judge(SPEC, from_calls(PAD, SPEC.kinds, [each.call for each in named]))
    about = np.array([rule.id in FORMATS for rule in SPEC.rules])
    kept = ~judged.broken[about].any(axis=0)
    for i in np.flatnonzero(about)[:rules]:
        kept[np.flatnonzero(judged.broken[i] & (judged.broken.sum(axis=0) == 1))[0]] = True
    return [named[row] for row in np.flatnonzero(kept)]


@pytest.mark.parametrize(("rules", "told"), [(0, []), (1, []), (2, []), (3, [FORMATS])])
def test_a_library_whose_formats_few_calls_show(
    tmp_path: Path, rules: int, told: list[tuple[str, ...]]
) -> None:
    lines = planted.returned(one_call_each(rules), tolerated=FORMATS)
    known = statuses.read([planted.write(tmp_path / "calls.jsonl", lines)], catalog())
    entries = learn(known.pages[0]).entries
    of_formats = [each for each in entries if set(each.rules) & set(FORMATS)]
    assert [tuple(sorted(each.rules)) for each in of_formats] == [tuple(sorted(x)) for x in told]
    assert all((each.status, len(each.calls), each.when) == (0, rules, "") for each in of_formats)


def few(rule: str, *calls: int, status: int = 0, differs: bool = True) -> Finding:
    return Finding((rule,), "", status, calls, len(calls), differs)


def pools(*findings: Finding) -> list[tuple[frozenset[str], int, bool]]:
    return [
        (frozenset(each.rules), len(each.calls), each.hint)
        for each in together(findings, SPEC.rule)
    ]


def test_rules_about_the_same_thing_are_one_finding_first() -> None:
    formats = few("self.format", 1), few("gradOutput.format", 2, 3)
    assert pools(*formats, few("self.rank", 4)) == [
        (frozenset({"self.format", "gradOutput.format", "self.rank"}), 4, False)
    ]
    assert pools(*formats, few("self.rank", 4, 5), few("self.dtype", 6)) == [
        (frozenset({"self.format", "gradOutput.format"}), 3, False),
        (frozenset({"self.rank", "self.dtype"}), 3, False),
    ]


def test_few_join_the_finding_of_their_kind_that_most_calls_show() -> None:
    much, more = few("self.dtype", 1, 2, 3), few("gradInput.dtype", 4, 5, 6, 7)
    assert pools(much, more, few("self.rank", 8)) == [
        (frozenset({"self.dtype"}), 3, False),
        (frozenset({"gradInput.dtype", "self.rank"}), 5, False),
    ]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(few("self.dtype", 1, 2, 3, status=561103), id="another status"),
        pytest.param(few("self.dtype", 1, 2, 3, differs=False), id="as the page"),
        pytest.param(Finding(("self.dtype",), "self.rank == 3", 0, (1, 2, 3), 3, True), id="when"),
        pytest.param(Finding(("self.dtype",), "", 0, (1, 2, 3), 5, True, (8, 9)), id="against"),
        pytest.param(few("self.rank", 4, 5), id="the same two calls"),
        pytest.param(few("self.rank", 6, 7, status=561103), id="few of another status"),
        pytest.param(few("self.rank", 6, 7, differs=False), id="few as the page"),
    ],
)
def test_few_of_another_kind_stay_a_hint(other: Finding) -> None:
    alone = few("gradOutput.rank", 4, 5)
    left = [each for each in together([other, alone], SPEC.rule) if "gradOutput.rank" in each.rules]
    assert [(each.calls, each.hint) for each in left] == [((4, 5), True)]
