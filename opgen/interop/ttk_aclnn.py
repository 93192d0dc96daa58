"""TTK's aclnn mode: rows that call an operator of the aclnn interface.

``tensor_view_shapes`` holds all tensors in the order of the prototype, outputs among them, None for
a null pointer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opgen.calls.kinds import KINDS, prototype
from opgen.interop import names, values
from opgen.interop.importing import ImportedCase
from opgen.interop.names import Unreadable, shown
from opgen.interop.values import Row
from opgen.spec.catalog import Catalog
from opgen.spec.spec import Spec

COLUMNS = (
    "testcase_name",
    "network_name",
    "api_name",
    "tensor_view_shapes",
    "tensor_dtypes",
    "tensor_formats",
    "tensor_storage_shapes",
    "tensor_view_offsets",
    "tensor_view_strides",
    "output_tensor_indexes",
    "output_inplace_indexes",
    "attributes",
    "scalar_dtypes",
    "scalar_data_ranges",
    "input_data_ranges",
    "precision_tolerances",
    "absolute_precision",
    "is_enabled",
    "remark",
    "soc_series",
    "priority",
    "dump_file_prefix",
    "manual_tensor_binaries",
    "manual_golden_binaries",
    "batch_seed",
    "batch_axis",
    "batch_slice_info",
)
"""The columns of the aclnn mode, in their order."""
NEEDED = ("testcase_name", "api_name", "tensor_view_shapes", "tensor_dtypes")
TENSORS: Mapping[str, tuple[str, object]] = {
    "tensor_view_shapes": ("shape", None),
    "tensor_dtypes": ("dtype", "FLOAT"),
    "tensor_formats": ("format", "ND"),
    "tensor_storage_shapes": ("storage_shape", None),
    "tensor_view_offsets": ("offset", 0),
    "tensor_view_strides": ("strides", None),
    "input_data_ranges": ("range", (None, None)),
}
"""Column with an item per tensor -> the fact of a tensor that it says, and what stands there for a
tensor of which there is nothing to say."""
_FOR_ALL = ("tensor_dtypes", "tensor_formats")
"""Columns whose only item is that of all tensors."""
_SHORT = ("tensor_formats", "input_data_ranges")
"""Columns in which the last tensors may be left out."""


def read(row: Row, case: ImportedCase, catalog: Catalog) -> None:
    """Fill ``case`` from a row of the aclnn mode; raises :class:`Unreadable`."""
    case.api = names.api(row["api_name"], catalog)
    spec = catalog.of(case.api)[0]
    kinds = {name: KINDS[spec.parameters[name].kind] for name in prototype(spec.kinds)}
    tensors = [name for name, kind in kinds.items() if kind.family in ("tensor", "list")]
    outputs = [name for name in tensors if kinds[name].written]
    inputs = [name for name in tensors if kinds[name].read]
    count = len(values.items(row, "tensor_view_shapes"))
    if count == len(inputs) < len(tensors):
        case.notes.append(
            f"{', '.join(name for name in tensors if name not in inputs)}: not in the file; made"
            " from the page"
        )
        tensors = inputs
    elif count != len(tensors):
        raise Unreadable(
            f"tensor_view_shapes: {count} tensors; {case.api} has {len(tensors)}:"
            f" {', '.join(tensors)}"
        )
    _check_outputs(row, tensors, outputs)
    facts = {fact: _per_tensor(row, column, tensors) for column, (fact, _) in TENSORS.items()}
    for name, *of_tensor in zip(tensors, *facts.values(), strict=True):
        with values.about(name):
            made = _tensors if kinds[name].family == "list" else _tensor
            case.args[name] = made(name, dict(zip(facts, of_tensor, strict=True)), case.notes)
    _attributes(row, spec, case)


def _check_outputs(row: Row, tensors: list[str], outputs: list[str]) -> None:
    """``output_tensor_indexes`` must mean what the page calls outputs."""
    indexes = values.items(row, "output_tensor_indexes")
    places = [i for i, name in enumerate(tensors) if name in outputs]
    if indexes and sorted(indexes, key=str) != sorted(places, key=str):
        raise Unreadable(
            f"output_tensor_indexes: {shown(indexes)}; the outputs {', '.join(outputs)} stand at"
            f" {places}"
        )


def _per_tensor(row: Row, column: str, tensors: Sequence[str]) -> list[Any]:
    """A fact of every tensor; None where the row says nothing."""
    facts = values.items(row, column)
    if len(facts) == 1 and column in _FOR_ALL:
        return facts * len(tensors)
    if column in _SHORT or (not facts and column != "tensor_dtypes"):
        facts += [None] * (len(tensors) - len(facts))
    if len(facts) != len(tensors):
        raise Unreadable(f"{column}: {shown(facts)}: expects one for each of {', '.join(tensors)}")
    return facts


def _tensor(name: str, facts: dict[str, Any], notes: list[str]) -> dict[str, object] | None:
    """A tensor as a call has it, or a null pointer."""
    if facts["shape"] is None:
        return None
    desc = facts | {
        "dtype": names.dtype(facts["dtype"]),
        "format": names.layout(facts["format"] or "ND"),
        "range": values.limits(name, facts["range"], notes),
    }
    plain = facts["strides"] is None and not facts["offset"]
    if plain and facts["storage_shape"] == facts["shape"]:
        desc["storage_shape"] = None
    return desc


def _tensors(name: str, facts: dict[str, Any], notes: list[str]) -> list[object] | None:
    """A list of tensors: a shape of each, and every other fact of each, or one of all."""
    if facts["shape"] is None:
        return None
    shapes = values.of_kind(list, facts["shape"], "a tuple of shapes, one for each tensor")
    said = {
        fact: value if _of_each(fact, value) else [value] * len(shapes)
        for fact, value in facts.items()
    }
    for fact, listed in said.items():
        if len(listed) != len(shapes):
            raise Unreadable(f"{fact}: {shown(listed)}: expects one for each of {len(shapes)}")
    each = (dict(zip(said, item, strict=True)) for item in zip(*said.values(), strict=True))
    return [_tensor(f"{name}[{i}]", of, notes) for i, of in enumerate(each)]


def _of_each(fact: str, value: object) -> bool:
    """Whether what is said of a list of tensors is said of each: numbers alone are the storage, the
    strides or the range of one.
    """
    alone = fact not in ("shape", "dtype", "format", "offset")
    return isinstance(value, list) and not (
        alone and value and all(isinstance(number, int | float) for number in value)
    )


def _attributes(row: Row, spec: Spec, case: ImportedCase) -> None:
    families = {name: KINDS[kind].family for name, kind in spec.kinds.items()}
    kinds = {n: spec.kinds[n] for n, of in families.items() if of not in ("tensor", "list")}
    for key, value in values.attributes(row).items():
        with values.about("attributes"):
            name = names.match(key, kinds)
            if name is None:
                raise Unreadable(f"{spec.api} has no {shown(key)}; it takes {', '.join(kinds)}")
            case.take(name, values.argument(kinds[name], value))
