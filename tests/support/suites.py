"""Suites that several tests look at, made once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from math import inf, prod
from typing import Any, TypeVar

from opgen.calls.jsonl import NamedCall
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.suite.batch import Batch
from opgen.suite.enumeration.enumerator import RANDOM_STATE, Enumeration
from opgen.suite.given_calls import call_suite
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.plan import Plan, plan_for
from opgen.suite.suite import Suite
from tests.support.enumerations import enumerated, enumerated_once

T = TypeVar("T")
OF_EACH_KIND = {
    "avg_pool2d_backward",  # windows, modes
    "batch_norm_backward",  # formats, optional tensors
    "convolution_backward",  # groups, arrays that may have one value
    "embedding_dense_backward",  # an index, unsigned numbers
    "gelu_backward_v2",  # a string
    "grid_sampler2d_backward",  # geometry in the data
    "group_norm_backward",  # products of extents
    "layer_norm_backward",  # the end of a shape
    "log_softmax_backward",  # an axis
    "max_pool2d_with_indices_backward",  # indices of a forward
    "nll_loss_backward",  # targets, an ignored value
    "reflection_pad2d_backward",  # limits between extents
    "silu_backward",  # shapes that are broadcast
    "threshold_backward",  # a scalar with a dtype
    "upsample_bilinear2d_backward_v2",  # real numbers
}
"""Operators whose pages say together what pages of the vendor say."""
EVERY = tuple(spec.name for spec in catalog().specs)
SLOW = os.environ.get("OPGEN_SLOW") == "1"
PAGES = tuple(spec.name for spec in catalog().specs if spec.op in OF_EACH_KIND or SLOW)
"""The pages whose standard suites are looked at closely; with ``OPGEN_SLOW=1`` all."""
_FEW = ("avg_pool2d_backward", "reflection_pad2d_backward", "reflection_pad2d_backward.2026-08")
FULL = PAGES if SLOW else _FEW
"""The pages whose full suites are made; with ``OPGEN_SLOW=1`` all whose standard suites are."""
SUITES = (
    *((name, "smoke") for name in EVERY),
    *((name, "standard") for name in PAGES),
)
"""Every page with its smoke suite, and those pages with their standard suites."""


def sampled(things: Iterable[T], one_in: int, name: str) -> list[T]:
    """Every so many of the things that are tried with a page or an operator, the first of them by
    its place among others, so that together they try all; with ``OPGEN_SLOW=1`` all of each.
    """
    names = [*EVERY, *catalog().operators]
    return list(things) if SLOW else list(things)[names.index(name) % one_in :: one_in]


def page(name: str) -> Spec:
    return next(spec for spec in catalog().specs if spec.name == name)


@cache
def plan(op: str) -> Plan:
    return plan_for(op)


def enumeration(name: str, tier: str = "standard") -> Enumeration:
    """What the suite of one page is made of."""
    return enumerated(page(name), plan(page(name).op), tier, (), RANDOM_STATE)


@cache
def suite(name: str, tier: str = "standard") -> Suite:
    """The suite of one page."""
    return together((name,), tier)


@cache
def together(names: tuple[str, ...], tier: str) -> Suite:
    """One suite of several pages."""
    with enumerated_once():
        return plan_suite([(page(name), plan(page(name).op)) for name in names], tier)


def of_calls(calls: Sequence[NamedCall], **more: Any) -> Suite:
    """The suite of calls that the shipped pages judge and the shipped plans fill."""
    return call_suite(
        calls,
        lambda call: catalog().by_page[call.api, call.product],
        lambda spec: plan(spec.op),
        **more,
    )


def without_rule(spec: Spec, rule: str) -> Spec:
    """The same page, had a rule been forgotten."""
    assert rule in spec.rule
    return replace(spec, rules=tuple(one for one in spec.rules if one.id != rule))


def without_clause(spec: Spec, clause: str) -> Spec:
    """The same page, had a numbered clause been forgotten: its rules have no code."""
    rules = tuple(
        replace(one, code=None, clause=None, bucket="unstated") if one.clause == clause else one
        for one in spec.rules
    )
    return replace(
        spec,
        rules=rules,
        clauses={name: line for name, line in spec.clauses.items() if name != clause},
    )


def computed() -> list[str]:
    """Operators that have a kernel: all but those of which only statuses are checked."""
    return sorted(
        spec.op for spec in {s.op: s for s in catalog().specs}.values() if not spec.status_only
    )


def sharing_a_mean(batch: Batch) -> float:
    """Elements that were normalized by one mean: the gradient of one of them is 0 whatever its
    data, and that of two is what the epsilon leaves of a difference. Inf where no mean is saved.
    """
    means = (name for name in ("mean", "saveMean") if batch.roles.get(name) == "saved")
    sizes = [prod(batch.tensors[name].shape) for name in ("input", *means) if name in batch.tensors]
    return sizes[0] / sizes[1] if sizes[1:] and sizes[1] else inf


def expanded(batch: Batch) -> bool:
    """Whether an input repeats its elements by a stride of 0: a single value may be in none of
    them or in many, and a gradient that is the same everywhere cancels where a mean is taken.
    """
    return any(
        extent > 1 and not stride
        for desc in map(batch.tensors.get, batch.inputs)
        if desc is not None and not desc.plain
        for extent, stride in zip(desc.shape, desc.strides or (), strict=False)
    )
