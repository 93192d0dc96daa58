"""The gradient of RoI align: each part of a box averages samples between the elements of its image.

The page has no formula; its example is what torchvision computes, and that is the definition here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import product
from math import ceil

import numpy as np

from opgen.golden import Array, Differentiable, Names, ProbeCall, Tensors
from opgen.golden._running_error import ROUNDOFF
from opgen.golden._sampling import STEPS, SampledAxis, Taps, bilinear

VERSION = 2
PROBES = [
    ProbeCall(
        {"K": 2, "C": 3, "Hout": 2, "Wout": 3, "B": 2, "Hin": 6, "Win": 5}
        | {"pooledHeight": 2, "pooledWidth": 3, "spatialScale": 0.5}
        | {"samplingRatio": ratio, "aligned": aligned},
        {"gradOutput": (2, 3, 2, 3), "boxes": (2, 5)},
        ("gradInput",),
    )
    for ratio, aligned in [(2, 1), (0, 0)]
]
FINE = 8
"""Places of boxes are multiples of 1 / FINE of an element, whatever the scale is."""
HUGE = 2.0**100


def golden(tensors: Tensors, names: Names, wanted: Collection[str]) -> dict[str, Array]:
    """GradInput (B, images, C, Hin, Win) from gradOutput (B, K, C, Hout, Wout) and boxes (B, K, 5):
    image, x1, y1, x2, y2.
    """
    if "gradInput" not in wanted:
        return {}
    return {"gradInput": _spread(tensors, names, lambda axis: axis.taps, lambda a: a.taps, 0.0)}


def magnitude(tensors: Tensors, names: Names, wanted: Collection[str]) -> dict[str, Array]:
    """The sum of absolute terms with the largest weights of a device, and what the errors of its
    weights come to: ``(a + da)(b + db) - ab = da b + (a + da) db``. Where a device may or may not
    multiply Inf or NaN by 0, it is infinite.
    """
    if "gradInput" not in wanted:
        return {}
    gradient = tensors["gradOutput"]
    assert gradient is not None
    sizes = {**tensors, "gradOutput": np.abs(gradient)}
    steps = depth(names, {}, "gradInput")
    total = _spread(sizes, names, lambda a: a.largest, lambda a: a.largest, np.inf)
    total += _spread(sizes, names, lambda a: a.errors, lambda a: a.sizes, np.inf) / steps
    total += _spread(sizes, names, lambda a: a.largest, lambda a: a.errors, np.inf) / steps
    return {"gradInput": total}


def depth(names: Names, shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """Every sample of every box may meet in one element; then the products of weights."""
    samples = 1
    for pooled, extent in ((names["Hout"], names["Hin"]), (names["Wout"], names["Win"])):
        samples *= pooled * (names["samplingRatio"] or ceil(extent / max(pooled, 1)) + 1)
    return max(int(names["K"] * samples), 1) + 8


def saved(tensors: Tensors, names: Names) -> dict[str, Array]:
    """Boxes of at least an element, inside of an image."""
    drawn = tensors["boxes"]
    assert drawn is not None
    part = 2 * np.frexp(np.abs(drawn))[0] - 1
    boxes = np.floor(part * max(names["B"], 1))
    for column, extent in ((1, names["Win"]), (2, names["Hin"])):
        first = np.floor(part[..., column] * (max(extent, 1) - 1) * FINE) / FINE
        left = max(extent, 1) - 1 - first
        last = first + 1 + np.floor(part[..., column + 2] * left * FINE) / FINE
        boxes[..., column] = np.minimum(first / names["spatialScale"], HUGE)
        boxes[..., column + 2] = np.minimum(last / names["spatialScale"], HUGE)
    return {"boxes": boxes}


def forward(tensors: Tensors, names: Names) -> dict[str, Array]:
    """The means of the samples of all parts of all boxes."""
    image, boxes = tensors["gradInput"], tensors["boxes"]
    assert image is not None and boxes is not None
    shape = *boxes.shape[:2], *(names[letter] for letter in ("C", "Hout", "Wout"))
    pooled = np.zeros(shape)
    for case, box in product(*map(range, shape[:2])):
        number, x1, y1, x2, y2 = boxes[case, box].tolist()
        if not _known(boxes[case, box], names["B"]):
            continue
        rows = _axis(y1, y2, names["Hout"], names["Hin"], names).taps
        columns = _axis(x1, x2, names["Wout"], names["Win"], names).taps
        down = _means(rows, names["Hout"], names["Hin"])
        across = _means(columns, names["Wout"], names["Win"])
        pooled[case, box] = down @ image[case, int(number)] @ across.T
    return {"gradOutput": pooled, "boxes": boxes}


FORWARD = Differentiable(forward, {"gradInput": "gradInput"})


def _known(box: Array, images: int) -> bool:
    """Whether a box is one of an image."""
    return bool(0 <= box[0] < images and np.isfinite(box).all())


def _means(taps: Taps, pooled: int, extent: int) -> Array:
    """The weights of an axis, (parts, elements)."""
    matrix = np.zeros((pooled, extent + 1))  # -1 is the last column
    part = np.arange(taps.index.shape[1]) * pooled // max(taps.index.shape[1], 1)
    np.add.at(matrix, (part, taps.index), taps.weight)
    return matrix[:, :-1]


def _placed(first: float, last: float, names: Names, real: type = float) -> tuple[float, float]:
    """Where a box begins along an axis, and its size, among elements, computed in a type."""
    scale, shift = real(names["spatialScale"]), real(0.5 if names["aligned"] else 0.0)
    start = real(first) * scale - shift
    size = real(last) * scale - shift - start
    return float(start), float(size if names["aligned"] else max(size, real(1.0)))


def _far(start: float, size: float) -> float:
    """What the roundoffs of a device are multiples of, where it computes places of a box."""
    return STEPS * (abs(start) + abs(size) + 1)


def _countable(first: float, last: float, pooled: int, names: Names) -> bool:
    """Whether each device takes the same number of samples: none may round it to another."""
    start, size = _placed(first, last, names)
    if names["samplingRatio"]:
        return True
    number = size / pooled
    away = abs(number - round(number))
    exact = _placed(first, last, names, np.float32) == (start, size)
    return (exact and away == 0) or away > ROUNDOFF * _far(start, size) / pooled


def _axis(first: float, last: float, pooled: int, extent: int, names: Names) -> SampledAxis:
    """Where the samples of all parts of a box lie along an axis, and their weights over their
    number in a part. Samples beyond -1 and the extent do not count; at these, either is admitted.
    """
    start, size = _placed(first, last, names)
    number = int(names["samplingRatio"] or ceil(size / pooled))
    sample = np.arange(pooled * number) + 0.5
    place = start + sample * (size / (pooled * max(number, 1)))
    off = _far(start, size) + STEPS * np.abs(place)
    axis = bilinear(place, off, extent)
    inside = (place >= -1) & (place <= extent)
    either = np.minimum(np.abs(place + 1), np.abs(place - extent)) <= off * ROUNDOFF
    index = np.where(inside | either, axis.taps.index, -1)
    weight = axis.taps.weight / max(number, 1)
    error = axis.errors.weight / max(number, 1) + either * np.abs(weight) / ROUNDOFF
    return SampledAxis(
        Taps(index, weight * inside, axis.taps.slope), Taps(index, error, axis.errors.slope)
    )


def _spread(
    tensors: Tensors,
    names: Names,
    of_rows: Callable[[SampledAxis], Taps],
    of_columns: Callable[[SampledAxis], Taps],
    of_foreign: float,
) -> Array:
    """The gradient, box by box and tap by tap; ``of_foreign`` is 0 times Inf or NaN, and what comes
    of a box of which nobody knows which elements a device reads.
    """
    gradient, boxes = tensors["gradOutput"], tensors["boxes"]
    assert gradient is not None and boxes is not None
    cases, number, channels, high, wide = gradient.shape
    images, height, width = names["B"], names["Hin"], names["Win"]
    result = np.zeros((cases, images, channels, height * width))
    for case, box in product(range(cases), range(number if result.size else 0)):
        image, x1, y1, x2, y2 = boxes[case, box].tolist()
        if not _known(boxes[case, box], images):
            result[case] += of_foreign
            continue
        if not (_countable(y1, y2, high, names) and _countable(x1, x2, wide, names)):
            result[case] += of_foreign
        rows = of_rows(_axis(y1, y2, high, height, names))
        columns = of_columns(_axis(x1, x2, wide, width, names))
        shape = rows.index.shape[1], columns.index.shape[1]
        steps = shape[0] // high, shape[1] // wide
        values = gradient[case, box].repeat(steps[0], axis=1).repeat(steps[1], axis=2)
        target = result[case, int(image)]
        for i, j in product(range(3), range(3)):
            there = (rows.index[i] >= 0)[:, None] & (columns.index[j] >= 0)
            places = (rows.index[i][:, None] * width + columns.index[j])[there]
            weights = np.multiply.outer(rows.weight[i], columns.weight[j])
            nothing = np.where(np.isfinite(values), 0.0, of_foreign)
            terms = np.where(weights == 0, nothing, values * weights)[:, there]
            for channel in range(channels):
                target[channel] += np.bincount(places, terms[channel], height * width)
    return result.reshape(cases, images, channels, height, width)
