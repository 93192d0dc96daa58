"""Every published criterion passes a right array and fails a wrong one; the vectorised measures
equal naive ones.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from math import inf, isfinite, isnan, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opgen
from opgen.comparison import metrics, standards
from opgen.comparison.criteria import against, criteria
from opgen.comparison.metrics import MetricTable, measure
from opgen.comparison.standards import precision, row
from opgen.numerics.formats import FORMATS
from opgen.numerics.rounding import rounded, ulp
from tests.numerics.naive_bound import binade

PRECISIONS = ("FLOAT16", "BFLOAT16", "HFLOAT32", "FLOAT")
OUTPUT = {"HFLOAT32": "FLOAT"}
OLDER = {"single_old", "single_old_performance"}
"""The criteria that do not look at elements whose golden is Inf or NaN."""


def tabled(device, golden, kind: str = "FLOAT", bound=None) -> MetricTable:
    device, golden = (np.atleast_1d(np.asarray(one, dtype=np.float64)) for one in (device, golden))
    limit = (
        np.full(golden.shape, 1e-3)
        if bound is None
        else np.broadcast_to(np.asarray(bound, dtype=np.float64), golden.shape)
    )
    table = MetricTable(1)
    with np.errstate(all="ignore"):
        columns = measure(device, golden, limit, kind, OUTPUT.get(kind, kind))
        table.add(np.array([0]), np.array([0]), np.array([0]), columns, "FLOAT")
    return table


def meets(device, golden, kind: str = "FLOAT", bound=None) -> dict[str, bool]:
    return {
        name: bool(values[0])
        for name, values in criteria(tabled(device, golden, kind, bound), np.array([kind])).items()
    }


def golden_of(kind: str, size: int = 500) -> np.ndarray:
    return rounded(np.random.default_rng(3).uniform(0.5, 4.0, size), OUTPUT.get(kind, kind))


def test_numbers_of_the_vendor():
    assert standards.MIXED["FLOAT"] == standards.Mixed(2.0**-10, 2.0**-16, 1e-2, 32, 0.99)
    assert [standards.RELATIVE[kind].mean for kind in PRECISIONS] == [
        2.0**-10,
        2.0**-7,
        2.0**-11,
        2.0**-13,
    ]
    assert standards.LEVELS["L1"] == standards.DoubleBenchmark(5.0, 1.5, 1.5)


@pytest.mark.parametrize(
    ("output", "compute", "expected"),
    [
        ("FLOAT", "FLOAT16", "FLOAT16"),
        ("FLOAT16", "FLOAT", "FLOAT16"),
        ("FLOAT", "HFLOAT32", "HFLOAT32"),
        ("COMPLEX64", "COMPLEX64", "FLOAT"),
        ("BFLOAT16", "FLOAT16", "BFLOAT16"),
        ("DOUBLE", "", "DOUBLE"),
        ("COMPLEX128", "COMPLEX128", "DOUBLE"),
    ],
)
def test_precision(output, compute, expected):
    assert precision(output, compute) == expected
    assert row(standards.MIXED, expected)


@pytest.mark.parametrize("kind", PRECISIONS)
def test_equal_bits_meet_everything(kind):
    golden = golden_of(kind)
    assert all(meets(golden, golden, kind, bound=0).values())


@pytest.mark.parametrize("kind", PRECISIONS)
@pytest.mark.parametrize(
    "name",
    [
        "bound",
        "mixed",
        "mere_mare",
        "single_old",
        "single_old_performance",
        "msprobe",
        "allclose",
        "ulp",
    ],
)
def test_a_wrong_array_fails_each(kind, name):
    golden = golden_of(kind)
    assert not meets(golden * 1.25, golden, kind)[name]


@pytest.mark.parametrize("kind", PRECISIONS)
def test_each_fails_just_beyond_its_threshold(kind):
    one, up, down = np.full(200, 1.0), 1 + 2**-6, 1 - 2**-6
    mixed, relative, single = (
        standards.MIXED[kind],
        standards.RELATIVE[kind],
        standards.SINGLE_OLD[kind],
    )
    probe, close = standards.PROBE[kind], standards.ALLCLOSE[kind]
    for name, edge in (
        ("mixed", mixed.atol + mixed.rtol),
        ("mere_mare", relative.mean * (1 + relative.epsilon)),
        ("single_old", min(single.error, single.balance)),
        ("single_old_performance", min(single.performance, single.balance)),
        ("msprobe", probe.rtol),
        ("allclose", close.atol + close.rtol),
        ("ulp", standards.ULPS * float(ulp(np.array(1.0), OUTPUT.get(kind, kind)))),
        ("bound", 1e-3),
    ):
        assert meets(one + edge * down, one, kind)[name], name
        assert not meets(one + edge * up, one, kind)[name], name


@pytest.mark.parametrize("kind", PRECISIONS)
def test_what_is_at_a_threshold_exactly_still_meets_it(kind):
    golden, one = np.full(100, 1.0), np.zeros(100)
    atol, mixed = standards.ALLCLOSE[kind].atol, standards.MIXED[kind]
    assert (
        meets([atol], [0.0], kind)["allclose"]
        and not meets([np.nextafter(atol, 1)], [0.0], kind)["allclose"]
    )
    one[7] = mixed.limit  # of a golden of 0, and one of 100 may be as far off
    assert (
        meets(one, np.zeros(100), kind)["mixed"]
        and not meets(np.nextafter(one, 2), np.zeros(100), kind)["mixed"]
    )
    golden = golden * 2.0**20  # where 32 units are more than the limit
    one[7] = 32 * float(ulp(np.array(2.0**20), kind))
    assert one[7] > mixed.limit and meets(golden + one, golden, kind)["mixed"]
    assert not meets(golden + one + np.sign(one) * 2.0**-20, golden, kind)["mixed"]


def test_exactly_twice_the_errors_of_another_device():
    """Every level of the double benchmark has a 2: the maximum in L2, mean and root mean square in
    L0.
    """
    golden = np.ones(100)
    other, twice, more = golden + 2.0**-12, golden + 2.0**-11, golden + 2.0**-11 + 2.0**-30
    for device, levels in (
        (np.append(twice[:1], other[1:]), "L0 L1 L2"),
        (np.append(more[:1], other[1:]), "L0 L1"),
        (twice, "L0"),
        (more, ""),
    ):
        found = against(tabled(device, golden), tabled(other, golden))
        assert (
            " ".join(name.removeprefix("double_") for name, ok in found.items() if ok[0]) == levels
        )
    for many, levels in (
        (6, "L0 L1 L2"),
        (7, ""),
    ):  # errors among small values, of which the other has three
        device, small = np.zeros(100), np.zeros(100)
        device[:many], small[:3], small[3:6] = 2.0**-20, 2.0**-20, 2.0**-30
        found = against(
            tabled(np.append(device, 2.0), np.append(np.zeros(100), 1.0)),
            tabled(np.append(small, 2.0), np.append(np.zeros(100), 1.0)),
        )
        assert (
            " ".join(name.removeprefix("double_") for name, ok in found.items() if ok[0]) == levels
        )


def test_mixed_tolerance_forgives_one_in_a_hundred_but_not_a_large_error():
    golden = np.ones(1000)
    some = golden.copy()
    some[:9] += 5e-3
    assert meets(some, golden)["mixed"]
    some[:11] += 5e-3
    assert not meets(some, golden)["mixed"]
    one = golden.copy()
    one[0] += 0.02
    assert not meets(one, golden)["mixed"]


def test_mixed_tolerance_leaves_out_what_is_not_finite():
    golden = np.ones(50)
    device = golden.copy()
    device[0] += 5e-3
    assert not meets(device, golden)["mixed"]
    infinite = np.full(100, np.inf)
    assert not meets(np.append(device, infinite), np.append(golden, infinite))["mixed"]


def test_units_of_mixed_tolerance_are_those_of_its_precision():
    """1000 in HFLOAT32 has units of 1 / 4, 32 of which are 8; written as FLOAT they would be
    2^-9.
    """
    golden = np.full(200, 1000.0)
    assert meets(golden + 0.2, golden, "HFLOAT32")["mixed"]
    one = golden.copy()
    one[0] += 7.9
    assert meets(one, golden, "HFLOAT32")["mixed"]
    one[0] += 0.2
    assert not meets(one, golden, "HFLOAT32")["mixed"]


def test_mean_relative_error_fails_by_one_large_error():
    golden = np.ones(10_000)
    device = golden.copy()
    device[7] += 11 * 2.0**-13
    assert not meets(device, golden)["mere_mare"]
    device[7] = 1 + 9 * 2.0**-13
    assert meets(device, golden)["mere_mare"]


@pytest.mark.parametrize("kind", PRECISIONS)
def test_a_relative_error_at_its_limit_fails(kind):
    """The mean and the largest must be below, where others may be at their limits."""
    relative = standards.RELATIVE[kind]
    golden = np.full(100, 1 - relative.epsilon)  # the denominator is 1
    assert (golden + relative.epsilon == 1).all()
    assert not meets(golden - relative.mean, golden, kind)["mere_mare"]  # without a rounding
    assert meets(golden - relative.mean * (1 - 2.0**-20), golden, kind)["mere_mare"]
    one = golden.copy()
    one[0] -= relative.mean * relative.ratio
    assert not meets(one, golden, kind)["mere_mare"]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", PRECISIONS)
def test_nonfinite_values_by_position_and_sign(value, kind):
    golden = golden_of(kind)
    golden[3] = value
    assert all(meets(golden, golden, kind, bound=0).values())
    other = golden.copy()
    other[3] = -np.inf if value == np.inf else np.inf
    assert {name for name, met in meets(other, golden, kind, bound=0).items() if met} == OLDER
    moved = golden.copy()
    moved[[3, 4]] = golden[[4, 3]]
    assert not any(meets(moved, golden, kind, bound=0).values())
    finite = golden.copy()
    finite[3] = 1.0
    assert {name for name, met in meets(finite, golden, kind, bound=1e-3).items() if met} == OLDER


def test_bounds_of_zero_and_infinity():
    assert meets([0.0, 1.0], [-0.0, 1.0], bound=0)["bound"]
    assert not meets([0.0, np.nextafter(1, 2)], [0.0, 1.0], bound=0)["bound"]
    assert meets([np.nan, np.inf, 5.0], [1.0, 1.0, 1.0], bound=np.inf)["bound"]
    free = tabled([np.nan, 1e30], [1.0, np.nan], bound=np.inf)
    assert free["unbounded"][0] == 2 and all(
        met.all() for met in criteria(free, np.array(["FLOAT"])).values()
    )


def test_worst_element_and_ratio():
    table = tabled([1.0, 2.5, 3.0, 3.95], [1.0, 2.0, 3.0, 4.0], bound=[0.1, 0.1, 0.1, 0.1])
    assert table.worst[0] == 1
    assert table["ratio"][0] == pytest.approx(5)
    assert table["beyond"][0] == 1


def test_double_benchmark_by_levels():
    golden = golden_of("FLOAT", 4000)
    error = np.random.default_rng(0).normal(0, 1e-6, golden.size)
    other = tabled(golden + error, golden)
    expected = {1.0: "L0 L1 L2", 1.15: "L0 L1 L2", 1.4: "L0 L1", 1.9: "L0", 2.1: ""}
    for factor, levels in expected.items():
        found = against(tabled(golden + factor * error, golden), other)
        assert (
            " ".join(name.removeprefix("double_") for name, ok in found.items() if ok[0]) == levels
        )
    assert all(ok[0] for ok in against(tabled(golden, golden), tabled(golden, golden)).values())
    broken = golden.copy()
    broken[0] = np.nan
    assert not any(ok[0] for ok in against(tabled(broken, golden), other).values())
    assert all(ok[0] for ok in against(tabled(broken, golden), tabled(broken, golden)).values())
    for error, alike in (
        (2.0**-130, True),
        (2.0**-126, True),
        (2.0**-120, False),
    ):  # no float32 tells the first two from 2^-140
        assert {bool(ok[0]) for ok in against(tabled(error, 0), tabled(2.0**-140, 0)).values()} == {
            alike
        }


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
    st.integers(0, 2**32),
    st.sampled_from(PRECISIONS),
)
def test_segments_equal_naive_loops(lengths, seed, kind):
    """Many outputs at once give what each gives alone."""
    source = np.random.default_rng(seed)
    whole = MetricTable(len(lengths))
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    golden = source.normal(0, 2, sum(lengths))
    device = golden + source.normal(0, 1e-3, golden.size) * (source.random(golden.size) < 0.5)
    bound = np.full(golden.size, 1e-3)
    part = OUTPUT.get(kind, kind)
    whole.add(
        np.arange(len(lengths)),
        starts,
        np.zeros(len(lengths), int),
        measure(device, golden, bound, kind, part),
        "FLOAT",
    )
    for i, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        mine, reference = device[start : start + length], golden[start : start + length]
        error = np.abs(mine - reference)
        assert whole["ratio"][i] == pytest.approx((error / 1e-3).max())
        assert whole["error"][i] == error.max() and whole["elements"][i] == length
        assert whole["relative"][i] == (error / (np.abs(reference) + 1e-7)).max()
        assert whole.mean("relative_sum")[i] == pytest.approx(
            (error / (np.abs(reference) + 1e-7)).mean()
        )
        assert np.sqrt(whole.mean("squares")[i]) == pytest.approx(np.sqrt((error**2).mean()))
        assert whole["ulps"][i] == (error / ulp(reference, part)).max()
        if error.max() > 0:
            assert error[whole.worst[i]] == error.max()
    assert sum(whole.bins["FLOAT"]) == golden.size


def test_pieces_of_a_large_output_are_one_output():
    golden, device = np.ones(10), np.ones(10)
    device[7] = 2
    table = MetricTable(1)
    for start, end in ((0, 4), (4, 8), (8, 10)):
        columns = measure(
            device[start:end], golden[start:end], np.full(end - start, 0.5), "FLOAT", "FLOAT"
        )
        table.add(np.array([0]), np.array([0]), np.array([start]), columns, "FLOAT")
    assert table.worst[0] == 7
    assert table["elements"][0] == 10
    assert table["beyond"][0] == 1


@cache
def published() -> dict[str, dict[str, list[Fraction]]]:
    """Precision -> first word of a row -> its numbers, from the table of thresholds in
    STANDARDS.md.
    """
    lines = (Path(opgen.__file__).parent / "report" / "STANDARDS.md").read_text().splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("| thresholds | FLOAT16"))
    kinds = [cell.strip() for cell in lines[head].split("|")[2:-1]]
    found: dict[str, dict[str, list[Fraction]]] = {kind: {} for kind in kinds}
    for line in lines[head + 2 : head + 8]:
        name, *cells = (cell.strip() for cell in line.strip("| ").split(" | "))
        for kind, cell in zip(kinds, cells, strict=True):
            numbers = (
                cells[kinds.index(cell.removeprefix("as "))] if cell.startswith("as ") else cell
            )
            found[kind][name.split()[0].strip("`")] = [
                Fraction(2) ** int(one[2:]) if one.startswith("2^") else Fraction(float(one))
                for one in numbers.split(", ")
            ]
    return found


EPSILON = Fraction(1e-7)
power = cache(binade)
LEVELS = {"double_L0": (10.0, 2.0, 2.0), "double_L1": (5.0, 1.5, 1.5), "double_L2": (2.0, 1.2, 1.2)}


class Naive:
    """What STANDARDS.md says of one output, in rational numbers; elements that are alike are
    counted.
    """

    def __init__(
        self, device: list[float], golden: list[float], bound: list[float], kind: str
    ) -> None:
        table, form = published()[kind], (FORMATS[kind], FORMATS[OUTPUT.get(kind, kind)])
        self.finite = sum(map(isfinite, golden))
        self.foreign = foreign_of_finite = beyond = 0
        pairs: list[
            tuple[Fraction, Fraction, int]
        ] = []  # signed error and |g| of what is finite on both sides, and how often
        for (a, g, limit), n in Counter(zip(device, golden, bound, strict=True)).items():
            if isfinite(a) and isfinite(g):
                pairs.append((Fraction(a) - Fraction(g), abs(Fraction(g)), n))
                beyond += limit != inf and abs(pairs[-1][0]) > Fraction(limit)
            elif a != g and not (isnan(a) and isnan(g)) and limit != inf:
                self.foreign += n
                foreign_of_finite += isfinite(g)
        sizes = [(abs(e), g) for e, g, _ in pairs]
        many = [n for *_, n in pairs]
        units = [
            [32 * power(g, one.low) * Fraction(2) ** (1 - one.digits) for _, g in sizes]
            for one in form
        ]
        rtol, atol, limit = table["mixed"]
        self.unlike = sum(n for (e, g), n in zip(sizes, many, strict=True) if e > atol + rtol * g)
        relative = [e / (g + EPSILON) for e, g in sizes]
        self.mere, self.mare = (
            self.mean(relative, many, self.finite),
            max(relative, default=Fraction(0)),
        )
        (mean,), (error, performance, balance) = table["mere_mare"], table["single_old"]
        single = max((e / max(g, Fraction(1)) for e, g in sizes), default=Fraction(0))
        signed = abs(self.mean([e / max(g, Fraction(1)) for e, g, _ in pairs], many, self.finite))
        small, absolute, relatively = table["msprobe"]
        close = table["allclose"]
        sound, kept = not self.foreign, not foreign_of_finite
        self.meets = {
            "bound": sound and not beyond,
            "mixed": (
                sound
                and 100 * self.unlike <= self.finite
                and all(e <= max(limit, most) for (e, _), most in zip(sizes, units[0], strict=True))
            ),
            "mere_mare": sound and self.mere < mean and self.mare < 10 * mean,
            "single_old": kept and single <= error and signed <= balance,
            "single_old_performance": kept and single <= performance and signed <= balance,
            "msprobe": (
                sound and all(e <= (absolute if g < small else relatively * g) for e, g in sizes)
            ),
            "allclose": sound and all(e <= close[1] + close[0] * g for e, g in sizes),
            "ulp": sound and all(e <= most for (e, _), most in zip(sizes, units[1], strict=True)),
        }
        value, counts = table["double"]
        self.small_errors = sum(
            n for (e, g), n in zip(sizes, many, strict=True) if g < value and e > counts
        )
        normal = [
            (one, n) for one, (_, g), n in zip(relative, sizes, many, strict=True) if g >= value
        ]
        of_normal = sum(isfinite(g) and abs(g) >= value for g in golden)
        self.errors = [
            float(max((one for one, _ in normal), default=0)),
            float(self.mean([e for e, _ in normal], [n for _, n in normal], of_normal)),
            sqrt(self.mean([e * e for e, _ in sizes], many, self.finite)),
        ]

    @staticmethod
    def mean(some: list[Fraction], many: list[int], among: int) -> Fraction:
        return sum((one * n for one, n in zip(some, many, strict=True)), Fraction(0)) / max(
            among, 1
        )

    def against(self, other: Naive) -> dict[str, bool]:
        sound = not self.foreign or bool(other.foreign)
        times = [
            mine / its if its else 1.0 if not mine else inf
            for mine, its in zip(self.errors, other.errors, strict=True)
        ]
        alike = self.small_errors <= 2 * max(other.small_errors, 1)
        return {
            name: sound and alike and all(a <= b for a, b in zip(times, most, strict=True))
            for name, most in LEVELS.items()
        }


def drawn(
    kind: str, source: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Golden, error, which elements both devices have alike, and bound: sizes and errors of all
    kinds, also at a threshold exactly.
    """
    size = int(source.choice([1, 2, 3, 100, 200]))
    table = published()[kind]
    edges = [
        float(one)
        for name in ("mixed", "mere_mare", "single_old", "msprobe", "double")
        for one in table[name]
    ]
    goldens = [0.0, 1.0, -2.0, 1000.0, *edges]
    golden = source.choice(source.choice(goldens, 2), size) * source.choice([1, -1, 0.5, 2], size)
    edge = source.choice([*edges, 32 * float(ulp(np.array(1.0), kind))])
    error = np.where(
        source.random(size) < source.choice([0.01, 0.5, 1]), edge, 0.0
    ) * source.choice([0.5, 1, 1, 2, -1, 33])
    error = error * np.where(
        source.random() < 0.5, np.maximum(np.abs(golden), source.choice([0, 1.0])), 1.0
    )
    alike = source.random(size) < source.choice([0, 0.5])
    bound = (
        source.choice([0.0, edge, 1.0, np.inf], size)
        if source.random() < 0.5
        else np.full(size, edge)
    )
    if source.random() < 0.4:
        odd = source.random(size) < 0.1
        golden = np.where(odd, source.choice([np.nan, np.inf, -np.inf, 1.0], size), golden)
    return golden, error, alike, bound


@pytest.mark.parametrize("kind", PRECISIONS)
def test_every_threshold_is_the_one_that_is_published(kind):
    mixed, single, probe = standards.MIXED[kind], standards.SINGLE_OLD[kind], standards.PROBE[kind]
    close, small, relative = (
        standards.ALLCLOSE[kind],
        standards.SMALL[kind],
        standards.RELATIVE[kind],
    )
    assert published()[kind] == {
        "mixed": [mixed.rtol, mixed.atol, mixed.limit],
        "mere_mare": [relative.mean],
        "single_old": [single.error, single.performance, single.balance],
        "msprobe": [probe.small, probe.small_error, probe.rtol],
        "allclose": [close.rtol, close.atol],
        "double": [small.value, small.error],
    }
    assert (mixed.ulps, mixed.share, relative.ratio, relative.epsilon, standards.ULPS) == (
        32,
        0.99,
        10,
        1e-7,
        32,
    )
    assert {
        f"double_{name}": (one.maximum, one.mean, one.rmse)
        for name, one in standards.LEVELS.items()
    } == LEVELS
    assert {one.small for one in standards.LEVELS.values()} == {2}


@pytest.mark.parametrize("kind", PRECISIONS)
def test_every_criterion_is_what_its_page_says(kind):
    source = np.random.default_rng(11)
    seen: dict[str, set[bool]] = {}
    for _ in range(300):
        golden, error, alike, bound = drawn(kind, source)
        with np.errstate(invalid="ignore"):
            device = golden + error
            other = golden + np.where(
                alike, error, error * source.choice([0.0, 0.5, 0.7, 0.9, 1.0, 0.1])
            )
        if source.random() < 0.3:
            device[source.integers(len(device))] = source.choice([np.nan, np.inf, -np.inf])
            other = np.where(source.random() < 0.5, device, other)
        for one in (device, other):
            for i in np.flatnonzero(np.isfinite(one) & np.isfinite(golden)).tolist():
                if Fraction(one[i]) - Fraction(golden[i]) != Fraction(one[i] - golden[i]):
                    one[i] = golden[i]  # a float64 does not tell this error exactly
        mine, its = (
            Naive(one.tolist(), golden.tolist(), bound.tolist(), kind) for one in (device, other)
        )
        tables = [tabled(one, golden, kind, bound) for one in (device, other)]
        met = criteria(tables[0], np.array([kind]))
        found = {name: bool(values[0]) for name, values in (met | against(*tables)).items()}
        assert found == mine.meets | mine.against(its), (device, other, golden, bound)
        for name, value in found.items():
            seen.setdefault(name, set()).add(value)
        said = metrics.plain(tables[0], met, {"differs": np.array([3])}, np.array([0]))[0]
        assert (said["elements"], said["nonfinite"], said["differs"]) == (
            len(golden),
            mine.foreign,
            3,
        )
        assert said["matched"] == pytest.approx(1 - mine.unlike / max(mine.finite, 1), rel=1e-12)
        assert (said["mere"], said["mare"], said["rmse"]) == pytest.approx(
            (float(mine.mere), float(mine.mare), mine.errors[2]), rel=1e-12
        )
    assert set(seen) == {*standards.CRITERIA} and all(len(values) == 2 for values in seen.values())


def test_the_distribution_counts_by_powers_of_two():
    """No error; then what is below 2^-23, a bin for each power of two up to 2^7, and last what is
    256 and more.
    """
    ratios = [
        0.0,
        0.0,
        2.0**-60,
        2.0**-24,
        2.0**-23,
        0.5,
        0.75,
        1.0,
        1.5,
        2.0,
        255.0,
        256.0,
        1e30,
        np.inf,
    ]
    expected = [2, 2, 1, *[0] * 21, 2, 2, 1, *[0] * 5, 1, 3]
    assert metrics.distribution(np.array(ratios)).tolist() == expected
    assert metrics.distribution(np.zeros(3)).tolist() == [3, *[0] * (len(expected) - 1)]
