"""Wrong kernels: where windows, borders and groups lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, reduce

import numpy as np

from opgen.golden import Array
from opgen.quality.mutants.mutant import Golden, Mutant, Names, Outputs, Values, Work, axes

BORDERS = {"D": ("padFront", "padBack"), "H": ("padTop", "padBottom"), "W": ("padLeft", "padRight")}
DENSE = 1 << 22
"""Elements of a weight that joins all channels, beyond which it is not made."""


def exchanged(*prefixes: str) -> Callable[[Work, Names], Names]:
    """The names with these prefixes, one axis taken for another: the first for the last."""

    def names(work: Work, given: Names) -> Names:
        found = dict(given)
        for prefix in prefixes:
            letters = axes(work, prefix)
            found |= {
                prefix + axis: given[prefix + other]
                for axis, other in zip(letters, reversed(letters), strict=True)
            }
        return found

    return names


def fixed(value: int, *prefixes: str) -> Callable[[Work, Names], Names]:
    """The names that begin with one of these prefixes and end with an axis all set to a value."""
    return lambda work, given: {
        name: value if name[:-1] in prefixes and name[-1] in "DHW" else number
        for name, number in given.items()
    }


def borders_exchanged(work: Work, given: Names) -> Names:
    """The padding of one axis taken for another's."""
    letters = [axis for axis in "DHW" if BORDERS[axis][0] in given]
    found = dict(given)
    for axis, other in zip(letters, reversed(letters), strict=True):
        found |= {
            name: given[taken] for name, taken in zip(BORDERS[axis], BORDERS[other], strict=True)
        }
    return found


def sides_exchanged(work: Work, given: Names) -> Names:
    """The padding before an axis taken for the padding behind it."""
    pairs = [pair for pair in BORDERS.values() if pair[0] in given]
    return given | {a: given[b] for a, b in pairs} | {b: given[a] for a, b in pairs}


def borders_gone(work: Work, given: Names) -> Names:
    """No padding."""
    return given | {name: 0 for pair in BORDERS.values() for name in pair if name in given}


def end_as_beginning(work: Work, tensors: Values) -> Values:
    """The windows that only exist because the padding behind an axis is larger than the one before
    it are not read.
    """
    n = work.batch.names
    gradient = work.gradient
    for place, axis in enumerate(reversed(axes(work, "k", "d", "s"))):
        begin, reach = n[BORDERS[axis][0]], n["d" + axis] * (n["k" + axis] - 1) + 1
        if n["transposed"]:
            count = (n[f"{axis}in"] - 1) * n["s" + axis] - 2 * begin + reach + n["op" + axis]
        else:
            count = (n[f"{axis}in"] + 2 * begin - reach) // n["s" + axis] + 1
        tensors = cut(tensors, gradient, -1 - place, max(count, 0))
    return tensors


def cut(tensors: Values, name: str, axis: int, count: int) -> Values:
    """What lies behind the first ``count`` elements of an axis is taken for zero."""
    array = tensors[name]
    assert array is not None
    kept = array.copy()
    np.moveaxis(kept, axis, 0)[count:] = 0
    return {**tensors, name: kept}


def without_output_padding(work: Work, tensors: Values) -> Values:
    for place, axis in enumerate(reversed(axes(work, "op"))):
        extent = work.batch.names[f"{axis}out"]
        tensors = cut(tensors, work.gradient, -1 - place, extent - work.batch.names["op" + axis])
    return tensors


def without_last(letter: str, axis: int) -> Callable[[Work, Values], Values]:
    """The last row or column of the gradient is not read."""
    return lambda work, tensors: (
        cut(tensors, work.gradient, axis, work.batch.names[letter] - 1)
        if letter in work.batch.names
        else tensors
    )


def without_first_row(work: Work, outputs: Outputs) -> Outputs:
    """The first row of the gradient of the input is left zero, or the first column where there are
    no rows.
    """
    found = dict(outputs)
    if "gradInput" in found:
        rows = np.moveaxis(found["gradInput"].copy(), -2 if "Hout" in work.batch.names else -1, 0)
        rows[:1] = 0
        found["gradInput"] = np.moveaxis(rows, 0, -2 if "Hout" in work.batch.names else -1)
    return found


def beyond_a_block(work: Work, tensors: Values) -> Values:
    """Channels behind the last whole block of 16 are lost."""
    desc = work.batch.tensors[work.gradient]
    letters = work.spec.parameters[work.gradient].shapes[len(desc.shape)]
    axis = next(i for i, letter in enumerate(letters) if letter in ("C", "Co"))
    whole = desc.shape[axis] // 16 * 16
    return cut(tensors, work.gradient, axis + 1, whole) if whole else tensors


# convolution --------------------------------------------------------------------------------------
def flipped(
    work: Work, golden: Golden, tensors: Values, names: Names, wanted: tuple[str, ...]
) -> Outputs:
    """Convolution where correlation is meant: the kernel upside down."""
    weight = tensors["weight"]
    assert weight is not None
    spatial = tuple(range(3, weight.ndim))
    outputs = dict(golden({**tensors, "weight": np.flip(weight, spatial)}, names, wanted))
    return outputs | {
        name: np.flip(outputs[name], spatial) for name in outputs if name == "gradWeight"
    }


def ungrouped(
    work: Work, golden: Golden, tensors: Values, names: Names, wanted: tuple[str, ...]
) -> Outputs:
    """Every channel joined with every other by the weight of one group."""
    groups, weight = names["groups"], tensors["weight"]
    assert weight is not None
    if weight.size * groups > DENSE:
        return dict(golden(tensors, names, wanted))
    dense = np.tile(weight, (1, 1, groups, *(1,) * (weight.ndim - 3)))
    outputs = dict(golden({**tensors, "weight": dense}, {**names, "groups": 1}, wanted))
    return outputs | {
        name: outputs[name][:, :, : weight.shape[2]] for name in outputs if name == "gradWeight"
    }


def interleaved(
    work: Work, golden: Golden, tensors: Values, names: Names, wanted: tuple[str, ...]
) -> Outputs:
    """Channel c taken for one of group c modulo groups."""
    groups = names["groups"]

    def dealt(array: Array | None, back: bool = False) -> Array:
        assert array is not None
        b, n, c, *rest = array.shape
        parts = (groups, c // groups) if back else (c // groups, groups)
        return np.ascontiguousarray(array.reshape(b, n, *parts, *rest).swapaxes(2, 3)).reshape(
            array.shape
        )

    outputs = dict(
        golden(
            {
                **tensors,
                work.gradient: dealt(tensors[work.gradient]),
                "input": dealt(tensors["input"]),
            },
            names,
            wanted,
        )
    )
    return outputs | {
        name: dealt(outputs[name], back=True) for name in outputs if name == "gradInput"
    }


def not_transposed(
    work: Work, golden: Golden, tensors: Values, names: Names, wanted: tuple[str, ...]
) -> Mapping[str, Array]:
    """Windows slide over the input where they should slide over its gradient."""
    if not names["transposed"]:
        return golden(tensors, names, wanted)
    groups, weight = names["groups"], tensors["weight"]
    assert weight is not None

    def turned(array: Array, per: int) -> Array:
        b, c, m, *rest = array.shape
        return np.ascontiguousarray(array.reshape(b, groups, per, m, *rest).swapaxes(2, 3)).reshape(
            b, groups * m, per, *rest
        )

    outputs = dict(
        golden(
            {**tensors, "weight": turned(weight, weight.shape[1] // groups)},
            {**names, "transposed": 0},
            wanted,
        )
    )
    return outputs | {
        name: turned(outputs[name], weight.shape[2]) for name in outputs if name == "gradWeight"
    }


# reflection ---------------------------------------------------------------------------------------
def mirrored(padded: int, extent: int, before: int, repeat: int = 0) -> Array:
    """Where each padded position comes from; ``repeat`` 1 where the edge itself is mirrored too."""
    place = np.arange(padded) - before
    place = np.where(place < 0, -place - repeat, place)
    place = np.where(place > extent - 1, 2 * (extent - 1) - place + repeat, place)
    return np.clip(place, 0, extent - 1)


@lru_cache(maxsize=1024)
def gathered(padded: int, extent: int, before: int, repeat: int) -> Array:
    """(padded, extent) zeros and ones: which padded position is a copy of which element."""
    return np.eye(extent)[mirrored(padded, extent, before, repeat)]


def folded(
    repeat: int = 0, **taken: str
) -> Callable[[Work, Golden, Values, Names, tuple[str, ...]], Outputs]:
    """A fold that takes other names for the padding before some axes."""

    def kernel(
        work: Work, golden: Golden, tensors: Values, names: Names, wanted: tuple[str, ...]
    ) -> Outputs:
        result = tensors[work.gradient]
        assert result is not None
        for at, axis in enumerate(reversed(reflected(names)), 1):
            share = gathered(
                names[axis + "out"], names[axis], names[taken.get(axis, BORDERS[axis][0])], repeat
            )
            result = np.moveaxis(np.moveaxis(result, -at, -1) @ share, -1, -at)
        return dict.fromkeys(wanted, result)

    return kernel


def reflected(names: Names) -> list[str]:
    """The axes that reflection pads, outermost first."""
    return [axis for axis in "DHW" if axis + "out" in names]


def without(corners: bool) -> Callable[[Work, Values], Values]:
    """The corners of the border contribute nothing, or the border as a whole."""

    def tensors(work: Work, given: Values) -> Values:
        gradient, n = given[work.gradient], work.batch.names
        assert gradient is not None
        outside = []
        for at, axis in enumerate(reversed(reflected(n))):
            place = np.arange(n[axis + "out"]) - n[BORDERS[axis][0]]
            outside.append(((place < 0) | (place >= n[axis])).reshape(-1, *(1,) * at))
        gone = reduce(np.logical_and if corners else np.logical_or, outside)
        return {**given, work.gradient: np.where(gone, 0, gradient)}

    return tensors


MUTANTS = (
    Mutant(
        "stride_swapped",
        "the strides of two axes are exchanged",
        ("sH", "sW", "kW"),
        names=exchanged("s"),
    ),
    Mutant("stride_ignored", "every stride is 1", ("sW", "kW"), names=fixed(1, "s")),
    Mutant(
        "dilation_swapped",
        "the dilations of two axes are exchanged",
        ("dH", "dW"),
        names=exchanged("d"),
    ),
    Mutant("dilation_ignored", "every dilation is 1", ("dW",), names=fixed(1, "d")),
    Mutant(
        "padding_swapped",
        "the paddings of two axes are exchanged",
        ("padTop", "padLeft", "kW"),
        names=borders_exchanged,
    ),
    Mutant(
        "pool_padding_swapped",
        "the paddings of the two axes are exchanged",
        ("padH", "padW"),
        names=exchanged("pad"),
    ),
    Mutant(
        "reflection_padding_swapped",
        "the padding is read as top, bottom, left, right",
        ("padTop", "padLeft", "H", "W"),
        kernel=folded(H="padLeft", W="padTop"),
    ),
    Mutant(
        "padding_sides_swapped",
        "the padding behind an axis is taken for the one before it",
        ("padRight", "kW"),
        names=sides_exchanged,
    ),
    Mutant(
        "left_right_swapped",
        "the padding to the right is taken for the one to the left",
        ("padRight", "W"),
        kernel=folded(W="padRight"),
    ),
    Mutant(
        "top_bottom_swapped",
        "the padding below is taken for the one above",
        ("padBottom", "H", "W"),
        kernel=folded(H="padBottom"),
    ),
    Mutant(
        "padding_end_ignored",
        "the padding behind an axis is taken to be no larger than the one before it",
        ("padRight", "dW", "transposed"),
        tensors=end_as_beginning,
    ),
    Mutant(
        "padding_ignored",
        "no padding at all",
        ("padLeft|padW", "kW"),
        names=lambda work, n: borders_gone(work, fixed(0, "pad")(work, n)),
    ),
    Mutant(
        "kernel_flipped",
        "the kernel is upside down: convolution instead of correlation",
        ("weight",),
        kernel=flipped,
    ),
    Mutant(
        "kernel_swapped",
        "height and width of the window are exchanged",
        ("kernelSize",),
        names=exchanged("k"),
    ),
    Mutant(
        "groups_ignored", "all channels are joined with all others", ("groups",), kernel=ungrouped
    ),
    Mutant(
        "groups_interleaved",
        "channel c belongs to group c modulo groups",
        ("groups",),
        kernel=interleaved,
    ),
    Mutant(
        "transposed_ignored",
        "a transposed convolution is treated as one that is not",
        ("transposed", "groups"),
        kernel=not_transposed,
    ),
    Mutant(
        "output_padding_dropped",
        "the rows that outputPadding adds are not read",
        ("outputPadding",),
        tensors=without_output_padding,
    ),
    Mutant(
        "last_row_dropped",
        "the last row of the gradient is not read",
        ("Hout",),
        tensors=without_last("Hout", -2),
    ),
    Mutant(
        "last_column_dropped",
        "the last column of the gradient is not read",
        ("Wout",),
        tensors=without_last("Wout", -1),
    ),
    Mutant(
        "first_row_missing",
        "the first row of the result is left zero",
        ("Hout",),
        outputs=without_first_row,
    ),
    Mutant(
        "channel_block_lost",
        "channels behind the last whole block of 16 are lost",
        ("C|Co", "Wout"),
        tensors=beyond_a_block,
    ),
    Mutant(
        "edge_repeated",
        "reflection off by one: the edge is mirrored too",
        ("padLeft", "W"),
        kernel=folded(repeat=1),
    ),
    Mutant(
        "corners_missing",
        "the corners of the border contribute nothing",
        ("padLeft", "H", "W"),
        tensors=without(corners=True),
    ),
    Mutant(
        "border_missing",
        "the border contributes nothing",
        ("padLeft", "W"),
        tensors=without(corners=False),
    ),
)
