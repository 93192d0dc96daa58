"""TTK's case files: CSV whose cells are Python literals, a row per case, either of the aclnn mode
(:mod:`opgen.interop.ttk_aclnn`) or of the kernel mode (:mod:`opgen.interop.ttk_kernels`).
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from opgen.calls.vocabulary import known_products
from opgen.interop import names, ttk_aclnn, ttk_kernels, values
from opgen.interop.importing import Imported, ImportedCase, NotImported, gather
from opgen.interop.names import Unreadable, shown
from opgen.interop.values import Row
from opgen.model import FileError, Problem, did_you_mean
from opgen.spec.catalog import Catalog

LONGEST_NAME = 200
"""Characters of a case's name that a table can hold."""
_READ = {
    "testcase_name",
    "api_name",
    "op_name",
    "is_enabled",
    "soc_series",
    "attributes",
    "output_tensor_indexes",
    *ttk_aclnn.TENSORS,
    *ttk_kernels.COLUMNS,
}


def read(path: str | Path, catalog: Catalog, products: Sequence[str]) -> Imported:
    """The calls of a TTK file; raises FileError for a file that is no table of cases.

    ``products`` overrule the file's ``soc_series``.
    """
    file, products = str(path), known_products(products)
    reader = csv.reader(io.StringIO(values.text_of(path), newline=""), strict=True)
    return gather(file, _cases(reader, _header(file, reader), catalog, products), catalog)


def _header(file: str, reader: Iterator[list[str]]) -> list[str]:
    try:
        header = [cell.strip() for cell in next(reader, [])]
    except csv.Error as error:
        raise FileError.of(file, "", f"is not CSV: {error}", 1) from None
    needed = (
        ttk_kernels.NEEDED if "op_name" in header and "api_name" not in header else ttk_aclnn.NEEDED
    )
    faults = {
        name: f"the column is missing{did_you_mean(name, header)}; a first line names the columns"
        for name in needed
        if name not in header
    }
    faults |= {
        name: "appears twice among the columns"
        for name, times in Counter(header).items()
        if name and times > 1
    }
    if faults:
        raise FileError([Problem(file, 1, name, fault) for name, fault in faults.items()])
    return header


def _cases(
    reader: Any, header: list[str], catalog: Catalog, products: Sequence[str]
) -> Iterator[ImportedCase]:
    """A case per row; what is no CSV is one that cannot be read."""
    while True:
        line, cells, fault = reader.line_num + 1, [], ""
        try:
            cells = [cell.strip() for cell in next(reader)]
        except StopIteration:
            return
        except csv.Error as error:
            fault = f"is not CSV: {error}"
        if any(cells) or fault:
            row = dict.fromkeys(header, "") | dict(zip(header, cells, strict=False))
            if len(cells) > len(header) or len(cells) < min(len(header), len(ttk_aclnn.NEEDED)):
                fault = fault or (
                    f"has {len(cells)} cells and the header {len(header)}; quote cells that hold a"
                    " comma"
                )
            read = partial(_read, row, fault, catalog)
            name = row["testcase_name"]
            yield ImportedCase(name if _is_name(name) else f"line {line}", read, line, products)


def _is_name(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name.isprintable()


def _read(row: Row, fault: str, catalog: Catalog, case: ImportedCase) -> None:
    if fault:
        raise Unreadable(fault)
    if not _is_name(row["testcase_name"]):
        raise Unreadable(
            f"testcase_name {shown(row['testcase_name'])}: expects a name of 1 to {LONGEST_NAME}"
            " printable characters"
        )
    mode = "aclnn" if "api_name" in row else "kernel"
    case.origin = {"format": "ttk", "line": case.line, "mode": mode}
    case.ignored += [key for key, cell in row.items() if cell and key and key not in _READ]
    if row.get("is_enabled", "").lower() in ("false", "0", "no"):
        raise NotImported(f"is_enabled is {row['is_enabled']}")
    if mode == "aclnn":
        ttk_aclnn.read(row, case, catalog)
    else:
        ttk_kernels.read(row, case, catalog)
    case.products = case.products or _products(row, case)


def _products(row: Row, case: ImportedCase) -> list[str]:
    """Products of ``soc_series``: those that it names; a name with a minus takes one away."""
    series = values.items(row, "soc_series")
    if not all(isinstance(soc, str) for soc in series):
        raise Unreadable(f"soc_series: expects names, not {shown(series)}")
    refused = {names.product(soc[1:].strip()) for soc in series if soc.startswith("-")}
    wanted = {soc: names.product(soc.strip()) for soc in series if not soc.startswith("-")}
    known = [
        product for product in dict.fromkeys(wanted.values()) if product and product not in refused
    ]
    if series and not known:
        raise Unreadable(
            f"soc_series {shown(series)} names no known product; say for which with --product"
        )
    case.notes += [
        f"soc_series: {shown(soc)} is of no known product"
        for soc, product in wanted.items()
        if not product
    ]
    return known
