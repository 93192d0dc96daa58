"""Batches that are computed together have the bits that each has alone, whatever their operators,
dtypes and recipes.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import ml_dtypes
import numpy as np
import pytest

from opgen.calls.call_json import make_call
from opgen.calls.jsonl import NamedCall
from opgen.generation import filling
from opgen.generation.computing import compute
from opgen.generation.filling import fill
from opgen.generation.inputs import Arrays, Inputs
from opgen.generation.kernels import depths
from opgen.golden import kernel
from opgen.model import Call, TensorDesc
from opgen.numerics import optional_rounding
from opgen.numerics.arrays import Array
from opgen.numerics.bounds import CONCLUSIVE
from opgen.numerics.formats import format_of
from opgen.numerics.recipes import RECIPES
from opgen.numerics.rounding import rounded
from opgen.spec.catalog import catalog
from opgen.suite.batch import Batch
from tests.support import device_sample as sample
from tests.support import suites
from tests.support.suites import of_calls


@cache
def batches() -> list[Batch]:
    """Every call of the sample; some again with a strided gradient or a range, which draws from
    another grid.
    """
    kinds = catalog().kinds
    calls = {
        name: make_call(one["op"], one["product"], one["args"], kinds)
        for name, one in sample.CALLS.items()
    }
    strided = TensorDesc((2, 3, 7, 8), "FLOAT", strides=(200, 60, 8, 1), offset=3)
    for name, changes in (
        ("strided", {"gradOutput": strided}),
        ("ranged", {"self": TensorDesc((2, 3, 4, 5), "FLOAT", range=(0.5, 2.0))}),
    ):
        plain = sample.pad()
        call = make_call(plain["op"], plain["product"], plain["args"], kinds)
        calls[name] = replace(call, args={**call.args, **changes})
    named = [NamedCall(name, call, {}) for name, call in calls.items()]
    return of_calls(named).batches


def same(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(
        array.tobytes() == other[key].tobytes() for key, array in one.items()
    )


@pytest.mark.parametrize("recipe", RECIPES)
def test_company_changes_no_bit(recipe: str) -> None:
    some = [replace(batch, recipe=recipe) for batch in batches()]
    assert {"strided", "ranged"} <= {batch.ids[0] for batch in some}
    together = compute([*some, *some[::-1]], 5)
    for batch, first, again in zip(some, together, together[::-1], strict=False):
        assert same(compute([batch], 5)[0], first) and same(first, again)


def test_recipes_mixed_change_no_bit() -> None:
    some = [replace(batch, recipe=recipe) for batch in batches() for recipe in RECIPES]
    for batch, arrays in zip(some, compute(some, 0), strict=True):
        assert same(compute([batch], 0)[0], arrays)


def test_empty_and_long_outputs_are_no_company_for_each_other() -> None:
    """None and thousands of elements, of the same formats."""
    calls = []
    for images in (0, 4):
        small, large = (
            sample.tensor([images, 3, 8, 16], "FLOAT", "NCHW"),
            sample.tensor([images, 3, 16, 32], "FLOAT", "NCHW"),
        )
        one = sample.pool(gradOutput=small, self=large, gradInput=large)
        calls.append(
            NamedCall(
                str(images), make_call(one["op"], one["product"], one["args"], catalog().kinds), {}
            )
        )
    some = of_calls(calls).batches
    assert [batch.ids for batch in some] == [("0",), ("4",)]
    for batch, arrays in zip(some, compute(some, 0), strict=True):
        assert same(compute([batch], 0)[0], arrays)


def test_small_and_large_tensors_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    together = compute(batches(), 0)
    monkeypatch.setattr(filling, "SMALL", 0)
    assert all(same(one, other) for one, other in zip(together, compute(batches(), 0), strict=True))


def test_a_kernel_need_not_give_both_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    together = compute(batches(), 0)
    for op in {batch.op for batch in batches()}:
        monkeypatch.delattr(kernel(op), "both")
    assert all(same(one, other) for one, other in zip(together, compute(batches(), 0), strict=True))


def test_what_is_normal_is_not_subnormal() -> None:
    """Where a recipe's values cannot be subnormal, nobody looks; where they are, it is said."""
    for recipe in RECIPES:
        for found in fill(
            [replace(batch, recipe=recipe) for batch in batches()], [9] * len(batches()), 0
        ):
            parts = {
                name: value.reshape(-1).view(np.float64)
                for name, value in found.values.items()
                if value is not None
            }
            tiny = format_of(found.batch.compute).min_normal
            small = {
                name
                for name, values in parts.items()
                if ((values != 0) & (np.abs(values) < tiny)).any()
            }
            assert not {name for name in small if found.numbers[name].normal}
            assert not small or found.subnormal
            assert (
                recipe != "subnormals"
                or {name for name, role in found.batch.roles.items() if role == "gradient"} <= small
            )


def of_smoke(recipe: str) -> list[Batch]:
    """One case of each batch of the smoke suites, of every operator and dtype, with data of another
    recipe; without formats that store outputs in another order than kernels compute them.
    """
    whole = [batch for name in suites.PAGES for batch in suites.suite(name, "smoke").batches]
    return [
        replace(batch, rows=batch.rows[:1], ids=batch.ids[:1], recipe=recipe)
        for batch in whole
        if not batch.turned
    ]


def floats(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(array.real.dtype).astype(np.float64)


@np.errstate(all="ignore")
@pytest.mark.parametrize("recipe", ["normal", "wide_exponent", "subnormals"])
def test_a_device_may_flush_what_is_subnormal(recipe: str) -> None:
    """Any subset of the subnormal inputs read as 0: the gradients stay within the bound, with all
    else exact.
    """
    draw, moved = np.random.default_rng(1), set()
    some = of_smoke(recipe)
    deepest = [max(depths(batch).values(), default=1) for batch in some]
    for found, arrays in zip(fill(some, deepest, 0), compute(some, 0), strict=True):
        batch, tiny = found.batch, format_of(found.batch.compute).min_normal
        for chance in (1.0, 0.5):
            flushed = {}
            for name, values in found.seen.items():
                if values is not None:
                    parts = np.array(values, order="C").view(np.float64)
                    parts[(np.abs(parts) < tiny) & (draw.random(parts.shape) < chance)] = 0
                    flushed[name] = parts.view(values.dtype)
            device = kernel(batch.op).golden({**found.seen, **flushed}, batch.names, batch.wanted)
            for out in set(batch.wanted) - batch.exact:
                golden, limit = floats(arrays[out, "golden"]), floats(arrays[out, "bound"])
                error = np.abs(floats(device[out]) - golden)
                assert (error <= limit)[np.isfinite(golden)].all(), (batch.ids, out)
                lost = (golden != 0) & (floats(device[out]) == 0)
                if (lost | (error > limit / 8))[np.isfinite(golden)].any():
                    moved.add(batch.op)
    assert recipe != "subnormals" or moved == {batch.op for batch in some}


def test_a_gradient_of_which_no_line_says_that_it_is_rounded_may_be_and_need_not() -> None:
    """Of inputs as they are, and of those that a compute mode rounds: both stay within the bound,
    which without the one reading or the other they would not.
    """
    apart = set()
    some = [batch for batch in of_smoke("normal") if batch.exact & set(batch.wanted)]
    deepest = [max(depths(batch).values(), default=1) for batch in some]
    for found, arrays in zip(fill(some, deepest, 0), compute(some, 0), strict=True):
        batch = found.batch
        for tensors in (found.values, {**found.values, **found.rounded}):
            device = kernel(batch.op).golden(tensors, batch.names, batch.wanted)
            for out in batch.exact & set(batch.wanted):
                golden, limit = floats(arrays[out, "golden"]), floats(arrays[out, "bound"])
                error = np.abs(floats(device[out]) - golden)
                assert (error <= limit).all(), (batch.ids, out)
                if (error > 2.0**-14 * np.abs(golden)).any():
                    apart.add(batch.compute)
    assert apart == {"FLOAT16", "HFLOAT32"}


@pytest.mark.parametrize("recipe", ["integers", "grid"])
def test_plain_sums_of_a_grid_have_no_bound(recipe: str) -> None:
    """What float32 adds exactly, in whatever order, is asked for exactly."""
    draw, exact = np.random.default_rng(3), set()
    some = [
        batch
        for batch in of_smoke(recipe)
        if batch.tensors[batch.gradient].plain
        and batch.tensors[batch.gradient].dtype == "FLOAT"
        and 0 not in batch.tensors[batch.gradient].shape
        and batch.compute != "FLOAT16"  # which results may be kept in
        and 0 not in batch.tensors[batch.gradient].shape
    ]
    for batch, arrays in zip(some, compute(some, 0), strict=True):
        for out in {"gradBias", "gradBetaOut"} & set(batch.wanted):
            shape = (
                batch.tensors[batch.gradient].shape[:2]
                if out == "gradBias"
                else (batch.names["N"], batch.names["C"])
            )
            terms = np.moveaxis(arrays[batch.gradient, "input"].reshape(*shape, -1), 1, 0).reshape(
                shape[1], -1
            )
            if np.abs(terms).sum(1).max() < 2**23 * np.abs(terms[terms != 0]).min():
                device = np.cumsum(
                    terms[:, draw.permutation(terms.shape[1])], axis=1, dtype=np.float32
                )[:, -1]
                assert (
                    np.array_equal(device, floats(arrays[out, "golden"]))
                    and not arrays[out, "bound"].any()
                ), (batch.ids, out)
                exact.add(out)
    assert exact == {"gradBias", "gradBetaOut"}


def test_integers_are_asked_for_exactly_in_every_mode() -> None:
    some = [
        batch
        for batch in of_smoke("integers")
        if batch.op == "convolution_backward" and batch.compute in ("FLOAT", "HFLOAT32")
    ]
    modes = set()
    for batch, arrays in zip(some, compute(some, 0), strict=True):
        for out in [out for out in batch.wanted if batch.tensors[out].dtype == "FLOAT"]:
            assert (
                not arrays[out, "bound"].any() and (floats(arrays[out, "golden"]) % 1 == 0).all()
            ), (batch.ids, out)
            modes.add((out, batch.compute))
    assert {(out, "HFLOAT32") for out in ("gradInput", "gradWeight", "gradBias")} <= modes


def moved(found: Inputs, arrays: Arrays, to: str, mantissa: int = 11, chance: float = 1.0) -> Array:
    """What the gradient moves by where some of the inputs are rounded; 0 where it is not finite."""
    draw = np.random.default_rng(2)
    tensors = {
        name: np.where(draw.random(values.shape) < chance, rounded(values, to, mantissa), values)
        for name, values in found.values.items()
        if values is not None
    }
    with np.errstate(invalid="ignore"):
        device = kernel(found.batch.op).golden(tensors, found.batch.names, ("gradInput",))
    kept = arrays["gradInput", "golden"]
    golden, finite = floats(kept), np.isfinite(floats(kept))
    return np.abs(
        np.where(finite, floats(device["gradInput"].astype(kept.dtype)), 0)
        - np.where(finite, golden, 0)
    )


@pytest.mark.parametrize("recipe", ["normal", "wide_exponent", "grid", "nonfinite"])
def test_a_device_may_leave_an_optional_rounding_out(recipe: str) -> None:
    """Any of the inputs rounded: the gradients stay within the bound. One rounded to fewer digits
    does not, and data that no rounding changes have the bound that they have without one.
    """
    asked = set()
    some = [batch for batch in of_smoke(recipe) if batch.optional and "gradInput" in batch.wanted]
    assert {batch.compute for batch in some} == {"HFLOAT32", "FLOAT16"}
    deepest = [max(depths(batch).values(), default=1) for batch in some]
    for found, arrays in zip(fill(some, deepest, 0), compute(some, 0), strict=True):
        limit, to = floats(arrays["gradInput", "bound"]), found.batch.compute
        assert all(
            (moved(found, arrays, to, chance=chance) <= limit).all() for chance in (0, 0.5, 1)
        ), found.batch.ids
        if recipe == "normal":
            asked |= {to} if (moved(found, arrays, to) > limit / 4).any() else set()
            assert (moved(found, arrays, "HFLOAT32", 5) > limit).any(), found.batch.ids
        elif recipe != "wide_exponent":
            plain = compute([replace(found.batch, optional=False)], 0)[0]
            assert (
                np.array_equal(plain["gradInput", "bound"], arrays["gradInput", "bound"])
                and not moved(found, arrays, to).any()
            )
    assert recipe != "normal" or asked == {"HFLOAT32", "FLOAT16"}


def test_an_input_that_no_gradient_reads_changes_no_bound() -> None:
    unread = set()
    for batch in of_smoke("normal"):
        if "saved" in batch.roles.values():
            continue  # what a forward saved follows from the other inputs
        (before,) = compute([batch], 0)
        for name in batch.inputs:
            if batch.roles.get(name) == "argument":
                continue  # it is read, even where another value of it leads to the same gradient
            values = fill([batch], [9], 0)[0].values[name]
            assert values is not None
            values.reshape(-1)[::7] = 2.0**-24  # a subnormal FLOAT16
            (after,) = compute([replace(batch, given={name: values[0]})], 0)
            for out in batch.wanted:
                if before[out, "golden"].any() and np.array_equal(
                    before[out, "golden"], after[out, "golden"], equal_nan=True
                ):
                    unread.add((batch.op, name, out))
                    assert np.array_equal(
                        before[out, "bound"], after[out, "bound"], equal_nan=True
                    ), (batch.ids, name, out)
    assert {
        ("convolution_backward", "weight", "gradBias"),
        ("avg_pool2d_backward", "self", "gradInput"),
    } <= unread


@pytest.mark.parametrize("name", suites.PAGES)
def test_everyday_data_tell_right_from_wrong(name: str) -> None:
    """Half of the elements that are not 0 have a bound below their size, at least, so that zeros
    are seen; and some bound of every output is a small share of its golden. Data that a case gives,
    as those on ties, are not everyday; expanded inputs, two elements that share a mean and sums
    of thousands of terms may cancel; whole numbers round. Far from the one 1 among zeros
    gradients may be subnormal, which a device may flush.
    """
    some = [
        batch
        for batch in suites.suite(name).batches
        if batch.recipe in ("grid", "normal", "integers", "ones", "one_hot") and not batch.given
        if suites.sharing_a_mean(batch) > 2 and not suites.expanded(batch)
    ]
    outputs = [
        (batch, out, arrays)
        for batch in some
        for arrays in compute([batch], 0)
        for out in batch.wanted
        if not batch.tensors[out].dtype.startswith(("INT", "UINT"))
    ]
    for batch, out, arrays in outputs:
        ids = batch.ids
        golden, limit = (
            floats(arrays[out, "golden"]).reshape(len(ids), -1),
            floats(arrays[out, "bound"]).reshape(len(ids), -1),
        )
        there = golden != 0
        flushed = format_of(batch.compute).min_normal if batch.recipe == "one_hot" else 0
        owed = there & (np.abs(golden) >= flushed)
        assert ((np.abs(golden) > limit).sum(axis=1) * 2 >= owed.sum(axis=1)).all(), (ids, out)
        if batch.elements > 4096 * golden.shape[1]:
            continue
        small = limit < CONCLUSIVE * np.abs(golden)
        assert (small.any(axis=1) | ~there.any(axis=1)).all(), (ids, out)
    assert sum(len(batch.ids) for batch, _, _ in outputs) > 20


@pytest.mark.parametrize(("dtype", "mode"), [("FLOAT16", 1), ("FLOAT", 2), ("BFLOAT16", 2)])
@pytest.mark.parametrize("divisor", [255, -255, 3])
def test_no_divisor_makes_data_on_a_grid_subnormal(dtype: str, mode: int, divisor: int) -> None:
    """A device may flush subnormals of FLOAT16, so that zeros would pass."""
    plain = sample.pool(dtype, divisorOverride=divisor, cubeMathType=mode)
    call = make_call(plain["op"], plain["product"], plain["args"], catalog().kinds)
    suite = of_calls([NamedCall(f"pool-{i}", call, {}) for i in range(64)], recipe="grid")
    for arrays in compute(suite.batches, 0):
        golden, limit = (floats(arrays["gradInput", role]) for role in ("golden", "bound"))
        assert (np.abs(golden[golden != 0]) > limit[golden != 0]).all()
        assert (np.abs(golden[golden != 0]) >= 2.0**-14).all()


FAR = 80


def test_data_far_from_their_mean_have_bounds_that_prove_nothing() -> None:
    """Group norm multiplies rounding by the square of how far x and its mean are from 0."""
    args = sample.norm()["args"]
    for name in ("input", "mean"):
        args = {**args, name: {**args[name], "range": [FAR, FAR + 2]}}
    call = make_call("aclnnGroupNormBackward", "ascend910b", args, catalog().kinds)
    (batch,) = of_calls([NamedCall("far", call, {})]).batches
    (arrays,) = compute([replace(batch, recipe="normal")], 0)
    golden, limit = (floats(arrays["gradInput", role]) for role in ("golden", "bound"))
    assert (limit > np.abs(golden)).mean() < 1 and (limit > CONCLUSIVE * np.abs(golden)).all()


@pytest.mark.parametrize(
    ("dtype", "kind", "mantissa"),
    [("FLOAT16", np.float16, 10), ("BFLOAT16", ml_dtypes.bfloat16, 7)],
)
def test_what_is_flushed_is_told_by_its_bits(dtype: str, kind: type, mantissa: int) -> None:
    """Every value of a format: no bit of the exponent set, and one of the mantissa. NaN, Inf, zeros
    and the smallest normal stay.
    """
    bits = np.arange(2**16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        values = bits.view(kind).astype(np.float64)
    small = ((bits & 0x7FFF) >> mantissa == 0) & (bits & (2**mantissa - 1) != 0)
    assert small.sum() == 2 * (2**mantissa - 1)
    whole = {
        "x": values,
        "z": values[:7] + 1j * values[2**14 : 2**14 + 7],
        "y": values,
        "none": None,
    }
    found = optional_rounding.without_subnormals(whole, {"x", "z", "none"}, dtype)
    assert found["y"] is values and found["none"] is None
    assert np.array_equal(np.asarray(found["x"]), np.where(small, 0.0, values), equal_nan=True)
    parts = np.asarray(found["z"])
    assert not parts.real.any() and np.array_equal(parts.imag, values[2**14 : 2**14 + 7])
    edges = [*np.flatnonzero(small)[[0, -1]], 0, 2**15, 2**mantissa, 2**mantissa - 1, 2**16 - 1]
    assert [optional_rounding.has_subnormals(values[[at]], dtype) for at in edges] == [
        bool(small[at]) for at in edges
    ]
    assert optional_rounding.has_subnormals(values, dtype) and not optional_rounding.has_subnormals(
        values[~small], dtype
    )
    assert optional_rounding.has_subnormals(np.array([1 + 1j * values[1], 0]), dtype)


def test_two_readings_are_apart_by_what_each_element_is() -> None:
    one = np.array([1.5, -2.0, 0.0, np.inf, -3.0, np.nan])
    other = np.array([1.0, -2.0, -0.25, np.inf, 3.0, 1.0])
    found = optional_rounding.as_far_apart(
        {"a": one, "b": one, "none": None, "lost": one}, {"a": other, "none": other, "lost": None}
    )
    assert np.array_equal(
        np.asarray(found["a"]), [2.0, 2.0, 0.25, np.inf, 9.0, np.nan], equal_nan=True
    )
    assert found["b"] is one and found["none"] is None and found["lost"] is one


def test_how_far_two_sums_are_apart_is_rounded_up() -> None:
    """Each of the two was rounded to float64 once, and no more than that is added to what they
    differ by.
    """
    source = np.random.default_rng(8)
    whole = source.uniform(1, 2, 400) * 2.0 ** source.integers(-60, 60, 400)
    kept = whole * (1 - np.where(source.random(400) < 0.2, 0.0, 2.0 ** -source.uniform(0, 52, 400)))
    unit = Fraction(2) ** -53
    for a, b, found in zip(
        whole.tolist(),
        kept.tolist(),
        optional_rounding.share(whole, kept, kept, kept).tolist(),
        strict=True,
    ):
        high, low = Fraction(a) * (1 + unit), Fraction(b) * (1 - unit)
        assert (
            found == 0 if a == b else high - low <= Fraction(found) <= high - low + 16 * unit * high
        )
    nothing = np.zeros(4)
    some = np.array([1.0, np.inf, np.inf, 0.0]), np.array([2.0, np.inf, 1.0, 0.0])
    assert optional_rounding.share(*some, nothing, nothing).tolist() == [0, 0, np.inf, 0]


def test_goldens_may_be_further_apart_than_their_magnitudes() -> None:
    """Those of a step, whose two sides have errors of one size."""
    one, golden, other = np.ones(3), np.array([0.0, 1.0, np.nan]), np.array([0.5, 1.0, 1.0])
    found = optional_rounding.share(one, one, golden, other)
    assert 0.5 <= found[0] <= 0.5 + 2.0**-49 and found[1:].tolist() == [0, 0]


def test_a_format_that_orders_axes_otherwise_has_the_same_numbers() -> None:
    """Channels last, against the same data with channels first: what lies in storage, and every
    golden and bound.
    """
    op, names = "max_pool2d_with_indices_backward", {"Hin": 4, "Win": 6, "Hout": 2, "Wout": 3}
    names |= {f"{what}{axis}": size for what, size in [("k", 2), ("s", 2)] for axis in "HW"}
    names |= {f"{what}{axis}": size for what, size in [("pad", 0), ("d", 1)] for axis in "HW"}
    small, large = (2, 3, 2, 3), (2, 3, 4, 6)
    tensors = {"gradOutput": (small, "FLOAT"), "self": (large, "FLOAT")}
    tensors |= {"indices": (small, "INT32"), "gradInput": (large, "FLOAT")}
    first = Batch(
        op=op,
        rows=np.arange(2),
        ids=("a", "b"),
        tensors={name: TensorDesc(*desc) for name, desc in tensors.items()},
        elements=1,
        inputs=("gradOutput", "self", "indices"),
        names=names,
        wanted=("gradInput",),
        exact=frozenset(),
        compute="FLOAT",
        optional=False,
        recipe="normal",
        roles={"gradOutput": "gradient", "self": "operand", "indices": "saved"},
        gradient="gradOutput",
        factors=1,
    )
    behind = {
        name: replace(desc, strides=(0, 1, desc.shape[3] * 3, 3), storage_shape=None)
        for name, desc in first.tensors.items()
    }
    behind = {
        name: replace(desc, strides=(desc.shape[2] * desc.shape[3] * 3, *desc.strides[1:]))
        for name, desc in behind.items()
    }
    last = replace(first, tensors=behind, turned={"gradInput": (0, 2, 3, 1)})
    a, b = compute([first], 0)[0], compute([last], 0)[0]
    for (name, role), array in a.items():
        shape = (2, *first.tensors[name].shape)
        turned = np.moveaxis(array.reshape(shape), 2, -1)
        assert np.array_equal(b[name, role].reshape(turned.shape), turned), (name, role)
    assert np.unique(a["indices", "input"]).size > 3


@pytest.mark.parametrize("op", ["max_pool2d_with_indices_backward", "adaptive_max_pool2d_backward"])
def test_indices_that_a_page_limits_are_those_of_the_forward(op: str) -> None:
    """Limits of values are not a range that a call asks for."""
    seen = 0
    for batch in suites.suite(op, "smoke").batches:
        if batch.wanted and batch.elements and batch.tensors["indices"].range is None:
            (found,) = fill([batch], [1], 0)
            kept = kernel(op).saved(found.values, batch.names)["indices"]
            assert np.array_equal(found.values["indices"], kept), batch.ids
            seen += kept.size
    assert seen > 100


@pytest.mark.parametrize(
    ("strides", "storage"),
    [((0, 0), (1, 1)), ((0, 0), (1,)), ((1, 0), (2, 1)), ((0, 1), (1, 33)), ((33, 1), (3, 33))],
    ids=str,
)
@pytest.mark.parametrize("recipe", ["grid", "normal"])
def test_a_golden_is_computed_of_what_an_expanded_or_moved_input_holds(
    strides: tuple[int, int], storage: tuple[int, ...], recipe: str
) -> None:
    """Sigmoid: of the elements of storage that strides and offset say; a device that
    reads the storage without them differs.
    """
    offset = 33 if storage == (3, 33) else 0
    plain = TensorDesc((2, 33), "FLOAT")
    lying = replace(plain, strides=strides, offset=offset, storage_shape=storage)
    tensors = {"gradOutput": lying, "output": plain, "gradInput": plain}
    call = Call("aclnnSigmoidBackward", "ascend910b", tensors)
    (batch,) = of_calls([NamedCall("lying", call, {})], recipe=recipe).batches
    (arrays,) = compute([batch], 0)
    held, y = (
        arrays["gradOutput", "input"][0].astype(float),
        arrays["output", "input"].reshape(2, 33),
    )
    golden, bound = (arrays["gradInput", role].reshape(2, 33) for role in ("golden", "bound"))
    assert held.size == np.prod(storage)

    def passes(dy: Array) -> bool:
        return bool((np.abs(golden - dy * (1 - y.astype(float)) * y) <= bound).all())

    places = offset + np.add.outer(np.arange(2) * strides[0], np.arange(33) * strides[1])
    assert passes(held[places])
    assert not passes(np.pad(held, (0, 66))[:66].reshape(2, 33))
