"""Do the rows of tensors make sense? Their data are there, their shapes and views fit the data, and
goldens, bounds, places and sums belong to outputs.
"""

from __future__ import annotations

import numpy as np

from opgen.bundle.format import dtypes
from opgen.bundle.format.dtypes import ROLES
from opgen.bundle.format.layout import spread
from opgen.bundle.format.tensorrow import NO_DATA
from opgen.bundle.read.opening import OpenedFile
from opgen.bundle.read.table_checks import Checks, Tables, holding, spans
from opgen.calls.argument_json import MAX_RANK
from opgen.numerics.formats import DTYPES


def tensor_places(file: OpenedFile) -> Checks:
    """Tensors whose data are not there."""
    tensors, room = file.tables["tensors"], np.full(256, NO_DATA - 1)
    for number, blob in file.blobs.items():
        room[number] = blob.elements
    beyond = tensors["position"] > room[tensors["dtype"]] - tensors["elements"]
    yield (beyond & (tensors["position"] >= 0)).any(), "a tensor lies outside the data of its dtype"


def tensor_shapes(tables: Tables) -> Checks:
    """Tensors of more axes than one can have; data of tensors with extents below zero, or of
    another number of elements than their shape has; views that leave them.
    """
    tensors, integers = tables["tensors"], tables["integers"]
    starts, lengths = spans(tables)
    viewed = "strides" in (tensors.dtype.names or ())
    for column in ("shape", "strides", "storage_shape") if viewed else ("shape",):
        yield (
            lengths[tensors[column]].max(initial=0) > MAX_RANK,
            f"a tensor has more than {MAX_RANK} axes",
        )
    tensors = tensors[tensors["position"] != NO_DATA]
    edges = np.stack([starts, starts + lengths], axis=1).reshape(-1)
    product = np.where(
        lengths > 0,
        np.multiply.reduceat(np.append(integers, 1).astype(np.float64), edges)[::2],
        1.0,
    )
    shape, elements = tensors["shape"], tensors["elements"]
    yield (
        holding(tables, integers < 0)[shape].any(),
        "a tensor with data has fewer elements than none",
    )
    none = np.zeros(len(tensors), dtype=np.int64)
    strides, storage, offset = (
        tensors[name] if viewed else none for name in ("strides", "storage_shape", "offset")
    )
    told = (strides == 0) & (offset == 0) | (storage > 0)
    yield (
        (product[np.where(storage > 0, storage, shape)] != elements)[told].any(),
        "a tensor has another number of elements than its shape",
    )
    given = np.flatnonzero(strides)
    yield (
        (lengths[strides[given]] != lengths[shape[given]]).any(),
        "a tensor with data has strides of another rank",
    )
    view, within = spread(lengths[shape[given]])
    steps = (integers[starts[shape[given]][view] + within] - 1.0) * integers[
        starts[strides[given]][view] + within
    ]
    low, high = offset.astype(np.float64), offset + np.maximum(product[shape] - 1, 0)
    low[given] += np.bincount(view, np.minimum(steps, 0), len(given))
    high[given] = offset[given] + np.bincount(view, np.maximum(steps, 0), len(given))
    yield ((low < 0) | (high >= elements))[product[shape] > 0].any(), "a view leaves its data"


def _among(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which values are known; few bundles have any to ask of, and numpy would sort all the same."""
    if len(values) and len(known):
        return np.isin(values, known)
    return np.zeros(len(values), dtype=bool)


def tensor_roles(tensors: np.ndarray) -> Checks:
    """Tensors that stand there twice; goldens and bounds without an output, which may be an input
    too, or of another shape or dtype than belongs to it.
    """
    role = tensors["role"]
    key = tensors["case"].astype(np.int64) << 16 | tensors["name"]
    own = np.sort(key * len(ROLES) + np.maximum(role, ROLES["output"]))
    yield (own[1:] == own[:-1]).any(), "a case has the same tensor twice"
    outputs = np.flatnonzero(role <= ROLES["output"])
    outputs = outputs[np.argsort(key[outputs], kind="stable")]
    places = np.flatnonzero(role == ROLES["places"])
    sample = key << 32 | tensors["shape"]
    yield (tensors["dtype"][places] != dtypes.DTYPES["INT64"]).any(), "places are not INT64"
    alone = ~_among(sample[places], sample[role == ROLES["golden"]])
    yield alone.any(), "places belong to no golden of as many elements"
    sums = np.flatnonzero(role == ROLES["sums"])
    other = (tensors["dtype"][sums] != dtypes.DTYPES["DOUBLE"]) | (
        tensors["elements"][sums] % 2 > 0
    )
    yield other.any(), "sums are not pairs of DOUBLE"
    yield (~_among(key[sums], key[places])).any(), "sums belong to no output with places"
    for kind in ("golden", "bound"):
        kept = np.full(256, NO_DATA - 1)
        for word, facts in DTYPES.items():
            kept[dtypes.DTYPES[word]] = dtypes.DTYPES[getattr(facts, kind)]
        rows = np.flatnonzero(role == ROLES[kind])
        yield len(rows) and not len(outputs), f"a {kind} belongs to no output"
        of = outputs[np.searchsorted(key[outputs], key[rows]).clip(max=len(outputs) - 1)]
        shape = tensors["shape"]
        right = (key[of] == key[rows]) & (
            (shape[of] == shape[rows]) | _among(sample[rows], sample[places])
        )
        right &= kept[tensors["dtype"][of]] == tensors["dtype"][rows]
        yield not right.all(), f"a {kind} belongs to no output of its shape"
