"""The columns of a table of calls, one for each parameter, from the names that a builder reads."""

from __future__ import annotations

import numpy as np

from opgen.calls import typed
from opgen.calls.columns import ArrayColumn, Column, ScalarColumn, TensorColumn, TypedColumn
from opgen.calls.kinds import KINDS
from opgen.calls.vocabulary import vocabulary
from opgen.spec.parameter import Parameter
from opgen.suite.planning import strides
from opgen.suite.planning.derive import Source, slots
from opgen.suite.planning.overlay import flat


def column(builder: Source, parameter: Parameter) -> Column:
    """What every row gives for a parameter."""
    name = parameter.name
    if not parameter.is_tensor and not parameter.is_array:
        kind = KINDS[parameter.kind]
        values = flat(builder, name, "len" if parameter.is_list else "")
        element, null = kind.element, np.zeros(builder.rows, dtype=bool)
        if parameter.is_pointer:
            null = flat(builder, name, "null").astype(bool)
            values = np.where(null, element.blank, values)
        if kind.family == "typed":
            dtype = _word(builder, name, "dtype", null)
            return TypedColumn(null, dtype, typed.rounded(values, dtype))
        wide = values.dtype == object
        return ScalarColumn(null, values if wide else values.astype(element.dtype))
    null = flat(builder, name, "null").astype(bool)
    if parameter.of:  # no tensor stands behind the end of its list
        null = (
            null
            | (flat(builder, parameter.of, "len") <= parameter.place)
            | flat(builder, parameter.of, "null").astype(bool)
        )
    if parameter.is_array:
        length, values = slots(builder, parameter)
        inside = (np.arange(values.shape[1]) < length[:, None]) & ~null[:, None]
        return ArrayColumn(
            null, np.where(null, 0, length), np.where(inside, values, 0).astype(values.dtype)
        )
    rank, extents = builder.get((name, "shape")).data
    rank = np.where(null, 0, np.broadcast_to(rank, builder.rows))
    extents = np.where(
        np.arange(extents.shape[1]) < rank[:, None],
        np.broadcast_to(extents, (builder.rows, extents.shape[1])),
        1,
    )
    laid = strides.lay_out(rank, extents, np.where(null, 0, flat(builder, name, "view")))
    dtype, layout = (_word(builder, name, what, null) for what in ("dtype", "format"))
    return TensorColumn(
        null,
        dtype,
        layout,
        rank,
        extents,
        laid.strided,
        laid.strides,
        laid.offset,
        laid.storage_rank,
        laid.storage,
        _limits(builder, name),
    )


def _word(builder: Source, name: str, what: str, null: np.ndarray) -> np.ndarray:
    """(rows,) the dtype or format of a parameter, undefined where it is null."""
    undefined = vocabulary().index[what]["UNDEFINED"]
    return np.where(null, undefined, flat(builder, name, what)).astype(np.int16)


def _limits(builder: Source, name: str) -> np.ndarray:
    """(rows, 2) between which numbers data are asked for: where an edit says one, the other is
    the same.
    """
    ends = [builder.get((name, what)) for what in ("least", "greatest")]
    asked = np.full((builder.rows, 2), np.nan)
    for end, value in enumerate(ends):
        asked[:, end] = np.where(value.bound, value.data, np.nan)
    return np.where(np.isnan(asked), asked[:, ::-1], asked)
