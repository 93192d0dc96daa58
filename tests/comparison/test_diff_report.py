"""What a report says of its verdicts: totals, groups, shared traits in words."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.comparison.diff_report import DiffReport, SharedTrait
from opgen.comparison.groups import Group
from opgen.model import Verdict


def test_a_report_is_what_its_verdicts_are():
    """Asked for by case, counted by facts, waived or strict, and held against loops over the
    verdicts.
    """
    kinds = (
        "failed",
        "lenient",
        "passed",
        "failed",
        "known deviation",
        "crashed",
        "passed",
        "inconclusive",
        "missing",
        "failed",
    )
    verdicts = [
        Verdict(f"c{i}", kind, "", {"op": "AB"[i % 2], "dtype": "xyz"[i % 3]})
        for i, kind in enumerate(kinds)
    ]
    report = DiffReport(verdicts, waived={"c3": "a ticket", "c4": "another"})
    assert [one.case for one in report] == [f"c{i}" for i in range(10)] and len(report) == 10
    assert (
        "c7" in report
        and "c10" not in report
        and report.get("c10") is None
        and report.get("c7") is report["c7"] is verdicts[7]
    )
    assert (
        [one.case for one in report.bad()]
        == [one.case for one in verdicts if report.fails(one)]
        == ["c0", "c5", "c8", "c9"]
    )
    assert [one.case for one in report.bad(strict=True)] == ["c0", "c1", "c5", "c8", "c9"]
    assert not report.fails(verdicts[1]) and report.fails(verdicts[1], strict=True)
    assert list(report.totals.items()) == [
        ("failed", 3),
        ("crashed", 1),
        ("missing", 1),
        ("lenient", 1),
        ("known deviation", 1),
        ("inconclusive", 1),
        ("passed", 2),
    ]
    for facts in ((), ("op",), ("op", "dtype"), ("nothing",)):
        keys = {one.case: tuple(one.metrics.get(fact, "") for fact in facts) for one in report}
        assert report.by(*facts) == {
            key: {
                kind: [keys[one.case] for one in report if one.verdict == kind].count(key)
                for kind in kinds
                if key in [keys[one.case] for one in report if one.verdict == kind]
            }
            for key in sorted(set(keys.values()))
        }


@pytest.mark.parametrize(
    ("ratios", "example", "ratio"),
    [
        ((0.5, 1.0), 0, None),
        ((1.0, 1.0), 0, None),
        ((0.5, 1.5), 1, 1.5),
        ((3.0, 1.5), 0, 3.0),
        ((1.5, np.inf), 1, np.inf),
        ((None, None), 0, None),
    ],
)
def test_the_example_of_a_group_is_the_case_furthest_beyond_its_bound(ratios, example, ratio):
    verdicts = [
        Verdict(
            f"c{i}",
            "failed",
            "",
            {
                "causes": ["zeros"],
                "outputs": {} if one is None else {"x": {"ratio": 0.1}, "y": {"ratio": one}},
            },
        )
        for i, one in enumerate(ratios)
    ]
    alone = Verdict("other", "failed", "", {"causes": ["NaN"]})  # a cause of one case is no group
    (group,) = DiffReport([alone, *verdicts]).groups
    assert group == Group("failed", "zeros", 2, f"c{example}", ratio)
    far = "" if ratio is None or ratio == np.inf else f", error/bound up to {ratio:g}"
    assert str(group) == f"zeros: 2 cases{far}, such as c{example}"


def test_lenient_cases_are_grouped_by_operator_and_name_the_three_most_frequent_rules():
    broken = [
        ("a",),
        ("b", "a"),
        ("c", "a"),
        ("d", "b", "a"),
        ("c", "b"),
        ("c", "b"),
    ]  # a and b 4 times, c 3, d once
    verdicts = [
        Verdict(f"c{i}", "lenient", "", {"op": "aclnnX", "rules": rules})
        for i, rules in enumerate(broken)
    ]
    more = Verdict("more", "lenient", "", {"op": "aclnnY", "rules": ("a", "b", "c")})
    bare = Verdict("bare", "lenient", "", {"op": "aclnnZ"})
    passed = Verdict("fine", "passed", "", {"op": "aclnnX", "causes": ["zeros"]})
    first, *others = map(str, DiffReport([bare, passed, *verdicts, more]).groups)
    assert first == "X accepts calls that the page forbids (a, b, c, ...): 6 cases, such as c0"
    assert others == [
        "Z accepts calls that the page forbids: 1 case, such as bare",
        "Y accepts calls that the page forbids (a, b, c): 1 case, such as more",
    ]


def test_a_finding_says_how_many_failures_and_passes_have_it():
    assert (
        str(SharedTrait("bits", "C = 17", 3, 4, 1, 6))
        == "bits: C = 17 (3 of 4 wrong answers, 1 of 6 right answers compared)"
    )
    assert (
        str(SharedTrait("bits", "C = 17", 1, 1, 0, 2))
        == "bits: C = 17 (1 of 1 wrong answers, 0 of 2 right answers compared)"
    )
    assert str(SharedTrait("bits", "", 0, 9, 0, 1)) == "bits: 9 of 10 answers are wrong"
