"""A bundle as a tree for people: one group per case, to be browsed with any HDF5 viewer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

import h5py
import numpy as np

from opgen.bundle.format.dtypes import NAMES, hdf5_type
from opgen.bundle.format.interrupts import deferred_interrupts
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.write.failsafe import Sink
from opgen.bundle.write.output import whole_file
from opgen.calls.typed import TYPES
from opgen.model import AclScalar, TensorDesc


def unpack(
    bundle: Bundle, path: str | Path, ids: Iterable[str] | None = None, *, force: bool = False
) -> int:
    """Write the cases of ``ids`` (default: all) to an HDF5 file with a group each; returns how
    many.

    A group has the case's facts as attributes, the whole call as JSON among them, and the groups
    ``arguments`` (what is no tensor), ``inputs`` (logical views), ``storage`` (buffers of views
    that are not their own), ``golden`` and ``bound``. Slashes in an id make nested groups. Raises
    BundleError where ``path`` exists (unless ``force``), KeyError for an unknown id.
    """
    rows = range(len(bundle)) if ids is None else [bundle[name].row for name in dict.fromkeys(ids)]
    with whole_file(path, force) as output:
        _tree(Sink(output.fd), bundle, rows)
    return len(rows)


def _tree(sink: Sink, bundle: Bundle, rows: Iterable[int]) -> None:
    """Write cases; OSError where there is no room for them. Ctrl-C waits for the end of a case,
    because HDF5 would drop it.
    """
    file = h5py.File(sink, "w", libver=("v110", "v110"))
    try:
        for name, value in bundle.header.items():
            file.attrs[name] = json.dumps(value) if isinstance(value, dict) else value
        file.attrs["format"] = "opgen unpacked bundle"
        for row in rows:
            with deferred_interrupts():
                case = bundle[row]
                _write(_group(file, case.id), case)
            sink.check()
    finally:
        with deferred_interrupts():
            file.close()
    sink.check()


def _group(file: h5py.File, name: str) -> h5py.Group:
    """A new group named by the id, or by the quoted id where HDF5 would take the id for something
    else.
    """
    parts = name.split("/")
    if (
        any(part in ("", ".", "..") for part in parts)
        or name in file
        or any(
            "id" in file["/".join(parts[:n])].attrs
            for n in range(1, len(parts))
            if "/".join(parts[:n]) in file
        )
    ):
        name = _quoted(name)
        while name in file:  # as the id of another case
            name = _quoted(name)
    return file.create_group(name)


def _quoted(name: str) -> str:
    return "%" + quote(name, safe="").replace(".", "%2E")


def _write(group: h5py.Group, case: CaseView) -> None:
    facts: dict[str, object] = {
        "id": case.id,
        "op": case.op,
        "product": case.product,
        "kind": case.kind,
        "intent": case.intent,
        "phase": case.phase,
        "codes": " ".join(map(str, case.expect.codes)),
        "bucket": case.expect.bucket,
        "breaks": "\n".join(
            f"{b.rule} ({b.clause or '-'}, line {b.at}): {b.found}" for b in case.expect.breaks
        ),
        "recipe": case.recipe,
        "nearest_valid": case.nearest_valid,
        "compute": case.compute,
        "inconclusive": case.inconclusive,
        "library": "" if case.library is None else " ".join(map(str, case.library.codes)),
        "call": json.dumps(case.call, ensure_ascii=False),
    }
    for name, value in facts.items():
        group.attrs[name] = value
    arguments = group.create_group("arguments")
    for name, argument in case.args.items():
        if not isinstance(argument, TensorDesc):
            arguments.attrs[name] = h5py.Empty("i8") if argument is None else _plain(argument)
    described = {name: desc for name, desc in case.plain_args.items() if isinstance(desc, dict)}
    for folder, tensors in (
        ("inputs", case.inputs),
        ("golden", case.golden),
        ("bound", case.bound),
        ("places", case.places),
    ):
        _tensors(group, folder, tensors, described if folder == "inputs" else {})
    moved = [
        name for name in case.storage if described[name]["strides"] or described[name]["offset"]
    ]
    _tensors(group, "storage", {name: case.storage[name] for name in moved}, {})


def _plain(value: object) -> np.ndarray | str:
    if isinstance(value, str):
        return value
    if isinstance(value, AclScalar):
        return np.array(value.value, dtype=TYPES[value.dtype])
    return np.array(value, dtype=np.int64) if value == () else np.array(value)


def _tensors(
    group: h5py.Group,
    folder: str,
    tensors: Mapping[str, np.ndarray],
    described: Mapping[str, Mapping[str, object]],
) -> None:
    if not tensors:
        return
    parent = group.create_group(folder)
    for name, value in tensors.items():
        array = np.ascontiguousarray(value).reshape(value.shape)
        dtype = NAMES[array.dtype]
        kind = hdf5_type(dtype)
        made = h5py.h5d.create(
            parent.id, name.encode(), kind, h5py.h5s.create_simple(array.shape), _options()
        )
        if array.size:
            bits = array.view(np.uint16) if dtype == "BFLOAT16" else array
            made.write(h5py.h5s.ALL, h5py.h5s.ALL, bits, mtype=kind)
        attributes = h5py.Dataset(made).attrs
        attributes["opgen_dtype"] = dtype
        for key, fact in described.get(name, {}).items():
            if key not in ("shape", "dtype") and fact is not None:
                attributes[key] = fact


def _options() -> h5py.h5p.PropDCID:
    options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    options.set_obj_track_times(False)
    return options
