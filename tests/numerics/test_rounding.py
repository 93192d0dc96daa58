"""Roundings against exact rational arithmetic; ULP distances against counting."""

from __future__ import annotations

import doctest
import random
from fractions import Fraction
from math import inf, isinf, isnan, nextafter

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen.numerics import rounding
from opgen.numerics.formats import DTYPES, FLOATING, FORMATS, format_of
from opgen.numerics.rounding import in_compute, is_tie, kept_in, rounded, stored, ulp

HALVES = ["FLOAT16", "BFLOAT16"]


def nearest(value: float, name: str, digits: int | None = None) -> float:
    """The definition: the nearest multiple of the quantum, in rationals."""
    form = FORMATS[name]
    digits = digits or form.digits
    if isnan(value) or isinf(value) or value == 0:
        return value
    size = abs(Fraction(value))
    bits = size.numerator.bit_length() - size.denominator.bit_length()
    exponent = max(form.low, bits - 1)  # at most, and within two
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    quantum = Fraction(2) ** (exponent - digits + 1)
    steps, rest = divmod(size, quantum)
    if rest * 2 > quantum or (rest * 2 == quantum and (name == "HFLOAT32" or steps % 2)):
        steps += 1
    result = steps * quantum
    top = (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** form.high
    return (inf if result > top else float(result)) * (1 if value > 0 else -1)


def patterns(name: str) -> np.ndarray:
    """Every value of a 16-bit dtype, as float64."""
    with np.errstate(invalid="ignore"):
        return np.arange(65536, dtype=np.uint16).view(DTYPES[name].numpy).astype(np.float64)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal bits, all NaN alike."""
    return bool(np.all((a.view(np.int64) == b.view(np.int64)) | (np.isnan(a) & np.isnan(b))))


@pytest.mark.parametrize("name", HALVES)
def test_every_pattern_stays(name: str) -> None:
    values = patterns(name)
    assert same(rounded(values, name), values)
    back = stored(values, name)
    assert back.dtype == DTYPES[name].numpy
    assert same(back.astype(np.float64), values)


@pytest.mark.parametrize("name", HALVES)
def test_every_boundary(name: str) -> None:
    """Halfway between any two neighbours, and one float64 step to either side: exact, against the
    definition.
    """
    values = patterns(name)
    values = np.unique(np.abs(values[np.isfinite(values)]))
    upper = np.append(values[1:], values[-1] + ulp(values[-1:], name))
    middle = (values + upper) / 2
    even = stored(values, name).view(np.uint16) % 2 == 0
    topped = np.where(upper > FORMATS[name].max, np.inf, upper)
    for sign in (1, -1):
        assert same(rounded(sign * middle, name), sign * np.where(even, values, topped))
        assert same(rounded(sign * np.nextafter(middle, 0), name), sign * values)
        assert same(rounded(sign * np.nextafter(middle, np.inf), name), sign * topped)
    for value in np.random.default_rng(1).choice(
        middle, 200
    ):  # and the definition agrees with the table above
        for near in (value, nextafter(value, 0), nextafter(value, inf)):
            assert rounded(np.array([near]), name)[0] == nearest(float(near), name)


@given(st.floats(width=64), st.sampled_from(["FLOAT16", "BFLOAT16", "HFLOAT32", "FLOAT"]))
@settings(max_examples=400, deadline=None)
def test_any_float64(value: float, name: str) -> None:
    assert same(rounded(np.array([value]), name), np.array([nearest(value, name)]))


@pytest.mark.parametrize("name", ["FLOAT16", "BFLOAT16", "HFLOAT32", "FLOAT"])
def test_within_the_range(name: str) -> None:
    """Few random bits at every exponent, so that ties are common; subnormals and overflow are among
    them.
    """
    form, draw = FORMATS[name], random.Random(7)
    for _ in range(3000):
        digits = form.digits + draw.choice([-1, 0, 1, 2, 3, 40])
        value = draw.choice([1, -1]) * float(
            Fraction(draw.getrandbits(max(1, min(digits, 53))) + 1)
            * Fraction(2) ** (draw.randint(form.low - 15, form.high + 1) - min(digits, 53))
        )
        got = rounded(np.array([value]), name)
        assert same(got, np.array([nearest(value, name)])), (value, got)


def test_one_rounding_only() -> None:
    """Through float32 these become ties, and go the wrong way; the tests above must see that."""
    value = np.array([1 + 2.0**-8 + 2.0**-40])
    twice = value.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)
    assert twice[0] != nearest(float(value[0]), "BFLOAT16") == rounded(value, "BFLOAT16")[0]
    value = np.array([1 + 2.0**-11 + 2.0**-40])
    twice = value.astype(np.float32).astype(np.float16).astype(np.float64)
    assert twice[0] != nearest(float(value[0]), "FLOAT16") == rounded(value, "FLOAT16")[0]


@pytest.mark.parametrize("drop", [12, 13])
def test_hfloat32_is_the_integer_rule(drop: int) -> None:
    """On float32 patterns: shift, add one, shift, shift back: ties away from zero, by magnitude."""
    bits = np.random.default_rng(3).integers(0, 2**31, 100_000, dtype=np.int64)
    bits[:4096] = (bits[:4096] >> drop << drop) | (1 << (drop - 1))  # ties
    bits[4096:6000] &= 0x007FFFFF  # subnormals
    bits = np.concatenate([bits, bits | 1 << 31])
    values = bits.astype(np.uint32).view(np.float32)
    bits, values = bits[np.isfinite(values)], values[np.isfinite(values)].astype(np.float64)
    rule = ((((bits & 0x7FFFFFFF) >> (drop - 1)) + 1) >> 1) << drop | bits & 0x80000000
    wanted = rule.astype(np.uint32).view(np.float32).astype(np.float64)
    assert same(rounded(values, "HFLOAT32", mantissa=23 - drop), wanted)
    dropped = bits & (1 << drop) - 1
    assert (is_tie(values, mantissa=23 - drop) == (dropped == 1 << (drop - 1))).all()
    assert not same(
        rounded(values, "HFLOAT32", mantissa=drop - 2), wanted
    )  # a wrong number of bits is seen


def test_non_finite_and_zero() -> None:
    special = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0])
    for name in FORMATS:
        assert same(rounded(special, name), special), name
    assert np.signbit(rounded(np.array([-1e-300]), "BFLOAT16"))[0]
    assert rounded(np.array([65519.99, 65520.0, -65520.0]), "FLOAT16").tolist() == [
        65504.0,
        inf,
        -inf,
    ]
    top = FORMATS["BFLOAT16"].max
    edge = top + FORMATS["BFLOAT16"].half_ulp_at_max
    assert rounded(np.array([nextafter(edge, 0), edge]), "BFLOAT16").tolist() == [top, inf]


def test_scalars() -> None:
    for name in FORMATS:
        assert rounded(np.float64(1.5), name) == 1.5 == rounded(np.array(1.5), name)


def test_complex_by_parts() -> None:
    value = np.array([1 + 2.0**-30 + (2 + 2.0**-29) * 1j])
    assert rounded(value, "COMPLEX64").tolist() == [1 + 2j]
    assert stored(value, "COMPLEX64").dtype == np.complex64
    assert rounded(value, "COMPLEX128").tolist() == value.tolist()


@pytest.mark.parametrize("name", FLOATING)
def test_table(name: str) -> None:
    dtype = DTYPES[name]
    info = ml_dtypes.finfo(dtype.numpy)
    assert dtype.part.unit * 2 == float(info.eps)
    assert dtype.part.min_normal == float(info.smallest_normal)
    assert dtype.part.min_subnormal == float(info.smallest_subnormal)
    assert dtype.part.max == float(info.max)
    assert DTYPES[dtype.golden].part.digits > dtype.part.digits or dtype.part.digits == 53
    assert (
        format_of(dtype.name) is dtype.part
        and DTYPES[dtype.golden].complex == dtype.complex == DTYPES[dtype.bound].complex
    )
    assert (
        DTYPES[dtype.bound].part is FORMATS["FLOAT"]
        and format_of("HFLOAT32") is FORMATS["HFLOAT32"]
    )


@pytest.mark.parametrize("name", HALVES)
def test_ulp_is_the_gap_to_the_next_value(name: str) -> None:
    """Of every finite value that is not negative."""
    values = patterns(name)
    line = np.unique(values[~np.isnan(values)])
    finite = np.isfinite(line[1:]) & np.isfinite(line[:-1]) & (line[:-1] >= 0)
    assert (np.diff(line)[finite] == ulp(line[:-1][finite], name)).all()


@pytest.mark.parametrize("name", ["FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE"])
def test_ulp_of_what_is_not_finite(name: str) -> None:
    assert np.isnan(ulp(np.array([np.inf, np.nan]), name)).all()


def test_documentation() -> None:
    assert doctest.testmod(rounding).failed == 0


@pytest.mark.parametrize(
    ("storage", "to", "exact"),
    [
        ("FLOAT", "FLOAT", True),
        ("FLOAT16", "FLOAT", True),
        ("FLOAT16", "HFLOAT32", True),
        ("BFLOAT16", "HFLOAT32", True),
        ("FLOAT16", "FLOAT16", True),
        ("DOUBLE", "FLOAT", True),
        ("DOUBLE", "FLOAT16", True),
        ("COMPLEX64", "FLOAT16", True),
        ("FLOAT", "HFLOAT32", False),
        ("FLOAT", "FLOAT16", False),
        ("FLOAT", "BFLOAT16", False),
        ("FLOAT16", "BFLOAT16", False),
        ("BFLOAT16", "FLOAT16", False),
    ],
)
def test_what_is_computed_with(storage: str, to: str, exact: bool) -> None:
    """A dtype that holds all values changes none; a narrower one rounds once, but for DOUBLE and
    complex dtypes.
    """
    values = stored(np.array([1.0, 1 + 2.0**-10, 2.0**-24, 1e30, 3.14159265]), storage).astype(
        DTYPES[storage].wide
    )
    found = in_compute(values, storage, to)
    assert (found is values) == exact
    if exact and not np.iscomplexobj(values) and storage != "DOUBLE":
        assert np.array_equal(rounded(values, to), values)
    assert exact or (
        np.array_equal(found, rounded(values, to)) and not np.array_equal(found, values)
    )


@pytest.mark.parametrize("output", FLOATING)
@pytest.mark.parametrize("compute", FORMATS)
def test_results_are_stored_in_what_is_narrower_before_they_are_cast_to_another_dtype(
    compute: str, output: str
) -> None:
    double = output in ("DOUBLE", "COMPLEX128")
    narrower = (compute in HALVES and compute != output) or (compute == "FLOAT" and double)
    assert kept_in(compute, output) == (compute if narrower else None)


def test_complex_results_are_stored_in_the_dtype_of_their_parts() -> None:
    assert kept_in("COMPLEX64", "COMPLEX128") == "FLOAT"
    assert kept_in("COMPLEX128", "COMPLEX64") is None
