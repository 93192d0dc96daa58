"""Equalities of axes that follow from others, and such that do not."""

from __future__ import annotations

import pytest

from tests.spec.equalities import follows

RANKS = ["x.rank in (3)", "y.rank in (3)", "z[0].rank in (3)"]
FOLLOWS = {
    "a shape from that of a third": (
        "x.shape == y.shape", ["x.shape == w.shape", "w.shape == y.shape"]
    ),
    "a shape from its axes": (
        "x.shape == y.shape", [f"x.shape[-{i}] == y.shape[-{i}]" for i in (1, 2, 3)]
    ),
    "an axis from a shape": ("x.shape[-2] == y.shape[-2]", ["x.shape == y.shape"]),
    "axes in brackets": (
        "(a, y.shape[-1]) == z[0].shape[1:] when len(z) > 0",
        ["y.shape[-1] == z[0].shape[-1]", "z[0].shape[-2] == a"],
    ),
    "an axis counted from the first": (
        "x.shape[0] == n when f", ["x.shape[-3] == n when f"]
    ),
    "an axis under the condition that gives the rank": (
        "v.shape[0] == n when f and p.null", ["v.shape[-3] == n when f", "3 == v.rank when p.null"]
    ),
    "what holds in both cases of a flag": (
        "x.shape[-3] == y.shape[-3]",
        ["x.shape[-3] == n when f", "y.shape[-3] == n when f",
         "x.shape[-3] == m when not f", "y.shape[-3] == m when not f"],
    ),
    "what holds without condition": ("x.shape[-1] == n when f", ["x.shape[-1] == n"]),
    "twice an axis": (
        "2 * x.shape[-1] == n when f", ["2 * y.shape[-1] == n when f", "x.shape[-1] == y.shape[-1]"]
    ),
    "a length from an axis with another code": (
        "len(z) == n when f", ["len(z) == x.shape[-3]", ("x.shape[-3] == n when f", "161002")]
    ),
}  # fmt: skip
NOT = {
    "an axis of another place": ("x.shape[-2] == y.shape[-2]", ["x.shape[-1] == y.shape[-1]"]),
    "a shape from some of its axes": ("x.shape == y.shape", ["x.shape[-1] == y.shape[-1]"]),
    "a shape from axes of a tensor without a rank": (
        "x.shape == w.shape", [f"x.shape[-{i}] == w.shape[-{i}]" for i in (1, 2, 3)]
    ),
    "axes of another order": (
        "(a, b) == z[0].shape[1:]", ["z[0].shape[-1] == a", "z[0].shape[-2] == b"]
    ),
    "one case of a flag": ("x.shape[-1] == n", ["x.shape[-1] == n when f"]),
    "the other case of a flag": ("x.shape[-1] == n when f", ["x.shape[-1] == n when not f"]),
    "an axis with another code": ("x.shape[-1] == n", [("x.shape[-1] == n", "161002")]),
    "a length with another code": ("len(z) == n", [("len(z) == n", "161002")]),
    "an axis counted from the other end": ("x.shape[0] == n", ["x.shape[-1] == n"]),
    "a limit": ("x.shape[-1] <= n", ["x.shape[-1] == n"]),
}  # fmt: skip


def told(others):
    rows = [other if isinstance(other, tuple) else (other, "unstated") for other in others]
    return [*rows, *((rank, "161002") for rank in RANKS)]


@pytest.mark.parametrize("name", FOLLOWS)
def test_an_equality_follows(name):
    says, others = FOLLOWS[name]
    assert follows(says, "unstated", told(others))


@pytest.mark.parametrize("name", NOT)
def test_an_equality_does_not_follow(name):
    says, others = NOT[name]
    assert not follows(says, "unstated", told(others))
