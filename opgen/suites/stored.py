"""Which tensors of a call are kept in a bundle, and how many elements each takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from typing import Literal, TypeAlias

import numpy as np

from opgen.calls.distinct import names_that_hold
from opgen.model import Argument, Call, TensorDesc
from opgen.numbers.formats import DTYPES
from opgen.page.spec import Spec

Stored: TypeAlias = tuple[str, Literal["input", "golden", "bound"], str, int]
"""One tensor of a case that has data: its parameter, role, dtype and elements; a plain tuple, because suites hold very many."""


def stored(spec: Spec, calls: Sequence[Call], wanted: Mapping[str, np.ndarray]) -> list[list[Stored]]:
    """The tensors of each call: every input, and a golden and a bound per output that is wanted (output -> (calls,) bool)."""
    inputs = tuple(p.name for p in spec.inputs)
    return [_tensors(call.args, inputs, outputs) for call, outputs in zip(calls, names_that_hold(wanted), strict=True)]


def _tensors(args: Mapping[str, Argument], inputs: tuple[str, ...], outputs: tuple[str, ...]) -> list[Stored]:
    found: list[Stored] = []
    for name in inputs:
        desc = args[name]
        if isinstance(desc, TensorDesc):
            found.append((name, "input", desc.dtype, desc.storage_elements))
    for name in outputs:
        desc = args[name]
        assert isinstance(desc, TensorDesc)
        elements, (golden, bound) = prod(desc.shape), _kept(desc.dtype)
        found += (name, "golden", golden, elements), (name, "bound", bound, elements)
    return found


@cache
def _kept(dtype: str) -> tuple[str, str]:
    """The dtypes of an output's golden and bound."""
    return DTYPES[dtype].golden, DTYPES[dtype].bound
