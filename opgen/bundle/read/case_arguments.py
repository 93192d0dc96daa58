"""The arguments of a case's call, from the rows of a bundle that tell of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opgen.bundle.format.dtypes import ROLES, WORDS
from opgen.bundle.format.tensorrow import TensorRow
from opgen.bundle.read.contents import BundleTables
from opgen.calls import reals
from opgen.calls.typed import value_of
from opgen.model import AclScalar, Argument, TensorDesc

_ITEMS: Mapping[str, Callable[[int], float]] = {
    "int_array": int,
    "bool_array": bool,
    "float_array": reals.of_bits,
}


def arguments(
    bundle: BundleTables, op: str, number: int, tensors: Sequence[TensorRow], first: int
) -> dict[str, Argument]:
    """The arguments of a call of ``op``, in prototype order: its row of the attributes has a
    ``number``, and its ``tensors`` are rows from ``first`` on.
    """
    described = {
        bundle.names[row.name]: _desc(bundle, row, first + i)
        for i, row in enumerate(tensors)
        if row.role < ROLES["golden"]
    }
    values = bundle.tables[f"attributes/{op}"][number].item()
    args: dict[str, Argument] = {}
    for name, kind, column, null, dtype in bundle.parameters[op]:
        if kind == "tensor":
            args[name] = described.get(name)
        elif kind == "null" or (null >= 0 and values[null]):
            args[name] = None
        elif kind.endswith("_array"):
            items = bundle.sequence(values[column])
            args[name] = None if items is None else tuple(map(_ITEMS[kind], items))
        elif kind == "scalar":
            word = WORDS[values[dtype]]
            args[name] = AclScalar(value_of(values[column], word), word)
        elif kind == "string":
            args[name] = bundle.strings[values[column]]
        else:
            args[name] = values[column]
    return args


def _desc(bundle: BundleTables, row: TensorRow, number: int) -> TensorDesc:
    return TensorDesc(
        bundle.sequence(row.shape) or (),
        bundle.words["tensors.dtype"][row.dtype],
        bundle.words["tensors.format"][row.format],
        bundle.sequence(row.strides),
        row.offset,
        bundle.sequence(row.storage_shape),
        bundle.ranges.get(number),
    )
