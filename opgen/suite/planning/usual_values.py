"""The values that a plan tries where a page leaves the choice: sizes, shapes, numbers, masks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from opgen.calls.kinds import KINDS
from opgen.spec.parameter import Parameter
from opgen.spec.spec import Spec
from opgen.suite.planning.strides import EXPANDED, LEAST, VIEWS

BATCH, CHANNELS, LAST = [2, 1, 3], [3, 1, 17], [6, 1, 17, 33]
"""Extents of the first letter of a shape, the second, and the last: few, one, and more than blocks
of 16 and 32 hold. All differ at first, so that swapped axes show."""
BETWEEN = ([5, 1, 9], [4, 1, 7])
"""Extents of the letters between the second and the last, in turn."""
SHAPES = (
    (2, 3, 35),
    (257,),
    (15,),
    (1, 1, 1, 1, 1, 1, 3, 40),
    (33, 65),
    (2, 3, 5, 17),
    (2, 1, 3, 4, 9),
    (2, 1, 3, 1, 2, 9),
    (1, 2, 1, 3, 1, 2, 9),
    (),
)
"""Shapes of tensors whose axes have no letters: just below and above 16, 64, 256 and multiples."""
MOST_SHAPES = 6
ITEMS = ([2, 1, 0, 3], [1, 2, 0, 4])
"""Items of arrays, in turn: those beside each other differ at first."""
NUMBERS: dict[str, list[Any]] = {
    "int": [1, 0, 2, -1],
    "double": [1.0, 0.5, 0.0, -2.0],
    "float": [1.0, 0.5, 0.0, -2.0],
    "bool": [False, True],
}
"""Scalars, by what they hold: the neutral ones first."""
SMALL = {"smoke": ["grid", "integers", "nonfinite"]}
"""Recipes that find most faults, for tiers of few cases."""
FEW = {**SMALL, "standard": ["grid", "integers", "normal", "one_hot", "nonfinite"]}
FIRST_VIEWS = VIEWS[:4]
"""The views that tiers of few cases try."""
OTHER_VIEWS = (*FIRST_VIEWS, "offset", "expanded")
"""Those that the standard tier tries of inputs behind the first: one of stride 0."""
MOST_MASKS = 4
"""Longer masks are tried whole, and each output alone and left out."""


def whole_numbers(spec: Spec) -> list[Parameter]:
    """The parameters of whole numbers that are no words of a list."""
    return [
        p
        for p in spec.parameters.values()
        if KINDS[p.kind].family in ("scalar", "array")
        and KINDS[p.kind].element.term == "int"
        and not p.enum
    ]


def extents(i: int, letters: int) -> list[int]:
    """What the ``i``-th of so many letters of shapes may stand for."""
    if letters > 2 and i == letters - 1:
        return LAST
    return (BATCH, CHANNELS, *BETWEEN)[i if i < 2 else 2 + i % len(BETWEEN)]


def axis(pages: Sequence[Spec], name: str) -> tuple[int, int] | None:
    """Which axis of a shape, and of how many, an equality of some page makes as long as a number
    says, if one does.
    """
    return next(
        (
            (i, len(letters))
            for spec in pages
            for tensor in spec.parameters.values()
            for _, letters in sorted(tensor.shapes.items(), reverse=True)
            for i, letter in enumerate(letters)
            for guard in spec.equalities.get((str(letter), ""), ())
            if guard.when is None and guard.require.right[0].text == name
        ),
        None,
    )


def row(pages: Sequence[Spec], tensor: Parameter) -> str:
    """The shape of one axis of as many elements as an equality of some page asks for, if one does:
    a term of a plan.
    """
    said = (guard for spec in pages for guard in spec.equalities.get((tensor.name, "numel"), ()))
    terms = (guard.require.right[0].text for guard in said if guard.when is None)
    return next((f"({term},)" for term in terms), "")


def numbers(parameter: Parameter) -> list[Any]:
    """Usual numbers of a kind of parameter, those that its type holds."""
    element = KINDS[parameter.kind].element
    return [value for value in NUMBERS.get(element.term, ()) if element.read(value) is not None]


def views(tensor: Parameter, rank: int, first: bool, saved: bool) -> dict[str, list[str]]:
    """Tier -> how a tensor of at most this rank may lie. Elements of an output share no place, nor
    do those that a forward ``saved``, each of which follows from other data.
    """
    alone = KINDS[tensor.kind].written or saved
    last = "stepped" if KINDS[tensor.kind].written and rank > 1 else ""
    fit = [
        view
        for view, least in zip(VIEWS, LEAST, strict=True)
        if least <= rank and view != last and not (alone and view in EXPANDED)
    ]
    return {
        "smoke": [view for view in fit if view in FIRST_VIEWS],
        "standard": [view for view in fit if first or view in OTHER_VIEWS],
        "full": fit,
    }


def masks(length: int) -> list[list[bool]]:
    """The masks of some outputs that ask for one at least."""
    if length <= MOST_MASKS:
        return [list(mask) for mask in product((True, False), repeat=length) if any(mask)]
    each = np.eye(length, dtype=bool)
    return [[True] * length, *each.tolist(), *(~each).tolist()]
