"""A bundle for TTK: ``cases.csv`` of the aclnn mode, and ``manual/<case>/`` with the data of its
prepare and replay protocol.

Positive cases only: TTK knows no expected status, so that any refusal would count as a failure.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.calls.vocabulary import vocabulary
from opgen.interop import exporting, names
from opgen.interop.exporting import Export, spec_of
from opgen.interop.folder import file_name
from opgen.interop.npz_export import plain
from opgen.interop.ttk_aclnn import COLUMNS, TENSORS
from opgen.interop.ttk_import import LONGEST_NAME
from opgen.spec.spec import Spec

TABLE, DATA = "cases.csv", "manual"
FORMULA = ("=", "+", "-", "@")
"""How a cell begins that a spreadsheet would run."""
_ALWAYS = ("shape", "dtype", "format")
"""Facts of tensors that every row says."""


def export(bundle: Bundle, target: str | Path, ids: Iterable[str], force: bool = False) -> Export:
    """Write the positive cases of ``ids`` to the folder ``target``; raises FileError,
    BundleError.
    """
    chosen = exporting.choose(bundle, ids, _refuse)
    with chosen.folder("ttk", target, force) as folder:
        (folder / DATA).mkdir()
        with open(folder / TABLE, "w", encoding="utf-8", newline="") as stream:
            table = csv.DictWriter(stream, COLUMNS, restval="", lineterminator="\n")
            table.writeheader()
            for case in chosen.cases:
                spec = spec_of(case)
                table.writerow(row(case, spec))
                write_data(folder / DATA / file_name(case.id, distinct=False), case, spec)
    return chosen


def _refuse(case: CaseView) -> str:
    if reason := exporting.without_golden(case) or exporting.with_list(case):
        return reason
    if not case.id.isprintable() or len(case.id) > LONGEST_NAME or case.id.startswith(FORMULA):
        return "a table cannot hold its id"
    folder = file_name(case.id, distinct=False)
    other = folder != case.id and folder in case.bundle.rows
    return "its folder would be that of another case" if other else ""


def row(case: CaseView, spec: Spec) -> dict[str, str]:
    """One line of the table: cells that are Python literals."""
    args, outputs = case.call["args"], {p.name for p in spec.outputs}
    tensors = {name: args[name] or {} for name, kind in spec.kinds.items() if kind == "tensor"}
    cells: dict[str, object] = {
        "output_tensor_indexes": tuple(i for i, name in enumerate(tensors) if name in outputs),
        "attributes": {name: value for name, value in args.items() if name not in tensors},
        "soc_series": (vocabulary().products[case.product]["soc"],),
    }
    for column, (fact, blank) in TENSORS.items():
        said = [desc.get(fact, blank) for desc in tensors.values()]
        if fact == "dtype":
            said = [names.spelled(word, names.NUMPY) for word in said]
        if fact in _ALWAYS or any(item != blank for item in said):
            cells[column] = tuple(tuple(item) if isinstance(item, list) else item for item in said)
    text = {
        "testcase_name": case.id,
        "api_name": case.op,
        "is_enabled": "True",
        "remark": cell(case.intent),
    }
    return text | {column: repr(value) for column, value in cells.items()}


def cell(words: str) -> str:
    r"""Words on one line, which no spreadsheet takes for a formula.

    >>> cell("=legal\ncall")
    'legal call'
    """
    return " ".join(words.split()).lstrip("".join(FORMULA))


def write_data(folder: Path, case: CaseView, spec: Spec) -> None:
    """The case's folder: each input's whole storage, each output's golden; nothing else may lie in
    it.
    """
    folder.mkdir()
    storage, golden, args = case.storage, case.golden, case.call["args"]
    for place, p in enumerate(spec.inputs):
        array = storage.get(p.name)
        word = "none" if array is None else names.spelled(args[p.name]["dtype"], names.NUMPY)
        _write(folder / f"input_{place}_{word}.bin", array)
    for place, p in enumerate(spec.outputs):
        array = golden.get(p.name)
        tail = (
            "none"
            if array is None
            else f"{array.dtype.name}__shape_{'x'.join(map(str, array.shape)) or 'scalar'}"
        )
        _write(folder / f"golden_{place}_{tail}.bin", array)


def _write(path: Path, array: np.ndarray | None) -> None:
    path.write_bytes(b"" if array is None else plain(array).tobytes())
