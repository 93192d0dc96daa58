"""Do the tables say how to draw or compute every input that a bundle does not hold?"""

from __future__ import annotations

import numpy as np

from opgen.bundle.format import dtypes
from opgen.bundle.format.dtypes import ROLES
from opgen.bundle.format.layout import spread
from opgen.bundle.format.tensorrow import DRAWN, NO_DATA
from opgen.bundle.read.table_checks import Checks, Tables, spans
from opgen.numerics.formats import DTYPES, FLOATING

_FLOATING = [dtypes.DTYPES[word] for word in FLOATING]
_WHOLE = [dtypes.DTYPES[word] for word, facts in DTYPES.items() if facts.whole]


def drawn_inputs(tables: Tables) -> Checks:
    """Tensors that are drawn, and no input or no whole one; seeds that draw none, or no numbers."""
    tensors, seeds, maxima = tables["tensors"], tables["seeds"], tables["maxima"]
    drawn = tensors["position"] == DRAWN
    computed = np.isin(np.arange(len(tensors)), maxima["tensor"])
    told = np.flatnonzero(drawn & ~computed).tolist()
    yield seeds["tensor"].tolist() != told, "the seeds are not those of the drawn tensors"
    told = np.flatnonzero(drawn & computed).tolist()
    yield maxima["tensor"].tolist() != told, "the maxima are not those of drawn tensors"
    yield not _plain(tensors[drawn]), "a drawn tensor is not an input, or is a view"
    floating = np.isin(tensors["dtype"][drawn & ~computed], _FLOATING)
    yield not floating.all(), "a drawn tensor has whole numbers"
    count = seeds["high"].astype(np.float64) - seeds["low"]
    yield ((count < 0) | (count >= 2.0**32)).any(), "a seed has no steps to draw from"


def _plain(tensors: np.ndarray) -> bool:
    """Whether all are inputs, and no views."""
    held = (tensors["role"] == ROLES["input"]) & (tensors["position"] != NO_DATA)
    return bool((held & (tensors["strides"] == 0) & (tensors["offset"] == 0)).all())


def computed_inputs(tables: Tables) -> Checks:
    """Indices of the largest elements of no tensor that has any, or of windows that leave it."""
    maxima, tensors = tables["maxima"], tables["tensors"]
    indices, images = tensors[maxima["tensor"]], tensors[maxima["of"]]
    known = np.isin(indices["dtype"], _WHOLE) & np.isin(images["dtype"], _FLOATING)
    alike = known & (indices["case"] == images["case"])
    yield not (alike.all() and _plain(images)), "maxima are of another kind of tensor, or case"
    starts, lengths = spans(tables)
    ranks, integers = lengths[images["shape"]], tables["integers"]
    yield (ranks < 2).any() or (ranks != lengths[indices["shape"]]).any(), "maxima are of no planes"
    row, axis = spread(ranks - 2)
    outer = (integers[starts[each["shape"]][row] + axis] for each in (indices, images))
    yield not np.array_equal(*outer), "maxima are of another number of planes"
    for behind, column in ((2, "rows"), (1, "columns")):
        out, extent = (
            integers[starts[each["shape"]] + ranks - behind] for each in (indices, images)
        )
        start, length = starts[maxima[column]], lengths[maxima[column]]
        yield (
            (length % np.maximum(out, 1) > 0).any(),
            "windows of maxima are not those of each index",
        )
        row, place = spread(length)
        at = integers[start[row] + place]
        yield ((at < -1) | (at >= extent[row])).any(), "windows of maxima leave their image"
