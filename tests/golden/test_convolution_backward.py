"""The convolution kernel against its definition, its adjoint and torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np
import pytest

from opgen.generation.resources import SCRATCH
from opgen.golden import _exactness, _filters, _products, _tiles, _winograd
from opgen.golden._convolution import (
    ConvolutionGeometry,
    Operands,
    by_groups,
    geometry_of_call,
)
from opgen.golden.convolution_backward import depth, golden, magnitude
from tests.golden import distance, grid, scratch, torch_or_skip
from tests.support.suites import SLOW

ALL = ("gradInput", "gradWeight", "gradBias")
Form: TypeAlias = Callable[[Operands, ConvolutionGeometry], None]
"""One way in which the kernel computes the first two."""


@dataclass(frozen=True)
class Geometry:
    """A convolution: ``image`` is the extent that windows slide over, ``out`` the number of
    windows.
    """

    transposed: int
    n: int
    groups: int
    wide: int
    narrow: int
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    extra: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def image(self) -> tuple[int, ...]:
        rows = zip(
            self.out,
            self.kernel,
            self.stride,
            self.dilation,
            self.before,
            self.after,
            self.extra,
            strict=True,
        )
        return tuple((o - 1) * s + d * (k - 1) + 1 - p - q + e for o, k, s, d, p, q, e in rows)

    @property
    def names(self) -> dict[str, int]:
        names = {"rank": len(self.kernel) + 2, "transposed": self.transposed, "groups": self.groups}
        ends = {
            "D": ("padFront", "padBack"),
            "H": ("padTop", "padBottom"),
            "W": ("padLeft", "padRight"),
        }
        for i, axis in enumerate("DHW"[-len(self.kernel) :]):
            names |= {
                f"s{axis}": self.stride[i],
                f"d{axis}": self.dilation[i],
                ends[axis][0]: self.before[i],
                ends[axis][1]: self.after[i],
            }
        return names

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        wide = (self.n, self.groups * self.wide, *self.image)
        narrow = (self.n, self.groups * self.narrow, *self.out)
        weight = (self.groups * self.narrow, self.wide, *self.kernel)
        upstream, source = (wide, narrow) if self.transposed else (narrow, wide)
        return {"gradOutput": upstream, "input": source, "weight": weight}

    def tensors(self, random: np.random.Generator, batch: int = 1) -> dict[str, np.ndarray]:
        return {name: grid(random, (batch, *shape)) for name, shape in self.shapes.items()}


def geometries(seed: int, count: int, largest: int = 4) -> Iterator[Geometry]:
    """Small convolutions of every kind; extents are chosen from the output, so that all of them are
    legal.
    """
    random = np.random.default_rng(seed)
    made = 0
    while made < count:
        rank = int(random.integers(1, 4))
        kernel = tuple(int(k) for k in random.integers(1, 5 if rank == 1 else 4, rank))
        stride = tuple(int(s) for s in random.integers(1, 4, rank))
        before = tuple(int(p) for p in random.integers(0, 3, rank))
        after = (
            tuple(int(p) for p in random.integers(0, 3, rank)) if random.random() < 0.4 else before
        )
        geometry = Geometry(
            transposed=int(random.integers(0, 2)),
            n=int(random.integers(1, 3)),
            groups=int(random.integers(1, 4)),
            wide=int(random.integers(1, 4)),
            narrow=int(random.integers(1, 4)),
            kernel=kernel,
            stride=stride,
            dilation=tuple(int(d) for d in random.integers(1, 3, rank)),
            before=before,
            after=after,
            extra=tuple(int(random.integers(0, s)) for s in stride),
            out=tuple(int(o) for o in random.integers(1, largest + (rank == 1) * 12, rank)),
        )
        if min(geometry.image) >= 1:
            made += 1
            yield geometry


def forward(g: Geometry, source: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The convolution of one call, by a product with every tap of the padded image."""
    x_shape, kernel, spatial = (
        g.shapes["input"],
        product(*map(range, g.kernel)),
        "xyz"[: len(g.kernel)],
    )
    padded = [
        max(p + i, (o - 1) * s + (k - 1) * d + 1)
        for p, i, o, s, k, d in zip(
            g.before, g.image, g.out, g.stride, g.kernel, g.dilation, strict=True
        )
    ]
    inside = (slice(None),) * 3 + tuple(
        slice(p, p + i) for p, i in zip(g.before, g.image, strict=True)
    )
    canvas = np.zeros((g.n, g.groups, g.wide, *padded))
    x = source.reshape(g.n, g.groups, -1, *x_shape[2:])
    w = weight.reshape(g.groups, g.narrow, g.wide, *g.kernel)
    if not g.transposed:
        canvas[inside] = x
    result = np.zeros((g.n, g.groups, g.narrow, *g.out))
    for tap in kernel:
        where = (slice(None),) * 3 + tuple(
            slice(r * d, r * d + (o - 1) * s + 1, s)
            for r, d, o, s in zip(tap, g.dilation, g.out, g.stride, strict=True)
        )
        if g.transposed:
            canvas[where] += np.einsum(f"ngc{spatial},gcw->ngw{spatial}", x, w[(..., *tap)])
        else:
            result += np.einsum(f"ngw{spatial},gcw->ngc{spatial}", canvas[where], w[(..., *tap)])
    shape = g.shapes["gradOutput"]
    return (canvas[inside] if g.transposed else result).reshape(shape)


def naive(g: Geometry, tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The definition, one product at a time; elements in the padding are not multiplied."""
    dy, x, w = (tensors[name] for name in ("gradOutput", "input", "weight"))
    gx, gw, gb = np.zeros_like(x), np.zeros_like(w), np.zeros(dy.shape[1])
    for index in np.ndindex(*dy.shape):
        gb[index[1]] += dy[index]
    for n, group, a, b in np.ndindex(g.n, g.groups, g.narrow, g.wide):
        cn, cw = group * g.narrow + a, group * g.wide + b
        for o, r in product(np.ndindex(*g.out), np.ndindex(*g.kernel)):
            i = tuple(
                oo * s + rr * d - p
                for oo, s, rr, d, p in zip(o, g.stride, r, g.dilation, g.before, strict=True)
            )
            if any(not 0 <= ii < extent for ii, extent in zip(i, g.image, strict=True)):
                continue
            at_x, at_y = ((n, cn, *o), (n, cw, *i)) if g.transposed else ((n, cw, *i), (n, cn, *o))
            gx[at_x] += w[(cn, b, *r)] * dy[at_y]
            gw[(cn, b, *r)] += x[at_x] * dy[at_y]
    return {"gradInput": gx, "gradWeight": gw, "gradBias": gb}


def one(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: array[0] for name, array in arrays.items()}


def worst(got: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> float:
    assert got.keys() == want.keys()
    return max(distance(got[name], want[name]) for name in want)


def test_adjoint_identity() -> None:
    random = np.random.default_rng(1)
    for g in geometries(1, 1100):
        t = {name: random.standard_normal((1, *shape)) for name, shape in g.shapes.items()}
        out = one(golden(t, g.names, ALL))
        dy, x, w = t["gradOutput"][0], t["input"][0], t["weight"][0]
        v, u = random.standard_normal(x.shape), random.standard_normal(w.shape)
        b = random.standard_normal(dy.shape[1])
        size = np.linalg.norm
        scale = size(dy) * (1 + size(x) + size(v)) * (size(w) + size(u))
        assert abs((out["gradInput"] * v).sum() - (dy * forward(g, v, w)).sum()) <= 1e-12 * scale, g
        assert (
            abs((out["gradWeight"] * u).sum() - (dy * forward(g, x, u)).sum()) <= 1e-12 * scale
        ), g
        everywhere = (dy * b.reshape(-1, *[1] * len(g.kernel))).sum()
        assert abs((out["gradBias"] * b).sum() - everywhere) <= 1e-12 * (1 + size(dy) * size(b)), g


def test_naive_twin() -> None:
    random = np.random.default_rng(2)
    for g in geometries(2, 120, 3):
        t = g.tensors(random, 2)
        out = golden(t, g.names, ALL)
        for b in range(2):
            want = naive(g, {name: array[b] for name, array in t.items()})
            assert worst({name: array[b] for name, array in out.items()}, want) == 0, g


def gradients(
    form: Form, g: Geometry, t: dict[str, np.ndarray], wanted: Collection[str] = ALL[:2]
) -> dict[str, np.ndarray]:
    """What one form of the kernel computes, whatever the kernel would choose."""
    outputs = {
        name: np.empty_like(t[of])
        for name, of in (("gradInput", "input"), ("gradWeight", "weight"))
        if name in wanted
    }
    operands = Operands(*t.values(), outputs.get("gradInput"), outputs.get("gradWeight"))
    geometry = geometry_of_call(g.names, *g.shapes.values())
    form(by_groups(operands, g.groups, bool(g.transposed)), geometry)
    return outputs


@pytest.mark.parametrize("form", [None, _products.large], ids=["chosen", "large"])
def test_non_finite_values_spread_as_in_the_definition(form: Form | None) -> None:
    asked = [ALL[:2], ALL[:1], ALL[1:2]] if form else [ALL, *((name,) for name in ALL)]
    random = np.random.default_rng(3)
    for g in geometries(3, 100, 3):
        t = g.tensors(random)
        for name in random.choice(list(t), random.integers(1, 3)):
            t[name].flat[random.integers(t[name].size)] = random.choice([np.inf, -np.inf, np.nan])
        with np.errstate(invalid="ignore"):
            want = naive(g, one(t))
            for wanted in asked:
                found = gradients(form, g, t, wanted) if form else golden(t, g.names, wanted)
                assert worst(one(found), {name: want[name] for name in wanted}) < 1e-15, g


@pytest.mark.parametrize("columns", [3, 1 << 19])
@pytest.mark.parametrize("split", range(4))
def test_columns_of_any_split_in_blocks_of_any_size(columns: int, split: int) -> None:
    random = np.random.default_rng(13)
    for g in geometries(13, 150, 5):
        t = g.tensors(random)
        want = golden(t, g.names, ALL)
        form = partial(
            _products.from_columns,
            split=min(split, len(g.kernel)),
            columns=columns,
            narrow=4,
            weight=columns,
        )
        got = gradients(form, g, t)
        assert all(np.array_equal(array, want[name]) for name, array in got.items()), g


def in_tiles(outputs: int, geometry: ConvolutionGeometry) -> tuple[_tiles.Part, ...]:
    """The parts of a convolution, with as many outputs on every axis; none where it cannot be."""
    strided = geometry.transposed and max(w.stride for w in geometry.down) > 1
    return () if strided else _tiles.parts_of(geometry, (outputs,) * len(geometry.down))


@pytest.mark.parametrize("outputs", [1, 2, 3, 4])
@pytest.mark.parametrize("taps", [1, 2, 3])
def test_minimal_filters_are_sums_of_neighbours(outputs: int, taps: int) -> None:
    found = _filters.minimal(outputs, taps)
    for filters, order in ((found, 1), (found.reversed(), -1)):
        sums = np.einsum("pi,pj,pl->ijl", *filters[:3])
        output, wide, tap = np.indices(sums.shape)
        assert np.array_equal(sums[..., ::order], found.divisor * (wide == output + tap))
        assert len(filters.narrow) == outputs + taps - 1
        assert all(np.array_equal(factors, np.rint(factors)) for factors in filters[:3])


@pytest.mark.parametrize("outputs", [1, 2, 4])
@pytest.mark.parametrize(
    ("elements", "wanted"),
    [(1, ALL[:2]), *product((300, 1 << 20), (ALL[:2], ALL[:1], ALL[1:2]))],
)
def test_tiles_in_pieces_of_any_size(elements: int, wanted: tuple[str, ...], outputs: int) -> None:
    random, tiled = np.random.default_rng(16), 0

    def form(t: Operands, geometry: ConvolutionGeometry) -> None:
        parts = in_tiles(outputs, geometry)
        _winograd.tiled(t, geometry, parts, weight=elements, tensors=elements)

    long = [
        Geometry(t, 2, 1, 2, 2, (k,), (s,), (d,), (2,), (3,), (0,), (13,))
        for t, k, s, d in product((0, 1), range(1, 14), (1, 2), (1, 3))
    ]
    for g in [*geometries(16, 40, 5), *(g for g in long[::3] if min(g.image) > 0)]:
        if not in_tiles(outputs, geometry_of_call(g.names, *g.shapes.values())):
            continue
        t, tiled = g.tensors(random), tiled + 1
        got, want = gradients(form, g, t, wanted), golden(t, g.names, wanted)
        assert all(np.array_equal(got[name], want[name]) for name in wanted), g
    assert tiled > 30


def integers(
    random: np.random.Generator, shape: tuple[int, ...], bits: int, kind: str
) -> np.ndarray:
    """Odd integers of some bits: of all sizes, all as large as can be, or those with alternating
    signs.
    """
    most = 2**bits - 1
    if kind == "any":
        return 2 * random.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), shape) + 1
    values = np.full(shape, most)
    return values if kind == "largest" else values * (1 - 2 * (np.indices(shape).sum(0) % 2))


@pytest.mark.parametrize("kind", ["any", "largest", "alternating"])
@pytest.mark.parametrize(("dtype", "bits", "less"), [("f8", 22, 1.0), ("f4", 8, _exactness.SINGLE)])
def test_tiles_and_columns_are_exact_wherever_they_are_allowed(
    dtype: str, bits: int, less: float, kind: str
) -> None:
    """Data with as many bits as the certificate allows, against integers; and with more bits, they
    would not be exact; of 150 geometries, with ``OPGEN_SLOW=1`` of 400.
    """
    seed = 17 + len(f"{dtype}{kind}")  # each with other geometries
    random = np.random.default_rng(seed)
    inexact: Counter[tuple[int, str]] = Counter()
    exact: Counter[tuple[int, str]] = Counter()
    for g in geometries(seed, 400 if SLOW else 150, 4):
        geometry = geometry_of_call(g.names, *g.shapes.values())
        tilings = [parts for outputs in (2, 4) if (parts := in_tiles(outputs, geometry))]
        if not tilings:
            continue
        forms: list[tuple[Form, float]] = [
            (partial(_products.from_columns, dtype=np.dtype(dtype)), 1.0),
            *[
                (partial(_winograd.tiled, parts=parts, dtype=np.dtype(dtype)), _tiles.growth(parts))
                for parts in tilings
            ],
        ]
        allowed = []  # of either output by itself
        for extra in range(-20, 20, 2):
            whole = {
                name: integers(random, (1, *shape), bits + (extra + i) // 3, kind)
                for i, (name, shape) in enumerate(g.shapes.items())
            }
            t = {name: array.astype(np.float64) for name, array in whole.items()}
            gx, gw = np.empty(t["input"].shape), np.empty(t["weight"].shape)
            asked = [
                Operands(*t.values(), *outputs) for outputs in ((gx, gw), (gx, None), (None, gw))
            ]
            both, *alone = (by_groups(operands, g.groups, bool(g.transposed)) for operands in asked)
            rooms = [_exactness.room(operands) / less for operands in alone]
            allowed.append([room >= 1 for room in rooms])
            right = naive(g, one(whole))
            for i, (form, growth) in enumerate(forms):
                form(both, geometry)
                for (name, found), room in zip(
                    (("gradInput", gx), ("gradWeight", gw)), rooms, strict=True
                ):
                    same = np.array_equal(found[0], right[name])
                    assert same or room < growth, (g, extra, name, growth)
                    inexact[i, name] += not same
                    exact[i, name] += room >= growth
        assert all(allowed[0]) and not any(allowed[-1]), (g, allowed)
    assert len(inexact) == 6 and all(inexact.values()) and all(exact.values())


def test_tiles_are_not_allowed_where_nothing_is_known() -> None:
    g = Geometry(0, 1, 1, 8, 8, (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (9, 9))
    t = g.tensors(np.random.default_rng(18))

    def room(wanted: tuple[bool, bool] = (True, True), **changed: np.ndarray) -> float:
        dy, x, w = {**t, **changed}.values()
        gx, gw = np.empty(x.shape) if wanted[0] else None, np.empty(w.shape) if wanted[1] else None
        return _exactness.room(by_groups(Operands(dy, x, w, gx, gw), 1, False))

    assert room() > 2**20
    for name, value in product(t, (np.nan, np.inf, -np.inf, 1e300, 1e-300, 1 / 3, 2.0**-60)):
        spoilt = t[name].copy()
        spoilt.flat[-1] = value
        assert room(**{name: spoilt}) < 1, (name, value)
    spoilt = np.full(t["input"].shape, np.nan)
    assert (
        room((True, False), input=spoilt) > 0
        and room((False, True), weight=np.full(t["weight"].shape, np.nan)) > 0
    )
    one_hot = np.zeros(t["gradOutput"].shape)
    assert room(gradOutput=one_hot) > 2**20
    one_hot.flat[-1] = 2.0**-30
    assert room(gradOutput=one_hot) > 2**20


@pytest.mark.parametrize("transposed", [0, 1])
def test_float32_is_taken_where_all_sums_fit(transposed: int) -> None:
    g = Geometry(transposed, 1, 1, 48, 32, (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (70, 72))
    random = np.random.default_rng(19)
    small = {
        name: random.integers(-1, 2, (1, *shape)).astype(np.float64)
        for name, shape in g.shapes.items()
    }

    def hopeful(t: dict[str, np.ndarray]) -> bool:
        operands = Operands(*t.values(), np.empty(t["input"].shape), np.empty(t["weight"].shape))
        parts = by_groups(operands, 1, bool(transposed))
        hopes = _exactness.modest(parts)
        right = gradients(_products.from_columns, g, t)
        chosen = gradients(_products.large, g, t)
        assert all(np.array_equal(chosen[name], right[name]) for name in right)
        return hopes and _exactness.room(parts) >= _exactness.SINGLE

    assert hopeful(small)
    for name, array in small.items():
        late = array.copy()  # beyond the values that are looked at first
        for value in (2.0**23, 2.0**-12):
            late.flat[-1] = value
            assert not hopeful({**small, name: late})
    assert not hopeful(g.tensors(random))
    for factor in (2.0**-70, 2.0**70):
        assert not hopeful({**small, "weight": small["weight"] * factor})
    for few in (replace(g, wide=3, out=(700, 720)), replace(g, out=(30, 30))):
        ones = [np.ones((1, *shape)) for shape in few.shapes.values()]
        parts = by_groups(Operands(*ones, None, None), 1, bool(transposed))
        assert not _exactness.modest(parts)


def test_tiles_are_chosen_for_many_channels_and_many_positions() -> None:
    def chosen(g: Geometry) -> bool:
        geometry = geometry_of_call(g.names, *g.shapes.values())
        return bool(_tiles.choices(geometry, g.n, g.narrow, g.wide))

    dense = Geometry(0, 4, 1, 96, 96, (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (56, 56))
    assert chosen(dense) and chosen(replace(dense, transposed=1))
    assert chosen(replace(dense, dilation=(2, 2))) and chosen(
        replace(dense, stride=(2, 2), wide=512, narrow=512)
    )
    for other in (
        replace(dense, wide=1, narrow=1, groups=64),
        replace(dense, wide=3),
        replace(dense, kernel=(1, 1)),
        replace(dense, n=1, out=(3, 3)),
        replace(dense, dilation=(8, 8)),
        replace(dense, stride=(3, 3)),
        replace(dense, stride=(2, 1), transposed=1),
    ):
        assert not chosen(other), other


def test_scratch_memory_is_bounded() -> None:
    n, long = (8, 9000) if SLOW else (4, 4500)
    kinds = [
        Geometry(0, 16, 1, 700, 600, (1, 1), (1, 1), (1, 1), (0, 0), (0, 0), (0, 0), (1, 1)),
        Geometry(0, 1, 1, 300, 110, (1, 1), (2, 2), (1, 1), (0, 0), (0, 0), (0, 0), (60, 60)),
        Geometry(1, 2, 40, 40, 60, (1, 1), (1, 1), (1, 1), (0, 0), (0, 0), (0, 0), (2, 2)),
        Geometry(0, 1, 1, 512, 512, (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (7, 7)),
        Geometry(0, n, 1, 256, 256, (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (28, 28)),
        Geometry(0, 2, 1, 700, 700, (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (12, 12)),
        Geometry(1, 1, 1, 300, 200, (5,), (1,), (1,), (2,), (2,), (0,), (long,)),
        Geometry(0, 40, 1, 128, 128, (3, 3), (1, 1), (2, 2), (2, 2), (2, 2), (0, 0), (8, 8)),
        Geometry(0, 1, 1, 512, 3, (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), (0, 0), (60, 60)),
        Geometry(0, 1, 1, 2, 256, (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), (0, 0), (200, 200)),
        Geometry(1, 1, 1, 64, 64, (1, 31), (1, 2), (1, 1), (0, 15), (0, 15), (0, 0), (3, 900)),
        Geometry(
            1,
            1,
            2,
            8,
            16,
            (3, 3, 3),
            (2, 2, 2),
            (1, 1, 1),
            (1, 1, 1),
            (1, 1, 1),
            (1, 1, 1),
            (9, 30, 30),
        ),
        Geometry(0, 1, 300, 1, 1, (5, 5), (1, 1), (1, 1), (2, 2), (2, 2), (0, 0), (70, 70)),
        Geometry(0, 1, 1, 1, 1, (40, 40), (1, 1), (1, 1), (0, 0), (0, 0), (0, 0), (90, 90)),
    ]
    for g in kinds:
        t = g.tensors(np.random.default_rng(14))
        for poison in (0.0, np.nan):
            t["gradOutput"].flat[0] = poison
            held = scratch(lambda t=t, g=g: golden(t, g.names, ALL), warm=False)
            assert held <= SCRATCH, g


@pytest.mark.parametrize("outputs", [0, 2, 4], ids=["columns", "tiles of 2", "tiles of 4"])
def test_pieces_take_no_more_scratch_memory_than_their_elements(outputs: int) -> None:
    """Tiles have planes of the weight and of its gradient, columns up to twice as many as asked."""

    def elements(weight: int, tensors: int) -> int:
        return 2 * weight + tensors if outputs else weight + 2 * tensors

    def form(t: Operands, geometry: ConvolutionGeometry, weight: int, tensors: int) -> None:
        if outputs:
            parts = in_tiles(outputs, geometry)
            _winograd.tiled(t, geometry, parts, weight=weight, tensors=tensors)
        else:
            _products.from_columns(t, geometry, weight=weight, columns=tensors)

    ordinary = (_winograd.WEIGHT, _winograd.PLANES), (_products.WEIGHT, _products.COLUMNS)
    assert 8 * elements(*ordinary[not outputs]) < SCRATCH
    plain = (1, 1), (1, 1), (1, 1), (1, 1), (0, 0)
    for g in (
        Geometry(0, 4, 1, 256, 256, (3, 3), *plain, (28, 28)),
        Geometry(1, 1, 1, 300, 200, (5,), (1,), (1,), (2,), (2,), (0,), (4500,)),
    ):
        t = g.tensors(np.random.default_rng(14))
        for weight, tensors in ((1 << 16, 1 << 18), (1 << 18, 1 << 20)):
            small = partial(form, weight=weight, tensors=tensors)
            held = scratch(partial(gradients, small, g, t), warm=False)
            assert held <= 8 * elements(weight, tensors) + 2**21, (g, weight, tensors)


def test_windows_far_off_the_input() -> None:
    """More windows than an index of small planes has room for."""
    far = (520, 520)
    g = Geometry(0, 1, 1, 1, 1, (1, 1), (1, 1), (1, 1), far, far, (0, 0), (1042, 1042))
    t = g.tensors(np.random.default_rng(15))
    inside = t["gradOutput"][..., 520:522, 520:522]
    out = golden(t, g.names, ALL)
    assert np.array_equal(out["gradInput"], inside * t["weight"])
    assert np.array_equal(out["gradWeight"], (inside * t["input"]).sum((-2, -1), keepdims=True))


def test_batch_does_not_matter() -> None:
    random = np.random.default_rng(4)
    for g in geometries(4, 60, 6):
        t = g.tensors(random, 70)
        together = golden(t, g.names, ALL)
        for b in (0, 33, 69):
            alone = golden({name: array[b : b + 1] for name, array in t.items()}, g.names, ALL)
            assert all(np.array_equal(alone[name][0], together[name][b]) for name in ALL), g


def larger() -> list[Geometry]:
    """Geometries beyond a block of scratch memory: dense, strided, dilated, grouped, depthwise,
    each transposed too.
    """
    base = Geometry(0, 2, 1, 24, 16, (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (60, 61))
    kinds = [
        base,
        replace(base, stride=(2, 2), extra=(1, 0)),
        replace(base, dilation=(2, 3)),
        replace(base, groups=4, wide=6, narrow=5),
        replace(base, groups=24, wide=1, narrow=1),
        replace(base, groups=12, wide=1, narrow=2, stride=(2, 1), after=(0, 1)),
        replace(base, wide=3, kernel=(7, 7), stride=(2, 2)),
        replace(base, kernel=(1, 1), before=(0, 0), after=(0, 0)),
        replace(base, before=(2, 0), after=(0, 2)),
        Geometry(0, 1, 1, 12, 16, (7,), (1,), (1,), (3,), (3,), (0,), (4096,)),
        Geometry(0, 2, 1, 48, 32, (7,), (1,), (1,), (3,), (3,), (0,), (1000,)),
        Geometry(0, 3, 1, 32, 48, (3, 3), (1, 1), (2, 1), (2, 1), (2, 1), (0, 0), (28, 29)),
        Geometry(
            0,
            1,
            1,
            8,
            8,
            (3, 3, 3),
            (1, 1, 1),
            (1, 1, 1),
            (1, 1, 1),
            (1, 1, 1),
            (0, 0, 0),
            (12, 20, 20),
        ),
        Geometry(
            0,
            1,
            2,
            8,
            8,
            (3, 2, 3),
            (2, 1, 2),
            (1, 2, 1),
            (1, 1, 0),
            (0, 1, 1),
            (0, 0, 1),
            (9, 20, 11),
        ),
    ]
    return kinds + [replace(kind, transposed=1) for kind in kinds]


@pytest.mark.parametrize("g", larger())
def test_larger_shapes_against_the_adjoint_and_other_wanted_outputs(g: Geometry) -> None:
    random = np.random.default_rng(5)
    t = g.tensors(random)
    out = one(golden(t, g.names, ALL))
    dy, x, w = t["gradOutput"][0], t["input"][0], t["weight"][0]
    v, u = grid(random, x.shape), grid(random, w.shape)
    assert (out["gradInput"] * v).sum() == pytest.approx((dy * forward(g, v, w)).sum(), rel=1e-11)
    assert (out["gradWeight"] * u).sum() == pytest.approx((dy * forward(g, x, u)).sum(), rel=1e-11)
    for name in ALL:
        alone = golden(t, g.names, [name])
        assert list(alone) == [name] and np.array_equal(alone[name][0], out[name])


@pytest.mark.parametrize("g", larger())
def test_both_forms_agree(g: Geometry) -> None:
    """A NaN in one case sends its whole batch through the form that adds slices; the other case
    must not change.
    """
    random = np.random.default_rng(6)
    t = g.tensors(random, 2)
    want = golden(t, g.names, ALL)
    t["input"][1].flat[0] = np.nan
    got = golden(t, g.names, ALL)
    assert all(np.array_equal(got[name][0], want[name][0]) for name in ALL)
    assert np.isnan(got["gradWeight"][1]).any()


@pytest.mark.parametrize("seed", range(4))
def test_torch(seed: int) -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(seed)
    for g in [*geometries(100 + seed, 150, 6), *(larger() if seed == 0 else ())]:
        t = one(g.tensors(random))
        upstream, x, w = (torch.from_numpy(t[name]) for name in ("gradOutput", "input", "weight"))
        want = dict(zip(ALL, from_torch(torch, g, upstream, x, w), strict=True))
        assert (
            worst(one(golden({k: a[None] for k, a in t.items()}, g.names, ALL)), want) <= 1e-12
        ), g


def from_torch(torch, g: Geometry, upstream, x, w) -> list[np.ndarray]:
    """Torch's gradients; asymmetric padding becomes padding 0 of a padded (or, transposed, of a
    cut) wide tensor.
    """
    spatial, wide, by_hand = len(g.kernel), upstream if g.transposed else x, g.before != g.after
    padding, extra = list(g.before), list(g.extra) if g.transposed else [0] * spatial
    if by_hand:
        pairs = zip(reversed(g.before), reversed(g.after), strict=True)
        wide = torch.nn.functional.pad(wide, [size for pair in pairs for size in pair])
        padding = [0] * spatial
    first, second = (wide, x) if g.transposed else (upstream, wide)
    channels = g.groups * (g.wide if g.transposed else g.narrow)
    gx, gw, _ = torch.ops.aten.convolution_backward(
        first,
        second,
        w,
        [channels],
        list(g.stride),
        padding,
        list(g.dilation),
        bool(g.transposed),
        extra,
        g.groups,
        [True] * 3,
    )
    if by_hand and not g.transposed:
        gx = gx[(..., *(slice(p, p + i) for p, i in zip(g.before, g.image, strict=True)))]
    return [gx.numpy(), gw.numpy(), upstream.sum((0, *range(2, upstream.ndim))).numpy()]


WRONG = {
    "strides swapped": lambda g: replace(g, stride=g.stride[::-1]),
    "padding ignored": lambda g: replace(g, before=(0,) * len(g.kernel)),
    "padding ends swapped": lambda g: replace(g, before=g.after, after=g.before),
    "dilation ignored": lambda g: replace(g, dilation=(1,) * len(g.kernel)),
    "padding axes swapped": lambda g: replace(g, before=g.before[::-1], after=g.after[::-1]),
}


@pytest.mark.parametrize("fault", WRONG)
@pytest.mark.parametrize("transposed", [0, 1])
def test_a_wrong_array_fails(fault: str, transposed: int) -> None:
    g = Geometry(transposed, 2, 2, 2, 3, (3, 2), (1, 2), (2, 1), (2, 1), (1, 0), (0, 0), (5, 5))
    t = g.tensors(np.random.default_rng(7))
    right, wrong = one(golden(t, g.names, ALL)), one(golden(t, WRONG[fault](g).names, ALL))
    assert worst(right, naive(g, one(t))) == 0
    assert distance(wrong["gradInput"], right["gradInput"]) > 1e-3
    assert distance(wrong["gradWeight"], right["gradWeight"]) > 1e-3


def test_a_flipped_kernel_and_mixed_groups_fail() -> None:
    g = Geometry(0, 1, 2, 2, 2, (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (5, 5))
    t = g.tensors(np.random.default_rng(8))
    right = one(golden(t, g.names, ALL))
    flipped = one(golden({**t, "weight": t["weight"][..., ::-1]}, g.names, ALL))
    mixed = one(golden({**t, "weight": t["weight"][:, ::-1]}, g.names, ALL))
    assert distance(flipped["gradInput"], right["gradInput"]) > 1e-3
    assert distance(mixed["gradInput"], right["gradInput"]) > 1e-3
    assert distance(right["gradWeight"][..., ::-1], right["gradWeight"]) > 1e-3
    assert distance(right["gradBias"][::-1], right["gradBias"]) > 1e-3


def test_magnitude_is_the_sum_of_absolute_terms() -> None:
    random = np.random.default_rng(9)
    for g in geometries(9, 60):
        t = g.tensors(random)
        bound, value = magnitude(t, g.names, ALL), golden(t, g.names, ALL)
        assert all((bound[name] >= np.abs(value[name])).all() for name in ALL)
        positive = {name: np.abs(array) for name, array in t.items()}
        same = golden(positive, g.names, ALL)
        assert all(
            np.array_equal(magnitude(positive, g.names, ALL)[name], same[name]) for name in ALL
        )
        assert all(np.array_equal(bound[name], same[name]) for name in ALL)


def test_depth_bounds_the_number_of_terms() -> None:
    for g in geometries(10, 300):
        terms = golden(
            {name: np.ones((1, *shape)) for name, shape in g.shapes.items()}, g.names, ALL
        )
        for name in ALL:
            assert terms[name].max() <= depth(g.names, g.shapes, name), (g, name)
    g = Geometry(0, 2, 1, 3, 4, (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (5, 5))
    assert [depth(g.names, g.shapes, name) for name in ALL] == [4 * 9, 50, 50]


@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_empty_tensors_and_rows_beyond_the_last_window(transposed: int, rank: int) -> None:
    none, twos, threes = (0,) * rank, (2,) * rank, (3,) * rank
    g = Geometry(transposed, 0, 1, 2, 3, twos, threes, (1,) * rank, none, none, twos, threes)
    for empty in (g, replace(g, n=2, wide=0), replace(g, n=0, groups=2)):
        t = empty.tensors(np.random.default_rng(11), 3)
        out = golden(t, empty.names, ALL)
        assert {name: out[name].shape for name in ALL} == {
            "gradInput": t["input"].shape,
            "gradWeight": t["weight"].shape,
            "gradBias": (3, t["gradOutput"].shape[2]),
        }
        assert not out["gradWeight"].any()
    full = replace(g, n=2)
    gx = golden(full.tensors(np.random.default_rng(12)), full.names, ["gradInput"])["gradInput"]
    if not transposed:
        assert gx[..., :-2].any() and not gx[..., -2:].any()
    assert prod(gx.shape) > 0
