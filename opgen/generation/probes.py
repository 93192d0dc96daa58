"""Probes: small computations whose results show whether kernels, recipes and arithmetic still give
the bits that their versions stand for.

They need no spec and no plan, and take about a second for everything that there is. Where two
machines have the same digests of the probes of a suite, both make the same data for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from itertools import chain, product
from typing import NamedTuple, TypeAlias

import numpy as np

from opgen import golden
from opgen.generation import probe_calls
from opgen.generation.kernels import Parts, whole
from opgen.generation.versions import ARITHMETIC, versions
from opgen.numerics.arrays import Array
from opgen.numerics.bounds import Limits, Sums, bound, certain_overflows
from opgen.numerics.exact import golden_exact, magnitude_exact
from opgen.numerics.fill import draw, keys
from opgen.numerics.formats import DTYPES, FLOATING, FORMATS
from opgen.numerics.input_tensor import InputTensor, Role
from opgen.numerics.recipes import quantum
from opgen.numerics.rounding import in_compute, is_tie, rounded, stored, ulp
from opgen.numerics.rounding_model import RoundingModel
from opgen.numerics.splitmix import hashed

Results: TypeAlias = Iterable[object]
"""Arrays and numbers, in a fixed order."""
SLOTS = [
    ("FLOAT16", "FLOAT16", 9, 2, None),
    ("BFLOAT16", "BFLOAT16", 4096, 2, (0.25, 3.0)),
    ("FLOAT", "FLOAT", 1, 2, None),
    ("FLOAT", "FLOAT", 4096, 4, (-2.0, 5.0)),
    ("FLOAT", "HFLOAT32", 100, 2, None),
    ("FLOAT", "FLOAT16", 100, 3, (-1.0, -0.01)),
    ("DOUBLE", "DOUBLE", 100, 2, None),
    ("COMPLEX64", "FLOAT", 3, 1, None),
]
"""Dtype, compute dtype, depth, factors and range of the tensors that recipes fill."""
ROLES: tuple[Role, ...] = ("gradient", "operand", "centre", "scale")


class Fingerprint(NamedTuple):
    """A computation, and the versions of all that its results depend on."""

    name: str
    versions: Mapping[str, int]
    results: Callable[[], Results]

    @property
    def digest(self) -> str:
        """Of the results: all zeros, and all NaN, are one."""
        digest = blake2b(digest_size=8)
        with np.errstate(all="ignore"):
            for result in self.results():
                array = np.asarray(result)
                digest.update(f"{array.dtype} {array.shape}".encode())
                if array.dtype.kind in "fc":
                    array = array + array.dtype.type(0)
                    parts = np.ascontiguousarray(array).reshape(-1).view(array.real.dtype)
                    array = np.where(np.isnan(parts), parts.dtype.type(np.nan), parts)
                digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def digests(operators: Collection[str], recipes: Collection[str]) -> dict[str, str]:
    """The digest of every probe that data of these operators' specs and of these recipes need, by
    its name.
    """
    return {probe.name: probe.digest for probe in probes(operators, recipes)}


def probes(operators: Collection[str], recipes: Collection[str]) -> Iterator[Fingerprint]:
    """Probes of each kernel, of each recipe, of the arithmetic, and of calls that are computed as a
    suite's are.
    """
    for op in operators:
        known = {f"kernel {op}": Parts.of(op).version}
        yield Fingerprint(f"kernel {op}", known, partial(_kernel, op))
    for name in recipes:
        known = versions((), [name])
        known = {what: known[what] for what in (f"recipe {name}", "streams", "rounding")}
        yield Fingerprint(f"recipe {name}", known, partial(_recipe, name))
    yield Fingerprint("indices", {"streams": ARITHMETIC["streams"]}, _indices)
    for name, results in ARITHMETIC_RESULTS.items():
        known = {what: ARITHMETIC[what] for what in dict.fromkeys(("rounding", name))}
        yield Fingerprint(name, known, results)
    for op, recipe in product(sorted(probe_calls.CALLS.keys() & {*operators}), recipes):
        known = versions([op], [recipe])
        yield Fingerprint(f"call {op} {recipe}", known, partial(probe_calls.computed, op, recipe))


def values(shape: tuple[int, ...], name: str) -> Array:
    """Multiples of 1/16 below 8, so that all sums are exact."""
    start = int.from_bytes(name.encode()[:8].ljust(8), "little")
    counters = np.arange(np.prod(shape, dtype=int), dtype=np.uint64) + np.uint64(start)
    return ((hashed(counters) >> np.uint64(56)).astype(np.float64) / 16 - 7.96875).reshape(shape)


def _kernel(op: str) -> Results:
    """All that a kernel says of its probes."""
    return chain.from_iterable(_answers(op, probe) for probe in whole(op).PROBES)


def _answers(op: str, probe: golden.ProbeCall) -> Results:
    """All that a kernel says of two cases: of finite ones, then of some with Inf and NaN."""
    kernel, parts = whole(op), Parts.of(op)
    tensors: dict[str, Array | None] = {}
    for name, shape in probe.shapes.items():
        tensors[name] = None if shape is None else values((2, *shape), name)
        if shape is not None and probe.complex:
            tensors[name] = values((2, *shape), name) + 1j * values((2, *shape), f"i{name}")
    shapes = {name: shape for name, shape in probe.shapes.items() if shape is not None}
    yield from (kernel.depth(probe.names, shapes, out) for out in probe.wanted)
    if parts.gain:
        yield parts.gain(tensors, probe.names)
    if parts.scale:
        yield parts.scale(probe.names)
    if parts.thresholds:
        yield parts.thresholds(probe.names)
    if parts.places:
        for foreign in (False, True):
            yield parts.places(probe.names, shapes, probe.wanted, foreign)
    arguments = tensors, probe.names, probe.wanted
    answers = [kernel.golden(*arguments), kernel.magnitude(*arguments)]
    answers += parts.both(*arguments) if parts.both else ()
    gradient = next(array for array in tensors.values() if array is not None)
    for value in (np.inf, np.nan):
        gradient.reshape(-1)[0] = value
        answers.append(kernel.golden(*arguments))
    yield from (answer[out] for answer in answers for out in probe.wanted)


def _recipe(name: str) -> Results:
    """Data of all roles."""
    known = keys(0, ["first", "second"])
    for role, (dtype, compute, depth, factors, limits) in product(ROLES, SLOTS):
        tensor = InputTensor("probe", (2, 3, 4, 5), dtype, compute, depth, role, factors, limits)
        yield draw(name, known, tensor)
        yield str(quantum(name, tensor))


def _indices() -> Results:
    """Whole numbers of every dtype, and between narrower limits."""
    known = keys(0, ["first", "second"])
    for dtype in sorted(DTYPES.keys() - FLOATING.keys()):
        for limits in (None, (0.0, 1.0), (-1.0, 40.0)):
            tensor = InputTensor("probe", (2, 30), dtype, "FLOAT", role="index", range=limits)
            yield stored(draw("grid", known, tensor), dtype)


def _rounding() -> Results:
    """Numbers around all limits and halfway between neighbours, rounded to everything."""
    digits = np.array([0, 7, 8, 9, 10, 11, 12, 13, 23, 24, 25, 40, 52])
    above = np.concatenate([[0.0], 2.0**-digits, 3 * 2.0**-digits, 2.0**-digits + 2.0**-45])
    exponents = np.array([*range(-152, -124), *range(-27, -12), -1, 0, 1, *range(14, 18), 127, 128])
    values = np.ldexp(1 + above[:, None], exponents).reshape(-1)
    values = np.concatenate([values, -values, [0.0, np.inf, -np.inf, np.nan, 5e-324]])
    for name in FORMATS:
        yield rounded(values, name)
        if name != "HFLOAT32":
            yield ulp(values, name)
    for mantissa in (10, 11):
        yield rounded(values, "HFLOAT32", mantissa)
        yield is_tie(values, mantissa)
    for dtype, compute in product(FLOATING, FORMATS):
        kept = stored(values, dtype)
        yield kept.view(np.uint8)
        yield in_compute(kept.astype(DTYPES[dtype].wide), dtype, compute)


def _wide(number: int, name: str) -> Array:
    """Numbers of full length at 32 exponents: two cases."""
    fractions = values((2, number), name) + values((2, number), f"{name}-low") * 2.0**-40
    return np.ldexp(fractions, (values((2, number), f"{name}-exponent") * 2).astype(np.int32))


def _exact() -> Results:
    """Sums of products that no order of additions may change."""

    def product_of(
        tensors: Mapping[str, Array | None], names: Mapping[str, int], wanted: Collection[str]
    ) -> dict[str, Array]:
        x, y = tensors["x"], tensors["y"]
        assert x is not None and y is not None
        return {"sum": (x * y).reshape(2, 8, -1).sum(axis=1)}

    for count in (8, 256):
        tensors = {"x": _wide(count, "x"), "y": _wide(count, "y")}
        for function in (golden_exact, magnitude_exact):
            yield function(product_of, tensors, {}, ["sum"], 8, {"sum": "y"}, "x")["sum"]


def _bounds() -> Results:
    """Bounds of sums of all sizes, with and without what may widen or close them."""
    golden_, share = _wide(64, "golden"), np.abs(_wide(64, "share")) * 2.0**-20
    golden_[0, :3] = np.inf, np.nan, 70000
    magnitude = np.abs(golden_) * 3 + 1
    for output, through, depth in product(FLOATING, (None, "FLOAT16", "BFLOAT16"), (1, 1000)):
        some = golden_ + 1j * golden_ if DTYPES[output].complex else golden_
        size = magnitude * (1 + 1j) if DTYPES[output].complex else magnitude
        for step, moved, gain in ((None, None, 1.0), (2.0**-10, None, 4.0), (None, share, 1.0)):
            yield bound(
                some, size, depth, output, through=through, quantum=step, share=moved, gain=gain
            )
        if output == "FLOAT16":
            limits = Limits.of([some.size], [depth], [None], [1.0])
            yield certain_overflows(
                RoundingModel.of(output, None, through), Sums([some], [size]), limits
            )


def _streams() -> Results:
    """The keys of cases and of their tensors, by the data of one case beside another."""
    yield keys(7, ["first", "second"])
    for recipe in ("normal", "one_hot"):
        for ids in (["first"], ["second", "first"]):
            yield draw(recipe, keys(7, ids), InputTensor("other", (3, 50), "FLOAT", "FLOAT"))


ARITHMETIC_RESULTS: Mapping[str, Callable[[], Results]] = {
    "streams": _streams,
    "rounding": _rounding,
    "exact": _exact,
    "bounds": _bounds,
}
"""The probes of what all data have in common; ``computing`` shows in calls."""
