"""Which value a name has: the first place that binds it, its fallback, or none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opgen.calls.table import from_calls
from opgen.model import Call, TensorDesc
from opgen.spec import specfile
from opgen.spec.language import parse
from opgen.spec.spec import SpecScope
from opgen.spec.table_view import TableView
from tests.support.spec_sample import TEXT

SPEC = specfile.loads(TEXT)
ARGS: dict[str, Any] = {
    "gradOutput": TensorDesc((2, 3, 4), "FLOAT"),
    "self": TensorDesc((5, 6, 7), "FLOAT16", "NCL", (42, 7, 1)),
    "scale": TensorDesc((9,), "INT8"),
    "kernel": (2, 3),
    "stride": (4, 5),
    "mode": 1,
    "divisor": -3,
    "ceil": True,
    "mask": (True, False),
    "gradInput": TensorDesc((), "FLOAT"),
}


def test_names_may_be_added_and_are_whole_numbers() -> None:
    calls = [Call(SPEC.api, "ascend910", {**ARGS, "kernel": (k,)}) for k in (4, 6, 7)]
    view = TableView(SPEC, from_calls(SPEC.api, SPEC.kinds, calls))
    half = parse.term("kH / 2", SPEC.scope)
    added = view.naming({"half": half}).get(("half", ""))
    assert added.data.tolist()[:2] == [2, 3] and added.bound.tolist() == [True, True, False]
    assert SpecScope(SPEC.parameters, {"half": half}).kind(("half", "")) == "int"


def value(reference: tuple[str, Any], **changes: Any) -> Any:
    """The value of a reference for one call, ``None`` where it is unbound."""
    calls = [Call(SPEC.api, "ascend910b", {**ARGS, **changes}), Call(SPEC.api, "ascend910", ARGS)]
    table = from_calls(SPEC.api, SPEC.kinds, calls)
    read = TableView(SPEC, table).get(reference)
    if not np.broadcast_to(read.bound, 2)[0]:
        return None
    if reference[1] == "shape":
        rank, extents = read.data
        return extents[0, : rank[0]].tolist()
    return np.broadcast_to(read.data, 2)[0].item()


BOUND = [
    # letters: the first tensor that has them; a rank that the page does not know gives none
    (("N", ""), {}, 2),
    (("N", ""), {"gradOutput": None}, 5),
    (("N", ""), {"gradOutput": TensorDesc((2,), "FLOAT")}, 5),
    (("N", ""), {"gradOutput": TensorDesc((3, 4), "FLOAT")}, 5),
    (("N", ""), {"gradOutput": None, "self": None}, None),
    (("Hout", ""), {"gradOutput": TensorDesc((3, 4), "FLOAT")}, 3),
    (("W", ""), {}, 7),
    (("W", ""), {"self": None}, None),
    # slots: length 1 stands for all, length 0 falls back, another length means nothing
    (("kH", ""), {}, 2),
    (("kW", ""), {}, 3),
    (("kH", ""), {"kernel": (8,)}, 8),
    (("kW", ""), {"kernel": (8,)}, 8),
    (("kW", ""), {"kernel": None}, None),
    (("kW", ""), {"kernel": ()}, None),
    (("kW", ""), {"kernel": (1, 2, 3)}, None),
    (("sW", ""), {}, 5),
    (("sW", ""), {"stride": ()}, 3),
    (("sH", ""), {"stride": (), "kernel": (8,)}, 8),
    (("sW", ""), {"stride": None}, None),
    (("sW", ""), {"stride": (), "kernel": None}, None),
    (("sW", ""), {"stride": (1, 2, 3)}, None),
    # attributes
    (("self", "dtype"), {}, 1),
    (("self", "dtype"), {"self": None}, None),
    (("self", "null"), {"self": None}, True),
    (("self", "null"), {}, False),
    (("self", "rank"), {}, 3),
    (("self", "shape"), {}, [5, 6, 7]),
    (("self", "numel"), {}, 210),
    (("self", "strided"), {}, False),
    (("self", "strided"), {"self": TensorDesc((5, 6, 7), "FLOAT", "NCL", (7, 35, 1))}, True),
    (("self", "strided"), {"self": TensorDesc((5, 1, 7), "FLOAT", "NCL", (7, 0, 1))}, False),
    (("self", "strided"), {"self": TensorDesc((5, 0, 7), "FLOAT", "NCL", (9, 9, 9))}, False),
    (("self", "strided"), {"self": TensorDesc((5, 6, 7), "FLOAT", "NCL", (84, 14, 2))}, True),
    (
        ("self", "strided"),
        {"self": TensorDesc((5, 6, 7), "FLOAT", "NCL", (42, 7, 1), 3, (213,))},
        False,
    ),
    (("self", "storage_numel"), {}, 210),
    (("self", "storage_numel"), {"self": TensorDesc((5, 6, 7), "FLOAT", "NCL", (84, 14, 2))}, 419),
    (("self", "storage_numel"), {"self": TensorDesc((0, 6), "FLOAT", "ND", (6, 1), 0, (8,))}, 8),
    (("self", "storage_numel"), {"self": TensorDesc((0, 6), "FLOAT", "ND", (6, 1))}, 0),
    (("self", "storage_numel"), {"self": TensorDesc((-2, 6), "FLOAT")}, -12),
    (("self", "storage_numel"), {"self": TensorDesc((2**31, 2**31), "FLOAT")}, 2**62),
    (("gradOutput", "strided"), {}, False),
    (("gradInput", "numel"), {}, 1),
    (("gradInput", "shape"), {}, []),
    (("gradInput", "rank"), {}, 0),
    (("self", "lowest"), {}, 5),
    (("self", "highest"), {}, 7),
    (("gradInput", "lowest"), {}, None),
    (("self", "highest"), {"self": None}, None),
    (("self", ("dim", 0)), {}, 5),
    (("self", ("dim", -1)), {}, 7),
    (("self", ("dim", 3)), {}, None),
    (("self", ("dim", -4)), {}, None),
    (("scale", ("dim", -1)), {}, 9),
    (("gradInput", ("dim", 0)), {}, None),
    (("gradInput", ("dim", -1)), {}, None),
    # arrays
    (("kernel", "len"), {}, 2),
    (("kernel", "len"), {"kernel": None}, None),
    (("kernel", "len"), {"kernel": ()}, 0),
    (("kernel", 0), {}, 2),
    (("kernel", -1), {}, 3),
    (("kernel", 2), {}, None),
    (("kernel", -3), {}, None),
    (("kernel", -1), {"kernel": (8,)}, 8),
    (("kernel", -1), {"kernel": (7, 8, 9)}, 9),
    (("kernel", 4000), {}, None),
    (("kernel", "lowest"), {"kernel": (5, -4)}, -4),
    (("kernel", "highest"), {"kernel": (-5, -4)}, -4),
    (("kernel", "lowest"), {"kernel": ()}, None),
    (("kernel", "lowest"), {"kernel": None}, None),
    (("kernel", "highest"), {"kernel": (2**63 - 1, 0)}, 2**63 - 1),
    (("mask", 0), {}, True),
    (("mask", 1), {"mask": (True,)}, None),
    (("mask", "null"), {"mask": None}, True),
    # scalars and the product
    (("divisor", ""), {}, -3),
    (("ceil", ""), {}, True),
    (("product", ""), {}, 2),
]


@pytest.mark.parametrize(("reference", "changes", "expected"), BOUND)
def test_what_a_name_is(reference: tuple[str, Any], changes: dict[str, Any], expected: Any) -> None:
    found = value(reference, **changes)
    assert found == expected and type(found) is type(expected)


def test_values_are_computed_once() -> None:
    view = TableView(SPEC, from_calls(SPEC.api, SPEC.kinds, [Call(SPEC.api, "ascend910", ARGS)]))
    assert view.get(("self", "numel")) is view.get(("self", "numel"))
