"""Why an output failed, in a sentence: how many elements, where, the worst of them, and what the
output looks like instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.comparison.elements import Errors, errors
from opgen.comparison.likeness import resembles
from opgen.comparison.pattern import axis_names, describe
from opgen.numerics import canary
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES
from opgen.spec.catalog import catalog

_NAMES = {dtype.numpy: name for name, dtype in DTYPES.items()}


@dataclass(frozen=True)
class ComparedOutput:
    """One output in its shape: what the device returned, what was expected, the bound. ``form``:
    the shape that ``axes`` name.
    """

    name: str
    device: Array
    golden: Array
    bound: Array
    form: tuple[int, ...]
    axes: tuple[str, ...]
    untouched: int = 0
    dtype: str = ""

    @cached_property
    def errors(self) -> Errors:
        """The errors of its elements."""
        return errors(self.device, self.golden, self.bound)


def compared(case: CaseView, name: str, device: Array) -> ComparedOutput:
    """Lay one flat output of a device beside its golden."""
    golden, bound = case.golden[name], case.bound[name]
    wide = np.complex128 if np.iscomplexobj(golden) else np.float64
    with np.errstate(invalid="ignore"):  # a NaN may be a signalling one
        values = device.reshape(golden.shape).astype(wide)
    return ComparedOutput(
        name,
        values,
        golden.astype(wide),
        bound.astype(wide),
        *form_of(case, name),
        untouched(device),
        _NAMES[device.dtype],
    )


def form_of(case: CaseView, name: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The shape to look at an output in, and the names of its axes.

    Its letters are those of the input that it is the gradient of, by its shape and its name. Where
    the shape is free and N, C and HxW say what it stands for, that is its shape; channels are split
    into groups where there are any.
    """
    args = case.call["args"]
    shape = tuple(args[name]["shape"])
    spec = catalog().by_page.get((case.op, case.product))
    letters: tuple[str | int, ...] = ()
    if spec is not None:
        alike = [
            p
            for p in spec.parameters.values()
            if p.is_tensor
            and args.get(p.name)
            and tuple(args[p.name]["shape"]) == shape
            and len(shape) in p.shapes
        ]
        alike.sort(
            key=lambda p: (
                p.name != name,
                p.name.lower() not in name.lower(),
                p.name.startswith("grad"),
            )
        )
        letters = alike[0].shapes[len(shape)] if alike else ()
    if not letters:
        shape, letters = _free(args, shape)
    words = tuple(
        "K" if letter == "W0" else "C" if letter == "W1" else letter for letter in letters
    )
    groups = next((args[key] for key in ("groups", "group") if isinstance(args.get(key), int)), 1)
    for at, letter in enumerate(words):
        split = letter == "K" or (str(letter).startswith("C") and "K" not in words)
        if split and groups > 1 and shape[at] % groups == 0:
            shape = (*shape[:at], groups, shape[at] // groups, *shape[at + 1 :])
            words = (*words[:at], "G", *words[at:])
            break
    return shape, axis_names(len(shape), words)


def _free(
    args: Mapping[str, Any], shape: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """A shape that is free: what N, C and HxW make of it, where they are arguments; else a vector
    has a value per channel.
    """
    sizes = {
        letter: args[key]
        for letter, key in (("N", "N"), ("C", "C"), ("P", "HxW"))
        if isinstance(args.get(key), int)
    }
    for letters in (("N", "C", "P"), ("N", "C"), ("C",)):
        if set(letters) <= set(sizes) and prod(shape) == prod(sizes[letter] for letter in letters):
            return tuple(sizes[letter] for letter in letters), letters
    return shape, ("C",) if len(shape) == 1 else ()


def likeness(found: ComparedOutput) -> str:
    """What a wrong output is instead of what is expected; empty where it is nothing simple."""
    if found.untouched:
        return (
            "nothing was written"
            if found.untouched == found.device.size
            else f"{found.untouched} elements were never written"
        )
    return resembles(found.device, found.golden, found.errors.wrong, found.dtype)


def sentence(found: ComparedOutput, like: str) -> str:
    """One output that disagrees, for people; ``like``: its :func:`likeness`."""
    _, ratio, wrong = found.errors
    count = int(wrong.sum())
    where = describe(wrong.reshape(found.form), found.axes)
    at = (
        np.unravel_index(int(np.argmax(np.where(np.isnan(ratio), np.inf, ratio))), ratio.shape)
        if ratio.ndim
        else ()
    )
    worst = [int(i) for i in at]
    got, expected = told_apart(found.device[at], found.golden[at])
    text = f"{found.name}: {count} of {wrong.size} elements beyond the bound"
    text += f", {where}" if where else ""
    text += f"; worst at {worst}: {got}, expected {expected} ± {_size(found.bound[at]):.3g}"
    if np.isfinite(ratio[at]) and ratio[at] >= 1:
        text += f" ({ratio[at]:.3g} × bound)"
    return text + (f"; {like}" if like else "")


def told_apart(one: Array, other: Array) -> tuple[str, str]:
    """Two numbers with nine digits, or with all that they have where those do not tell them apart.

    >>> one = np.float64(1)
    >>> told_apart(np.float64(0.1), np.float64(2)), told_apart(one, np.float64(1 + 2**-52))
    (('0.1', '2'), ('1.0', '1.0000000000000002'))
    """
    short = f"{one:.9g}", f"{other:.9g}"
    return short if short[0] != short[1] else (str(one), str(other))


def untouched(device: Array) -> int:
    """How many elements of an output still hold the canary that the aclnn backend lays in it: a NaN
    that no operation produces.
    """
    pattern = canary.pattern(_NAMES[device.dtype], device.itemsize)
    return int(
        (
            np.ascontiguousarray(device).reshape(-1).view(np.uint8).reshape(-1, device.itemsize)
            == pattern
        )
        .all(axis=1)
        .sum()
    )


def _size(bound: Array) -> float:
    return float(max(np.real(bound), np.imag(bound)))


def call_line(call: Mapping[str, object]) -> str:
    """A call in one line for people, contiguous tensors as ``FLOAT16[2, 4, 9]``."""
    args = call["args"]
    assert isinstance(args, Mapping)
    return ", ".join(f"{name}={_argument(value)}" for name, value in args.items())


def _argument(value: object) -> str:
    if not isinstance(value, Mapping):
        return str(value).replace("True", "true").replace("False", "false").replace("None", "null")
    text = f"{value['dtype']}{value['shape']}"
    if value.get("strides") is not None:
        text += f"/{value['strides']}+{value['offset']}"
    return text
