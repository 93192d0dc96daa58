"""What few calls show of one rule holds for all rules of its kind of which no call speaks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from opgen.calls.jsonl import NamedCall
from opgen.calls.table import from_calls
from opgen.learning import statuses
from opgen.learning.learner import learn
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


@pytest.mark.parametrize(
    ("rules", "told"), [(0, []), (1, [FORMATS]), (2, [FORMATS]), (3, [FORMATS])]
)
def test_a_library_whose_formats_few_calls_show(
    tmp_path: Path, rules: int, told: list[tuple[str, ...]]
) -> None:
    lines = planted.returned(one_call_each(rules), tolerated=FORMATS)
    known = statuses.read([planted.write(tmp_path / "calls.jsonl", lines)], catalog())
    entries = learn(known.pages[0]).entries
    of_formats = [each for each in entries if set(each.rules) & set(FORMATS)]
    assert [tuple(sorted(each.rules)) for each in of_formats] == [tuple(sorted(x)) for x in told]
    assert all((each.status, len(each.calls), each.when) == (0, rules, "") for each in of_formats)
