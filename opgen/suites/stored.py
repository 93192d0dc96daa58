"""Which tensors of a call are kept in a bundle, and how many elements each takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Literal, NamedTuple

import numpy as np

from opgen.calls.distinct import chosen
from opgen.model import Call, TensorDesc
from opgen.numbers.numerics import DTYPES, golden_dtype
from opgen.page.spec import Spec


class Stored(NamedTuple):
    """One tensor of a case that has data."""

    name: str
    role: Literal["input", "golden", "bound"]
    dtype: str
    elements: int | tuple[int, ...]


def stored(spec: Spec, calls: Sequence[Call], wanted: Mapping[str, np.ndarray]) -> list[list[Stored]]:
    """The tensors of each call: every input, and a golden and a bound per output that is wanted (output -> (calls,) bool)."""
    inputs = tuple(p.name for p in spec.inputs)
    return [list(_tensors(call, inputs, outputs)) for call, outputs in zip(calls, chosen(wanted), strict=True)]


def _tensors(call: Call, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Iterator[Stored]:
    for name in inputs:
        desc = call.args[name]
        if isinstance(desc, TensorDesc):
            yield Stored(name, "input", desc.dtype, storage_elements(desc))
    for name in outputs:
        desc = call.args[name]
        assert isinstance(desc, TensorDesc)
        yield Stored(name, "golden", golden_dtype(desc.dtype), desc.shape)
        yield Stored(name, "bound", "COMPLEX64" if DTYPES[desc.dtype].complex else "FLOAT", desc.shape)


def storage_elements(desc: TensorDesc) -> int:
    """Elements of the buffer that a tensor's view lies in."""
    if desc.storage_shape is not None:
        return prod(desc.storage_shape)
    if desc.strides is None:
        return desc.offset + prod(desc.shape)
    if not all(desc.shape):
        return desc.offset
    return desc.offset + sum((extent - 1) * stride for extent, stride in zip(desc.shape, desc.strides, strict=True)) + 1
