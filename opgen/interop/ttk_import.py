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
from pathlib import Path
from typing import Any, TypeAlias

from opgen.calls.vocabulary import known_products, vocabulary
from opgen.files.yamlfile import did_you_mean
from opgen.interop import names, ttk_kernels, values
from opgen.interop.importing import Imported, ImportedCase, gather
from opgen.interop.names import Unreadable, shown
from opgen.model import FileError, Problem
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
LONGEST_NAME = 200
"""Characters of a case's name that a table can hold."""
_READ = {
    "testcase_name",
    "api_name",
    "op_name",
    "is_enabled",
    "soc_series",
    "attributes",
    "tensor_view_shapes",
    "tensor_dtypes",
    "tensor_formats",
    "tensor_storage_shapes",
    "tensor_view_offsets",
    "tensor_view_strides",
    "output_tensor_indexes",
    "input_data_ranges",
    *ttk_kernels.COLUMNS,
}

Row: TypeAlias = Mapping[str, str]
"""Column -> cell."""


def read(path: str | Path, catalog: Catalog, products: Sequence[str]) -> Imported:
    """The calls of a TTK file; raises FileError for a file that is no table of cases.

    ``products`` overrule the file's ``soc_series``.
    """
    products, file = known_products(products), str(path)
    reader = csv.reader(io.StringIO(values.text_of(path), newline=""), strict=True)
    ignored: Counter[str] = Counter()
    header = _header(file, reader)
    return gather(file, _cases(reader, header, catalog, products, ignored), catalog, ignored)


def _header(file: str, reader: Iterator[list[str]]) -> list[str]:
    try:
        header = [cell.strip() for cell in next(reader, [])]
    except csv.Error as error:
        raise FileError.of(file, "", f"is not CSV: {error}", 1) from None
    needed = ttk_kernels.NEEDED if "op_name" in header and "api_name" not in header else NEEDED
    problems = [
        Problem(
            file,
            1,
            name,
            f"the column is missing{did_you_mean(name, header)}; a first line names the columns",
        )
        for name in needed
        if name not in header
    ]
    problems += [
        Problem(file, 1, name, "appears twice among the columns")
        for name, times in Counter(header).items()
        if name and times > 1
    ]
    if problems:
        raise FileError(problems)
    return header


def _cases(
    reader: Any,
    header: list[str],
    catalog: Catalog,
    products: Sequence[str],
    ignored: Counter[str],
) -> Iterator[ImportedCase]:
    """A case per row; one that is no CSV, or has cells for no column, is a faulty one."""
    while True:
        line = reader.line_num + 1
        try:
            cells = [cell.strip() for cell in next(reader)]
        except StopIteration:
            return
        except csv.Error as error:
            yield ImportedCase(f"line {line}", line, fault=f"is not CSV: {error}")
            continue
        if not any(cells):
            continue
        row = dict.fromkeys(header, "") | dict(zip(header, cells, strict=False))
        name = row.get("testcase_name", "")
        named = 0 < len(name) <= LONGEST_NAME and name.isprintable()
        case = ImportedCase(name if named else f"line {line}", line)
        if len(cells) > len(header) or len(cells) < len(header) and len(cells) < len(NEEDED):
            case.fault = (
                f"has {len(cells)} cells and the header {len(header)}; quote cells that hold a"
                " comma"
            )
        elif not named:
            case.fault = (
                f"testcase_name {shown(name)}: expects a name of 1 to {LONGEST_NAME} printable"
                " characters"
            )
        else:
            ignored.update(key for key, cell in row.items() if cell and key and key not in _READ)
            with case.reading():
                _read(row, case, catalog, products)
        yield case


def _read(row: Row, case: ImportedCase, catalog: Catalog, products: Sequence[str]) -> None:
    mode = "aclnn" if "api_name" in row else "kernel"
    case.origin = {"format": "ttk", "line": case.line, "mode": mode}
    if row.get("is_enabled", "").lower() in ("false", "0", "no"):
        case.skip = f"is_enabled is {row['is_enabled']}"
        return
    if mode == "aclnn":
        _aclnn(row, case, catalog)
    else:
        ttk_kernels.read(row, case, catalog)
    case.products = products or _products(row)


def _products(row: Row) -> list[str]:
    """Products of ``soc_series``: those that it names; a name with a minus takes one away."""
    if not row.get("soc_series"):
        return []
    series = values.cell(row, "soc_series")
    series = [series] if isinstance(series, str) else series
    if not isinstance(series, list | tuple) or not all(isinstance(soc, str) for soc in series):
        raise Unreadable(f"soc_series: expects names, not {shown(series)}")
    product_of = vocabulary().product_of
    refused = {product_of(soc[1:].strip()) for soc in series if soc.startswith("-")}
    wanted = [product_of(soc.strip()) for soc in series if not soc.startswith("-")]
    known = [product for product in dict.fromkeys(wanted) if product and product not in refused]
    if not known:
        raise Unreadable(
            f"soc_series {shown(series)} names no known product; say for which with --product"
        )
    return known


def _aclnn(row: Row, case: ImportedCase, catalog: Catalog) -> None:
    case.api = names.api(row["api_name"], catalog)
    spec = catalog.of(case.api)[0]
    tensors = [p.name for p in spec.parameters.values() if p.is_tensor]
    outputs = [p.name for p in spec.outputs]
    shapes = values.cell(row, "tensor_view_shapes")
    if not isinstance(shapes, list | tuple):
        raise Unreadable(f"tensor_view_shapes: expects a tuple of shapes, not {shown(shapes)}")
    inputs = [name for name in tensors if name not in outputs]
    if len(shapes) == len(inputs) < len(tensors):
        case.notes.append(f"{', '.join(outputs)}: not in the file; made from the page")
        tensors = inputs
    elif len(shapes) != len(tensors):
        raise Unreadable(
            f"tensor_view_shapes: {len(shapes)} tensors; {case.api} has {len(tensors)}:"
            f" {', '.join(tensors)}"
        )
    _check_outputs(row, tensors, outputs)
    facts = [_per_tensor(row, column, tensors) for column in _FACTS]
    for name, shape, *of_tensor in zip(tensors, shapes, *facts, strict=True):
        case.args[name] = None if shape is None else _tensor(name, shape, *of_tensor)
    _ranges(row, inputs, case)
    _attributes(row, spec, case)


_FACTS = (
    "tensor_dtypes",
    "tensor_formats",
    "tensor_view_strides",
    "tensor_view_offsets",
    "tensor_storage_shapes",
)


def _per_tensor(row: Row, column: str, tensors: Sequence[str]) -> Sequence[object]:
    """One fact per tensor; one alone of dtypes or formats stands for all."""
    value = values.cell(row, column)
    if value is None and column == "tensor_dtypes":
        raise Unreadable("tensor_dtypes: is empty; expects a dtype per tensor")
    if value is None or (value == () and column != "tensor_dtypes"):
        return [None] * len(tensors)
    value = (value,) if isinstance(value, str) else value
    if isinstance(value, list | tuple):
        if len(value) == 1 and column in ("tensor_dtypes", "tensor_formats"):
            return list(value) * len(tensors)
        if len(value) == len(tensors):
            return value
    raise Unreadable(f"{column}: {shown(value)}: expects one for each of {', '.join(tensors)}")


def _tensor(
    name: str, shape: object, dtype: object, format: object, *layout: object
) -> dict[str, object]:
    """A tensor as a call has it; ``layout``: strides, offset, extents of the storage."""
    shape, strides, offset, storage = map(values.listed, (shape, *layout))
    try:
        desc = {
            "shape": shape,
            "dtype": names.dtype(dtype),
            "format": "ND" if format is None else names.layout(format),
        }
    except Unreadable as reason:
        raise Unreadable(f"{name}: {reason}") from None
    if strides is None and not offset and storage in (None, shape):
        return desc
    return desc | {"strides": strides, "offset": offset or 0, "storage_shape": storage}


def _check_outputs(row: Row, tensors: list[str], outputs: list[str]) -> None:
    """``output_tensor_indexes`` must mean what the page calls outputs."""
    indexes = values.cell(row, "output_tensor_indexes")
    places = [i for i, name in enumerate(tensors) if name in outputs]
    listed = [indexes] if isinstance(indexes, int) else indexes
    if listed and (not isinstance(listed, list | tuple) or sorted(listed, key=str) != places):
        raise Unreadable(
            f"output_tensor_indexes: {shown(indexes)}; the outputs {', '.join(outputs)} stand at"
            f" {places}"
        )


def _ranges(row: Row, inputs: Sequence[str], case: ImportedCase) -> None:
    """``input_data_ranges``: one per input tensor, or one for all."""
    ranges = values.cell(row, "input_data_ranges")
    if not ranges:
        return
    if not isinstance(ranges, list | tuple):
        raise Unreadable(
            f"input_data_ranges: expects (lowest, highest) per input, not {shown(ranges)}"
        )
    pairs = [ranges] if values.limits(ranges) is not None else list(ranges)
    if len(pairs) not in (1, len(inputs)):
        raise Unreadable(
            f"input_data_ranges: {len(pairs)} ranges for the inputs {', '.join(inputs)}"
        )
    for name, pair in zip(inputs, pairs * len(inputs) if len(pairs) == 1 else pairs, strict=False):
        desc, limits = case.args.get(name), values.limits(pair)
        if not isinstance(desc, dict) or pair is None:
            continue
        if limits is None:
            case.notes.append(
                f"{name}: values {shown(pair)} are not (lowest, highest); opgen draws its own"
            )
            continue
        desc["range"] = limits
        if isinstance(pair, list | tuple) and len(pair) > 2:
            case.notes.append(
                f"{name}: the values {shown(pair[2:])} that must appear are not carried over"
            )


def _attributes(row: Row, spec: Spec, case: ImportedCase) -> None:
    kinds = {name: kind for name, kind in spec.kinds.items() if kind != "tensor"}
    for key, value in values.attributes(row).items():
        name = names.match(key, kinds) if isinstance(key, str) else None
        if name is None:
            raise Unreadable(
                f"attributes: {spec.api} has no {shown(key)}; it takes {', '.join(kinds)}"
            )
        if name in case.args:
            raise Unreadable(f"attributes: {name} is there already")
        case.args[name] = values.argument(kinds[name], values.listed(value))
    missing = [name for name in kinds if name not in case.args]
    if missing:
        raise Unreadable(f"attributes: {', '.join(missing)} missing; a null array is None")
