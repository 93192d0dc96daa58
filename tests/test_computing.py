"""Batches that are computed together have the bits that each has alone, whatever their operators, dtypes and recipes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from opgen.calls.jsonl import NamedCall, make_call
from opgen.computation import inputs
from opgen.computation.computing import Arrays, compute
from opgen.golden import kernel
from opgen.model import TensorDesc
from opgen.numbers.numerics import format_of
from opgen.numbers.recipes import RECIPES
from opgen.page.book import book
from opgen.planning.plan import plan_for
from opgen.suites.suite import Batch, call_suite
from tests import device_sample as sample


@cache
def batches() -> list[Batch]:
    """Every call of the sample; some again with a strided gradient or a range, which draws from another grid."""
    kinds = book().kinds
    calls = {name: make_call(one["op"], one["product"], one["args"], kinds) for name, one in sample.CALLS.items()}
    strided = TensorDesc((2, 3, 7, 8), "FLOAT", strides=(200, 60, 8, 1), offset=3)
    for name, changes in (("strided", {"gradOutput": strided}), ("ranged", {"self": TensorDesc((2, 3, 4, 5), "FLOAT", range=(0.5, 2.0))})):
        plain = sample.pad()
        call = make_call(plain["op"], plain["product"], plain["args"], kinds)
        calls[name] = replace(call, args={**call.args, **changes})
    named = [NamedCall(name, call, {}) for name, call in calls.items()]
    return call_suite(named, lambda one: book().by_page[one.api, one.product], lambda spec: plan_for(spec.op)).batches


def same(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(array.tobytes() == other[key].tobytes() for key, array in one.items())


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


def test_small_and_large_tensors_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    together = compute(batches(), 0)
    monkeypatch.setattr(inputs, "SMALL", 0)
    assert all(same(one, other) for one, other in zip(together, compute(batches(), 0), strict=True))


def test_a_kernel_need_not_give_both_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    together = compute(batches(), 0)
    for op in {batch.op for batch in batches()}:
        monkeypatch.delattr(kernel(op), "both")
    assert all(same(one, other) for one, other in zip(together, compute(batches(), 0), strict=True))


def test_what_is_normal_is_not_subnormal() -> None:
    """Where a recipe's values cannot be subnormal, nobody looks; where they are, it is said."""
    for recipe in RECIPES:
        for found in inputs.fill([replace(batch, recipe=recipe) for batch in batches()], [9] * len(batches()), 0):
            parts = {name: value.reshape(-1).view(np.float64) for name, value in found.values.items() if value is not None}
            tiny = format_of(found.batch.compute).min_normal
            small = {name for name, values in parts.items() if ((values != 0) & (np.abs(values) < tiny)).any()}
            assert not {name for name in small if found.numbers[name].normal}
            assert not small or found.subnormal
            assert recipe != "subnormals" or "gradOutput" not in parts or "gradOutput" in small
