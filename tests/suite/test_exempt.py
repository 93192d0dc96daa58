"""Calls that do what a rule forbids, where its condition does not hold: legal, and each a case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pytest

from opgen.model import Case
from tests.support.suites import page, suite

POOL, NORM, PAD = "avg_pool2d_backward", "group_norm_backward", "reflection_pad2d_backward"
A2, ATLAS = "convolution_backward.ascend910b", "convolution_backward.atlas"
Args = Mapping[str, Any]
FLOATS = ("gradOutput", "input", "weight")


def mode(product: str, dtype: str, number: int) -> Callable[[Case], bool]:
    return lambda case: (
        case.call.product == product
        and case.call.args["cubeMathType"] == number
        and all(case.call.args[name].dtype == dtype for name in FLOATS if name in case.call.args)
    )


def of(test: Callable[[Args], bool], *products: str) -> Callable[[Case], bool]:
    return lambda case: test(case.call.args) and (not products or case.call.product in products)


def space(args: Args, name: str = "weight") -> tuple[int, ...]:
    return tuple(args[name].shape[2:])


def rank(n: int) -> Callable[[Args], bool]:
    return lambda args: len(args["gradOut"].shape) == n


NEIGHBOURS = [
    *((POOL, f"FLOAT in mode 2 on {p}", mode(p, "FLOAT", 2)) for p in ("ascend310p", "ascend910b")),
    (POOL, "padding of one item", of(lambda a: len(a["padding"]) == 1, "ascend910b")),
    (A2, "3D strideD 64", of(lambda a: len(a["stride"]) == 3 and a["stride"][0] > 63)),
    (A2, "3D paddingD 256", of(lambda a: len(a["padding"]) == 3 and a["padding"][0] > 255)),
    (A2, "3D kD 256", of(lambda a: len(space(a)) == 3 and space(a)[0] > 255)),
    (A2, "1D or 2D stride 64", of(lambda a: len(a["stride"]) < 3 and max(a["stride"]) > 63)),
    *(
        (
            A2,
            f"transposed with {name} of 256",
            of(lambda a, name=name: a["transposed"] and max(a[name]) > 255),
        )
        for name in ("padding", "dilation")
    ),
    (A2, "transposed with a kernel of 256", of(lambda a: a["transposed"] and max(space(a)) > 255)),
    (A2, "transposed with 65536 groups", of(lambda a: a["transposed"] and a["groups"] > 65535)),
    (A2, "groups in 2D", of(lambda a: len(space(a)) == 2 and a["groups"] > 1, "ascend910b")),
    *(
        (A2, f"FLOAT in mode {n} on {p}", mode(p, "FLOAT", n))
        for n in (1, 2, 3)
        for p in ("ascend910b", "ascend910_93")
    ),
    (A2, "FLOAT16 in mode 0", mode("ascend910b", "FLOAT16", 0)),
    (ATLAS, "a kernel of 256", of(lambda a: not a["transposed"] and max(space(a)) > 255)),
    (ATLAS, "a dilation of 256", of(lambda a: max(a["dilation"]) > 255, "ascend910")),
    (ATLAS, "mixed dtypes", of(lambda a: len({a[n].dtype for n in FLOATS}) > 1, "ascend910")),
    (PAD, "no padding", of(lambda a: not any(a["padding"]))),
    (PAD, "four paddings", of(lambda a: len(set(a["padding"])) == 4)),
    *(
        (NORM, f"rank {n} on {p}", of(rank(n), p))
        for n in (2, 4, 5, 6, 7, 8)
        for p in ("ascend910", "ascend910b")
    ),
    *(
        (NORM, f"mask {mask} on {p}", of(lambda a, mask=mask: a["outputMask"] == mask, p))
        for mask in product((True, False), repeat=3)
        for p in ("ascend910", "ascend910b")
    ),
    (NORM, "8000 channels of a group", of(lambda a: a["C"] // max(a["group"], 1) == 8000)),
    (NORM, "more than 8000", of(lambda a: a["C"] // max(a["group"], 1) > 8000, "ascend910")),
]


@pytest.mark.parametrize(
    ("name", "test"),
    [(name, test) for name, _, test in NEIGHBOURS],
    ids=[f"{n}: {w}" for n, w, _ in NEIGHBOURS],
)
def test_a_legal_neighbour_of_a_limit_that_holds_elsewhere_is_a_case(
    name: str, test: Callable[[Case], bool]
) -> None:
    assert any(case.page.bucket == "valid" and test(case) for case in suite(name).cases)


BEYOND = [
    (POOL, "null stride", "crash", "assumed", of(lambda a: a["stride"] is None)),
    *(
        (NORM, f"group {n} on {p}", "standard", "unstated", of(lambda a, n=n: a["group"] == n, p))
        for n in (0, -1)
        for p in ("ascend910", "ascend910b")
    ),
]
"""Calls on which the page is silent, or that it forbids without a code."""


@pytest.mark.parametrize(
    ("name", "tier", "bucket", "test"),
    [(name, tier, bucket, test) for name, _, tier, bucket, test in BEYOND],
    ids=[f"{n}: {w}" for n, w, *_ in BEYOND],
)
def test_what_the_page_leaves_open_there_is_a_case_too(
    name: str, tier: str, bucket: str, test: Callable[[Case], bool]
) -> None:
    assert any(case.page.bucket == bucket and test(case) for case in suite(name, tier).cases)


@pytest.mark.parametrize("name", [POOL, NORM, A2, ATLAS])
def test_what_is_exempt_is_legal_and_breaks_the_bare_relation(name: str) -> None:
    spec, seen = page(name), 0
    for case in suite(name, "smoke").cases:
        for part in case.intent.split("; "):
            if part.endswith(" forbids elsewhere"):
                rule = spec.rule[part.split(" ")[2]]
                assert case.page.bucket == "valid" and rule.forbids
                assert any(guard.when is not None for guard in rule.guards)
                seen += 1
    assert seen or name in (POOL, NORM)
