"""Thresholds of the published standards for comparing a device with a reference, each table with
its source.

The bound that a bundle stores is the verdict of opgen; these are what other people judge by, and
stand beside it. ``STANDARDS.md`` in :mod:`opgen.report` says what each of them measures. Tables are
keyed by precision: the coarser of the output's dtype and the dtype that the inputs were rounded to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from opgen.numerics.formats import DTYPES, FORMATS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Mixed:
    """Passes where ``|a - g| <= atol + rtol |g|`` for ``share`` of the elements, and nowhere beyond
    ``limit``.

    The limit of an element is the larger of ``limit`` and ``ulps`` units in the last place of g;
    Inf and NaN are left out.
    """

    rtol: float
    atol: float
    limit: float
    ulps: int = 32
    share: float = 0.99


@dataclass(frozen=True, slots=True)
class Relative:
    """Passes where the mean of ``|a - g| / (|g| + epsilon)`` is below ``mean`` and its maximum
    below ``ratio * mean``.
    """

    mean: float
    ratio: float = 10.0
    epsilon: float = 1e-7


@dataclass(frozen=True, slots=True)
class DoubleBenchmark:
    """How many times worse than another device's the maximum, the mean and the root mean square may
    be.
    """

    maximum: float
    mean: float
    rmse: float
    small: float = 2.0


@dataclass(frozen=True, slots=True)
class SmallValues:
    """Below ``|g| = value`` no relative error is taken; there an error counts that exceeds
    ``error``.
    """

    value: float
    error: float


@dataclass(frozen=True, slots=True)
class SingleOld:
    """Errors are absolute below ``|g| = 1`` and relative above; the largest may be ``error``, their
    signed mean ``balance``.
    """

    error: float
    performance: float
    balance: float


@dataclass(frozen=True, slots=True)
class Probe:
    """Every element: ``|a - g| <= small_error`` where ``|g| < small``, else ``|a - g| <= rtol
    |g|``.
    """

    small: float
    small_error: float
    rtol: float


@dataclass(frozen=True, slots=True)
class Close:
    """Every element: ``|a - g| <= atol + rtol |g|``."""

    rtol: float
    atol: float


def _table(**rows: T) -> Mapping[str, T]:
    return MappingProxyType(rows)


# The vendor's mixed tolerance: opbase/docs/zh/ops_precision_standard/experimental_standard.md,
# lines 61 to 146. That its limit is the larger of a number and 32 ULP is said by the later
# mixed_tolerance_standard.md.
MIXED = _table(
    FLOAT16=Mixed(2.0**-9, 2.0**-9, 1e-1),
    BFLOAT16=Mixed(2.0**-6, 2.0**-6, 1.0),
    HFLOAT32=Mixed(2.0**-9, 2.0**-10, 1e-1),
    FLOAT=Mixed(2.0**-10, 2.0**-16, 1e-2),
    FLOAT8_E4M3FN=Mixed(2.0**-2, 2.0**-4, 1.0),
    FLOAT8_E5M2=Mixed(2.0**-1, 2.0**-3, 1e-1),
)

# MERE and MARE: opbase/docs/en/ops_precision_standard/experimental_standard.md. The same numbers
# stand in atk/configs/single_benchmark_config.py for the standards single_bm and default of ATK.
RELATIVE = _table(
    FLOAT16=Relative(2.0**-10),
    BFLOAT16=Relative(2.0**-7),
    HFLOAT32=Relative(2.0**-11),
    FLOAT=Relative(2.0**-13),
    FLOAT8_E4M3FN=Relative(2.0**-3),
    FLOAT8_E5M2=Relative(2.0**-2),
)

# Double benchmark: ops-precision-standard of the vendor's commercial operators; a device against
# another device.
LEVELS = _table(
    L0=DoubleBenchmark(10.0, 2.0, 2.0),
    L1=DoubleBenchmark(5.0, 1.5, 1.5),
    L2=DoubleBenchmark(2.0, 1.2, 1.2),
)
SMALL = _table(
    FLOAT16=SmallValues(2.0**-11, 2.0**-16),
    BFLOAT16=SmallValues(2.0**-8, 2.0**-16),
    HFLOAT32=SmallValues(2.0**-12, 2.0**-28),
    FLOAT=SmallValues(2.0**-14, 2.0**-30),
    FLOAT8_E4M3FN=SmallValues(2.0**-4, 2.0**-6),
    FLOAT8_E5M2=SmallValues(2.0**-3, 2.0**-5),
)

# The older single_bm of ATK, high_precision and high_performance; also msprobe's
# online_dispatch/single_compare.py. Neither names HFLOAT32: the numbers of FLOAT16 serve it here.
SINGLE_OLD = _table(
    FLOAT16=SingleOld(2.0**-11, 2.0**-7, 2.0**-10),
    BFLOAT16=SingleOld(2.0**-8, 2.0**-6, 2.0**-7),
    HFLOAT32=SingleOld(2.0**-11, 2.0**-7, 2.0**-10),
    FLOAT=SingleOld(2.0**-14, 2.0**-11, 2.0**-14),
)

# msprobe's StandardConfig; HFLOAT32 as above.
PROBE = _table(
    FLOAT16=Probe(2.0**-10, 2.0**-16, 2.0**-10),
    BFLOAT16=Probe(2.0**-10, 1e-16, 2.0**-8),
    HFLOAT32=Probe(2.0**-10, 2.0**-16, 2.0**-10),
    FLOAT=Probe(2.0**-20, 2.0**-30, 2.0**-20),
)

# The defaults of torch.testing.assert_close by dtype; HFLOAT32 has the tolerance of a FLOAT16
# relative error.
ALLCLOSE = _table(
    FLOAT16=Close(1e-3, 1e-5),
    BFLOAT16=Close(1.6e-2, 1e-5),
    HFLOAT32=Close(1e-3, 1e-5),
    FLOAT=Close(1.3e-6, 1e-5),
    DOUBLE=Close(1e-7, 1e-7),
)

ULPS = 32
"""Units in the last place that every element may be off; the number is that of the mixed
tolerance."""

CRITERIA = _table(
    bound="error at most the stored bound",
    mixed="mixed tolerance of the vendor",
    mere_mare="mean and maximum relative error (ATK single_bm, default)",
    single_old="older single_bm, high_precision",
    single_old_performance="older single_bm, high_performance",
    msprobe="msprobe StandardConfig",
    allclose="torch.testing.assert_close",
    ulp=f"at most {ULPS} ULP",
    double_L0="double benchmark, level L0",
    double_L1="double benchmark, level L1",
    double_L2="double benchmark, level L2",
)
"""Every criterion and what it is; the double benchmark needs a second device."""


def precision(output: str, compute: str = "") -> str:
    """The coarser of an output's dtype and the dtype that was computed in, as the name of a format.

    >>> precision("FLOAT", "HFLOAT32"), precision("COMPLEX64")
    ('HFLOAT32', 'FLOAT')
    """
    own = DTYPES[output].part.name
    other = DTYPES[compute].part.name if compute in DTYPES else compute
    return other if other in FORMATS and FORMATS[other].digits < FORMATS[own].digits else own


def row(table: Mapping[str, T], precision: str) -> T:
    """A table's row. No vendor's standard speaks of DOUBLE: it is held to the row of FLOAT where it
    has none.
    """
    return table[precision] if precision in table else table["FLOAT"]
