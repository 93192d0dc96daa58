"""Why an output failed, in a sentence: how many elements, where, the worst of them, and what the
output looks like instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.comparison.elements import Errors, errors
from opgen.comparison.likeness import resembles
from opgen.comparison.pattern import axis_names, describe
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES
from opgen.spec.catalog import catalog

_NAMES = {dtype.numpy: name for name, dtype in DTYPES.items()}


@dataclass(frozen=True)
class ComparedOutput:
    """One output in its shape: what the device returned, what was expected, the bound. ``form``:
    the shape that ``axes`` name. Where only elements at flat ``places`` are known, all are 1-D, and
    ``whole`` is the shape of the output.
    """

    name: str
    device: Array
    golden: Array
    bound: Array
    form: tuple[int, ...]
    axes: tuple[str, ...]
    dtype: str
    places: Array | None = None
    whole: tuple[int, ...] = ()

    @cached_property
    def errors(self) -> Errors:
        """The errors of its elements."""
        return errors(self.device, self.golden, self.bound)


def compared(case: CaseView, name: str, device: Array) -> ComparedOutput:
    """Lay one flat output of a device beside its golden."""
    golden, bound = case.golden[name], case.bound[name]
    wide = np.complex128 if np.iscomplexobj(golden) else np.float64
    form, axes = form_of(case, name)
    places = case.places.get(name)
    if places is not None:
        device, form, axes = device[places], golden.shape, ("sample",)
    with np.errstate(invalid="ignore"):  # a NaN may be a signalling one
        values = device.reshape(golden.shape).astype(wide)
    return ComparedOutput(
        name,
        values,
        golden.astype(wide),
        bound.astype(wide),
        form,
        axes,
        _NAMES[device.dtype],
        places,
        tuple(case.plain_args[name]["shape"]),
    )


def form_of(case: CaseView, name: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The shape to look at an output in, and the names of its axes.

    Its letters are those of the input that it is the gradient of, by its shape and its name. Where
    the shape is free and N, C and HxW say what it stands for, that is its shape; channels are split
    into groups where there are any.
    """
    args = case.plain_args
    shape = tuple(args[name]["shape"])
    letters = _letters(case, name, shape)
    if not letters:
        shape, letters = _free(args, shape)
    renamed = {"W0": "K", "W1": "C"}
    words = tuple(str(renamed.get(str(letter), letter)) for letter in letters)
    groups = next((args[key] for key in ("groups", "group") if isinstance(args.get(key), int)), 1)
    split = next(
        (
            axis
            for axis, word in enumerate(words)
            if (word == "K" or (word.startswith("C") and "K" not in words))
            and groups > 1
            and shape[axis] % groups == 0
        ),
        None,
    )
    if split is not None:
        shape = (*shape[:split], groups, shape[split] // groups, *shape[split + 1 :])
        words = (*words[:split], "G", *words[split:])
    return shape, axis_names(len(shape), words)


def _letters(case: CaseView, name: str, shape: tuple[int, ...]) -> tuple[str | int, ...]:
    """The letters of an input's axes, whose gradient an output may be; none where it is of no
    input's shape.
    """
    spec, args = catalog().by_page.get((case.op, case.product)), case.plain_args
    alike = [
        parameter
        for parameter in (spec.parameters.values() if spec is not None else ())
        if parameter.is_tensor
        and args.get(parameter.name)
        and tuple(args[parameter.name]["shape"]) == shape
        and len(shape) in parameter.shapes
    ]
    if not alike:
        return ()
    best = min(
        alike,
        key=lambda parameter: (
            parameter.name != name,
            parameter.name.lower() not in name.lower(),
            parameter.name.startswith("grad"),
        ),
    )
    return best.letters(len(shape), args[best.name]["format"])


def _free(
    args: Mapping[str, object], shape: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """A shape that is free: what N, C and HxW make of it, where they are arguments; else a vector
    has a value per channel.
    """
    sizes = {
        letter: size
        for letter, key in (("N", "N"), ("C", "C"), ("P", "HxW"))
        if isinstance(size := args.get(key), int)
    }
    for letters in (("N", "C", "P"), ("N", "C"), ("C",)):
        form = tuple(sizes[letter] for letter in letters if letter in sizes)
        if len(form) == len(letters) and prod(shape) == prod(form):
            return form, letters
    return shape, ("C",) if len(shape) == 1 else ()


def likeness(output: ComparedOutput) -> str:
    """What a wrong output is instead of what is expected; empty where it is nothing simple."""
    return resembles(output.device, output.golden, output.errors.wrong, output.dtype)


def sentence(output: ComparedOutput, like: str) -> str:
    """One output that disagrees, for people; ``like``: its :func:`likeness`."""
    _, ratio, wrong = output.errors
    # a fault that makes values smaller or moves them does not show in zeros
    telling = (output.golden != 0) | (output.golden[wrong] == 0).any()
    where = describe(wrong.reshape(output.form), output.axes, telling.reshape(output.form))
    flat = int(np.argmax(np.where(np.isnan(ratio), np.inf, ratio)))
    worst = tuple(int(i) for i in np.unravel_index(flat, ratio.shape)) if ratio.ndim else ()
    at = worst
    if output.places is not None:
        at = tuple(int(i) for i in np.unravel_index(output.places[flat], output.whole))
    got, expected = told_apart(output.device[worst], output.golden[worst])
    bound = output.bound[worst]
    text = f"{output.name}: {int(wrong.sum())} of {wrong.size} elements beyond the bound"
    text += f", {where}" if where else ""
    text += f"; worst at {list(at)}: {got}, expected {expected}"
    text += f" ± {max(float(np.real(bound)), float(np.imag(bound))):.3g}"
    if np.isfinite(ratio[worst]) and ratio[worst] >= 1:
        text += f" ({ratio[worst]:.3g} × bound)"
    return text + (f"; {like}" if like else "")


def told_apart(number: Array, other: Array) -> tuple[str, str]:
    """Two numbers with nine digits, or with all that they have where those do not tell them apart.

    >>> told_apart(np.float64(0.1), np.float64(2))
    ('0.1', '2')
    >>> told_apart(np.float64(1), np.float64(1 + 2**-52))
    ('1.0', '1.0000000000000002')
    """
    short = f"{number:.9g}", f"{other:.9g}"
    return short if short[0] != short[1] else (str(number), str(other))
