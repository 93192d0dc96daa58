"""TTK's case files: CSV whose cells are Python literals, a row per case; the aclnn mode here, the
kernel mode in :mod:`opgen.interop.ttk_kernels`.

``tensor_view_shapes`` holds all tensors in the order of the prototype, outputs among them, None for
a null pointer.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from opgen.calls.kinds import KINDS, prototype
from opgen.calls.vocabulary import known_products
from opgen.interop import names, ttk_kernels, values
from opgen.interop.importing import Imported, ImportedCase, NotImported, gather
from opgen.interop.names import Unreadable, shown
from opgen.model import FileError, Problem, did_you_mean
from opgen.spec.catalog import Catalog
from opgen.spec.spec import Spec

COLUMNS = (
    "testcase_name",
    "network_name",
    "api_name",
    "tensor_view_shapes",
    "tensor_dtypes",
    "tensor_formats",
    "tensor_storage_shapes",
    "tensor_view_offsets",
    "tensor_view_strides",
    "output_tensor_indexes",
    "output_inplace_indexes",
    "attributes",
    "scalar_dtypes",
    "scalar_data_ranges",
    "input_data_ranges",
    "precision_tolerances",
    "absolute_precision",
    "is_enabled",
    "remark",
    "soc_series",
    "priority",
    "dump_file_prefix",
    "manual_tensor_binaries",
    "manual_golden_binaries",
    "batch_seed",
    "batch_axis",
    "batch_slice_info",
)
"""The columns of the aclnn mode, in their order."""
NEEDED = ("testcase_name", "api_name", "tensor_view_shapes", "tensor_dtypes")
TENSORS: Mapping[str, tuple[str, Any]] = {
    "tensor_view_shapes": ("shape", None),
    "tensor_dtypes": ("dtype", "FLOAT"),
    "tensor_formats": ("format", "ND"),
    "tensor_storage_shapes": ("storage_shape", None),
    "tensor_view_offsets": ("offset", 0),
    "tensor_view_strides": ("strides", None),
    "input_data_ranges": ("range", (None, None)),
}
"""Column with an item per tensor -> the fact of a tensor that it says, and what stands there for a
tensor of which there is nothing to say."""
_FOR_ALL = ("tensor_dtypes", "tensor_formats")
"""Columns whose only item is that of all tensors."""
_SHORT = ("tensor_formats", "input_data_ranges")
"""Columns in which the last tensors may be left out."""
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
    *TENSORS,
    *ttk_kernels.COLUMNS,
}

Row: TypeAlias = Mapping[str, str]
"""Column -> cell."""


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
    needed = ttk_kernels.NEEDED if "op_name" in header and "api_name" not in header else NEEDED
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
            if len(cells) > len(header) or len(cells) < min(len(header), len(NEEDED)):
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
        _aclnn(row, case, catalog)
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


def _aclnn(row: Row, case: ImportedCase, catalog: Catalog) -> None:
    case.api = names.api(row["api_name"], catalog)
    spec = catalog.of(case.api)[0]
    kinds = {name: KINDS[spec.parameters[name].kind] for name in prototype(spec.kinds)}
    tensors = [name for name, kind in kinds.items() if kind.family in ("tensor", "list")]
    outputs = [name for name in tensors if kinds[name].written]
    inputs = [name for name in tensors if kinds[name].read]
    count = len(values.items(row, "tensor_view_shapes"))
    if count == len(inputs) < len(tensors):
        case.notes.append(
            f"{', '.join(name for name in tensors if name not in inputs)}: not in the file; made"
            " from the page"
        )
        tensors = inputs
    elif count != len(tensors):
        raise Unreadable(
            f"tensor_view_shapes: {count} tensors; {case.api} has {len(tensors)}:"
            f" {', '.join(tensors)}"
        )
    _check_outputs(row, tensors, outputs)
    facts = {fact: _per_tensor(row, column, tensors) for column, (fact, _) in TENSORS.items()}
    for name, *of_tensor in zip(tensors, *facts.values(), strict=True):
        with values.about(name):
            read = _tensors if kinds[name].family == "list" else _tensor
            case.args[name] = read(name, dict(zip(facts, of_tensor, strict=True)), case.notes)
    _attributes(row, spec, case)


def _check_outputs(row: Row, tensors: list[str], outputs: list[str]) -> None:
    """``output_tensor_indexes`` must mean what the page calls outputs."""
    indexes = values.items(row, "output_tensor_indexes")
    places = [i for i, name in enumerate(tensors) if name in outputs]
    if indexes and sorted(indexes, key=str) != sorted(places, key=str):
        raise Unreadable(
            f"output_tensor_indexes: {shown(indexes)}; the outputs {', '.join(outputs)} stand at"
            f" {places}"
        )


def _per_tensor(row: Row, column: str, tensors: Sequence[str]) -> list[Any]:
    """A fact of every tensor; None where the row says nothing."""
    facts = values.items(row, column)
    if len(facts) == 1 and column in _FOR_ALL:
        return facts * len(tensors)
    if column in _SHORT or (not facts and column != "tensor_dtypes"):
        facts += [None] * (len(tensors) - len(facts))
    if len(facts) != len(tensors):
        raise Unreadable(f"{column}: {shown(facts)}: expects one for each of {', '.join(tensors)}")
    return facts


def _tensor(name: str, facts: dict[str, Any], notes: list[str]) -> dict[str, object] | None:
    """A tensor as a call has it, or a null pointer."""
    if facts["shape"] is None:
        return None
    desc = facts | {
        "dtype": names.dtype(facts["dtype"]),
        "format": names.layout(facts["format"] or "ND"),
        "range": values.limits(name, facts["range"], notes),
    }
    plain = facts["strides"] is None and not facts["offset"]
    if plain and facts["storage_shape"] == facts["shape"]:
        desc["storage_shape"] = None
    return desc


def _tensors(name: str, facts: dict[str, Any], notes: list[str]) -> list[object] | None:
    """A list of tensors: a shape of each, and every other fact of each, or one of all."""
    if facts["shape"] is None:
        return None
    shapes = values.of_kind(list, facts["shape"], "a tuple of shapes, one for each tensor")
    said = {
        fact: value if _of_each(fact, value) else [value] * len(shapes)
        for fact, value in facts.items()
    }
    for fact, listed in said.items():
        if len(listed) != len(shapes):
            raise Unreadable(f"{fact}: {shown(listed)}: expects one for each of {len(shapes)}")
    each = (dict(zip(said, item, strict=True)) for item in zip(*said.values(), strict=True))
    return [_tensor(f"{name}[{i}]", of, notes) for i, of in enumerate(each)]


def _of_each(fact: str, value: object) -> bool:
    """Whether what is said of a list of tensors is said of each: numbers alone are the storage, the
    strides or the range of one.
    """
    alone = fact not in ("shape", "dtype", "format", "offset")
    return isinstance(value, list) and not (
        alone and value and all(isinstance(number, int | float) for number in value)
    )


def _attributes(row: Row, spec: Spec, case: ImportedCase) -> None:
    families = {name: KINDS[kind].family for name, kind in spec.kinds.items()}
    kinds = {n: spec.kinds[n] for n, of in families.items() if of not in ("tensor", "list")}
    for key, value in values.attributes(row).items():
        with values.about("attributes"):
            name = names.match(key, kinds)
            if name is None:
                raise Unreadable(f"{spec.api} has no {shown(key)}; it takes {', '.join(kinds)}")
            case.take(name, values.argument(kinds[name], value))
