"""A user's own tensors: arrays that stand beside a call file, so that a call is computed with the
data that went wrong.

A call names a ``.npz`` file under the key ``data``; its arrays are the logical views of the call's
inputs, by name. BFLOAT16 lies there as uint16 bits or as any float type. What the file does not
hold is drawn as always.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from opgen.calls.jsonl import NamedCall
from opgen.model import FileError, Problem, TensorDesc, did_you_mean, size
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES

_WIDEST, _HEADER = 16, 1 << 16
"""Bytes of the widest number, and of what numpy writes before them, at most."""


class DumpFault(Exception):
    """What is wrong with a dump of one call."""


def read_dumps(
    calls: Sequence[NamedCall], beside: str | Path, outputs: Mapping[str, Collection[str]]
) -> list[Mapping[str, Array]]:
    """Given arrays of every call, empty where it names no file; raises FileError with every call
    whose dump does not fit.

    Names of files are taken from the folder of the call file ``beside``. ``outputs`` names those of
    every API.
    """
    folder = Path() if str(beside) == "-" else Path(beside).parent
    dumps: list[Mapping[str, Array]] = []
    problems = []
    for named in calls:
        try:
            dumps.append(
                read_dump(named, folder, outputs[named.call.api]) if "data" in named.extra else {}
            )
        except DumpFault as fault:
            problems.append(Problem(str(beside), named.line, named.id, str(fault)))
    if problems:
        raise FileError(problems)
    return dumps


def read_dump(named: NamedCall, folder: Path, outputs: Collection[str]) -> dict[str, Array]:
    """The arrays of one call, each float64 or complex128; raises :class:`DumpFault`."""
    name = named.extra["data"]
    if not isinstance(name, str) or not name.endswith(".npz"):
        raise DumpFault(f"data: expects the name of an .npz file, not {name!r}")
    try:
        archive = np.load(folder / name, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise DumpFault(
                f"data: {name}: is a single array, not an archive of named ones; numpy.savez"
                " writes one"
            )
        with archive as file, zipfile.ZipFile(folder / name) as packed:
            held = {each.filename.removesuffix(".npy"): each.file_size for each in packed.filelist}
            wanted = {key: _wanted(named, key, stored, outputs) for key, stored in held.items()}
            return {key: _fitting(key, desc, file[key]) for key, desc in wanted.items()}
    except (
        OSError,
        ValueError,
        EOFError,
        KeyError,
        RuntimeError,
        MemoryError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise DumpFault(f"data: {name}: {_reason(error, folder / name)}") from None


def _reason(error: Exception, path: Path) -> str:
    """Why an archive cannot be read; where numpy would have it unpickled, in other words: a pickle
    may run anything.
    """
    if isinstance(error, (ValueError, EOFError)) and not zipfile.is_zipfile(path):
        return "is not an .npz file; numpy.savez writes one"
    if "pickle" in str(error):
        return "holds Python objects, where a tensor is an array of numbers"
    return getattr(error, "strerror", None) or str(error)


def _wanted(named: NamedCall, key: str, stored: int, outputs: Collection[str]) -> TensorDesc:
    """The input that a member of so many bytes is for; what cannot be one is not unpacked."""
    known = {
        name: value for name, value in named.call.args.items() if isinstance(value, TensorDesc)
    }
    desc = known.get(key)
    if desc is None:
        raise DumpFault(f"data: {key}: the call has no such tensor{did_you_mean(key, known)}")
    if key in outputs:
        raise DumpFault(
            f"data: {key}: is an output, whose values are computed; save the inputs alone"
        )
    if desc.dtype not in DTYPES:
        raise DumpFault(f"data: {key}: opgen holds no data of {desc.dtype}")
    if stored > prod(desc.shape) * _WIDEST + _HEADER:
        raise DumpFault(f"data: {key}: holds {size(stored)}, too much for {list(desc.shape)}")
    return desc


def _fitting(key: str, desc: TensorDesc, array: Any) -> Array:
    if array.shape != desc.shape:
        raise DumpFault(
            f"data: {key}: has the shape {list(array.shape)}, the call says {list(desc.shape)}"
        )
    if desc.dtype == "BFLOAT16" and array.dtype == np.uint16:
        array = array.view(ml_dtypes.bfloat16)
    numbers = "bfciu" if desc.dtype == "BOOL" else "fciu"
    if array.dtype.kind not in numbers and array.dtype != ml_dtypes.bfloat16:
        raise DumpFault(f"data: {key}: {array.dtype} is not a number")
    if array.dtype.kind == "c" and not DTYPES[desc.dtype].complex:
        raise DumpFault(f"data: {key}: is complex, the call says {desc.dtype}")
    values = np.asarray(array.astype(DTYPES[desc.dtype].wide))
    if DTYPES[desc.dtype].whole:
        low, high = DTYPES[desc.dtype].limits
        held = (values >= low) & (values <= high) & (np.floor(values) == values)
        for place in np.argwhere(~held)[:1].tolist():
            what = f"is {values[tuple(place)]:g}, no whole number that {desc.dtype} and DOUBLE hold"
            raise DumpFault(f"data: {key}{place} {what}")
    return values
