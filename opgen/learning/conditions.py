"""Conditions in the spec's own words: what may tell calls apart that break the same rule.

A condition is about one thing that a call says: its product, the dtype, format, rank or pointer of
a tensor, whether a tensor is empty, a number, a mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from opgen.calls.vocabulary import vocabulary
from opgen.learning.features import Feature

MOST_VALUES = 6
"""Values that a condition lists, at most."""
LISTED, EXCLUDED = 1.5, 2.0
"""Calls that each value of several needs which a condition lists, or keeps out."""
FAMILIES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "product": (("ascend910b", "ascend910_93"), ("ascend910b", "ascend910_93", "ascend950")),
    "format": (
        ("NC1HWC0", "NDC1HWC0", "FRACTAL_Z", "FRACTAL_Z_3D", "FRACTAL_NZ"),
        ("ND", "NCL", "NCHW", "NHWC", "NCDHW"),
    ),
    "dtype": (
        ("COMPLEX32", "COMPLEX64", "COMPLEX128"),
        ("HIFLOAT8", "FLOAT8_E5M2", "FLOAT8_E4M3FN"),
        ("UINT16", "UINT32", "UINT64"),
        ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL"),
    ),
}
"""Words that a library is likely to treat alike: formats of the device alone, and those in which
frameworks keep images; complex numbers, floating point of 8 bits, wide numbers without a sign, all
whole numbers."""


@dataclass(frozen=True)
class Condition:
    """A condition and the (rows,) where it holds; the simpler, the smaller its ``cost``. ``word``:
    it is about a word, a rank or a truth, and no limit of a number. ``strange``: it is about
    something of which the rule does not speak, so that it may hold by chance. ``inside`` and
    ``outside``: calls that it needs where it holds, and that it has to keep out.
    """

    text: str
    rows: np.ndarray
    cost: float
    word: bool = False
    strange: bool = False
    inside: float = 0
    outside: float = 0


def about_emptiness(when: str) -> bool:
    """Whether a condition is that one of some tensors is empty.

    >>> about_emptiness("min(x.numel, y.numel) == 0"), about_emptiness("x.numel == 1")
    (True, False)
    """
    return " and " not in when and when.endswith(" == 0") and ".numel" in when


def candidates(
    known: Sequence[Feature], wanted: np.ndarray, related: Set[str]
) -> Iterator[Condition]:
    """Conditions on some calls that hold for some of those that are ``wanted``, (rows,) bool. Those
    about ``related`` names are the simplest.
    """
    for feature in known:
        strange = not related >= set(feature.name.split())
        if feature.kind == "dtype" and "product" in related:
            strange = False  # which dtypes a library takes depends on the product
        if feature.kind == "empty":
            strange = False  # a library may return at once where nothing is to be computed
        if feature.term.endswith(".null") and not related:
            strange = False  # a pointer that a call lacks is the first thing to look at
        cost = feature.cost(related)
        distinct = np.unique(feature.values[feature.bound])
        if feature.kind in ("number", "count", "attribute"):
            distinct = distinct[np.isfinite(distinct)]  # conditions have no word for others
            drawn = feature.kind == "count" or (strange and bool(related))
            drawn &= feature.kind != "attribute"
            made = _limits(feature, distinct, wanted, cost, drawn)
        else:
            made = _memberships(feature, distinct, wanted, cost)
        for condition in made:
            yield replace(condition, strange=True) if strange else condition


def _memberships(
    feature: Feature, distinct: np.ndarray, wanted: np.ndarray, cost: float
) -> Iterator[Condition]:
    """The value is one of those that only wanted calls have, none of those of others, or this."""
    has = (feature.values == distinct[:, None]) & feature.bound
    inside, others = (has & wanted).any(axis=1), (has & ~wanted).any(axis=1)
    only, without = inside & ~others, others & ~inside
    among = int(only.sum()) <= int(others.sum())
    listed = [(only, among)] if only.any() and not only.all() else []
    kept = ~without
    listed += [(kept, False)] if without.any() and kept.sum() > 1 and (kept & others).any() else []
    for chosen, among in listed:
        values = distinct[chosen if among else ~chosen].tolist()
        if len(values) <= MOST_VALUES:
            some = len(values) if len(values) > 1 else 0
            yield Condition(
                feature.spelled(values, among),
                has[chosen].any(axis=0),
                cost + 0.25 * (len(values) - 1),
                word=True,
                inside=LISTED * some * among,
                outside=EXCLUDED * some * (not among),
            )
    for family in FAMILIES.get(feature.kind, ()):
        index = vocabulary().index[feature.kind]
        members = [index[word] for word in family]
        of_it = np.isin(distinct, members)
        if of_it.any() and not of_it.all():
            for among in (True, False):
                here = has[of_it == among].any(axis=0)
                yield Condition(feature.spelled(members, among), here, cost, word=True)
    yield from (
        Condition(feature.spelled([distinct[i].item()]), has[i], cost, word=True)
        for i in np.flatnonzero(inside).tolist()
        if feature.kind not in ("bool", "empty") or only.sum() != 1
    )


def _limits(
    feature: Feature, distinct: np.ndarray, wanted: np.ndarray, cost: float, drawn: bool
) -> Iterator[Condition]:
    """The number is 0, below 0, at most or at least one of those that calls have, where wanted
    calls end. Where other sizes than 0 and 1 are those that somebody drew, none of them is a limit.
    """
    values, bound = feature.values, feature.bound
    if (distinct == 0).any():
        yield Condition(f"{feature.term} == 0", bound & (values == 0), cost)
    if feature.kind == "count":
        yield Condition(f"{feature.term} == 1", bound & (values == 1), cost)
    if drawn:
        return
    if (distinct < 0).any():
        yield Condition(f"{feature.term} < 0", bound & (values < 0), cost)
    inside, others = (np.isin(distinct, values[bound & here]) for here in (wanted, ~wanted))
    ends = inside[:-1] & others[1:] | others[:-1] & inside[1:]
    for i in np.flatnonzero(ends).tolist():
        low, high = distinct[i].item(), distinct[i + 1].item()
        yield Condition(f"{feature.term} <= {low}", bound & (values <= low), cost + 0.5)
        yield Condition(f"{feature.term} >= {high}", bound & (values >= high), cost + 0.5)
