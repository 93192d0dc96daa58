"""A bundle as a folder of numpy's own files: ``cases.jsonl`` with a line per case,
``data/<case>.npz`` where there are data.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.interop.exporting import Export, choose
from opgen.interop.folder import file_name
from opgen.model import TensorDesc

INDEX = "cases.jsonl"


def export(bundle: Bundle, target: str | Path, ids: Iterable[str], force: bool = False) -> Export:
    """Write every case of ``ids`` to the folder ``target``; raises FileError, BundleError."""
    chosen = choose(bundle, ids, lambda case: "")
    with chosen.folder("npz", target, force) as folder:
        write(folder, chosen.cases)
    return chosen


def write(
    folder: Path,
    cases: Iterable[CaseView],
    more: Callable[[CaseView], dict[str, object]] = lambda case: {},
) -> None:
    """The index and the data of ``cases``, into a folder; ``more`` is what the line of a case says
    besides.
    """
    (folder / "data").mkdir()
    with open(folder / INDEX, "w", encoding="utf-8", newline="\n") as index:
        for case in cases:
            line = describe(case) | more(case)
            if line["file"]:
                write_arrays(folder / line["file"], arrays(case))
            index.write(json.dumps(line) + "\n")


def describe(case: CaseView) -> dict[str, Any]:
    """The call of a case, and beside it what is expected; a line of a call file, too."""
    page, library = case.expect, case.library
    return case.call | {
        "expect": {
            "codes": list(page.codes),
            "bucket": page.bucket,
            "breaks": [broken.rule for broken in page.breaks],
        },
        "library": library and library.as_data(),
        "kind": case.kind,
        "intent": case.intent,
        "recipe": case.recipe,
        "compute": case.compute,
        "inconclusive": case.inconclusive,
        "file": f"data/{file_name(case.id)}.npz" if case.phase == 2 else None,
    }


def arrays(case: CaseView) -> Iterator[tuple[str, np.ndarray]]:
    """Every array of a case under its key: ``input.X`` the logical view, ``storage.X`` the buffer
    of a view that is not its own, ``golden.Y`` and ``bound.Y``. BFLOAT16 becomes its bits.
    """
    for name, array in case.inputs.items():
        yield f"input.{name}", plain(array)
        desc = case.args[name]
        if isinstance(desc, TensorDesc) and not desc.plain:
            yield f"storage.{name}", plain(case.storage[name])
    for role, tensors in (("golden", case.golden), ("bound", case.bound)):
        for name, array in tensors.items():
            yield f"{role}.{name}", plain(array)


def plain(array: np.ndarray) -> np.ndarray:
    """An array in a type that numpy itself knows, contiguous: bfloat16 as uint16."""
    whole = np.ascontiguousarray(array).reshape(array.shape)
    return whole.view(np.uint16) if whole.dtype.name == "bfloat16" else whole


def write_arrays(path: Path, tensors: Iterable[tuple[str, np.ndarray]]) -> None:
    """One ``.npz``, uncompressed; the same bytes whenever it is written."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for key, array in tensors:
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)
