"""TTK's case files: CSV whose cells are Python literals, a row per case; the aclnn mode here, the
kernel mode in its own room.

``tensor_view_shapes`` holds all tensors in the order of the prototype, outputs among them, None for
a null pointer.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opgen.calls.vocabulary import known_products, vocabulary
from opgen.files.yamlfile import did_you_mean
from opgen.interop import kernel, names, values
from opgen.interop.imported import Found, Imported, attempt, gather
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
    *kernel.COLUMNS,
}

Row = Mapping[str, str]


def read(path: str | Path, catalog: Catalog, products: Sequence[str]) -> Imported:
    """The calls of a TTK file; raises FileError for a file that is no table of cases.

    ``products`` overrule the file's ``soc_series``.
    """
    products, file = known_products(products), str(path)
    reader = csv.reader(io.StringIO(values.text_of(path), newline=""), strict=True)
    header = _header(file, reader)
    ignored: Counter[str] = Counter()
    return gather(file, _rows(file, reader, header, catalog, products, ignored), catalog, ignored)


def _header(file: str, reader: Any) -> list[str]:
    try:
        header = [cell.strip() for cell in next(reader, [])]
    except csv.Error as error:
        raise FileError([Problem(file, 1, "", f"is no CSV: {error}")]) from None
    needed = kernel.NEEDED if "op_name" in header and "api_name" not in header else NEEDED
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
        Problem(file, 1, name, "stands twice among the columns")
        for name, times in Counter(header).items()
        if name and times > 1
    ]
    if problems:
        raise FileError(problems)
    return header


def _rows(
    file: str,
    reader: Any,
    header: list[str],
    catalog: Catalog,
    products: Sequence[str],
    ignored: Counter[str],
) -> Iterator[Found]:
    first = reader.line_num
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            if line == first + 1:
                raise FileError([Problem(file, None, "", "holds no case")]) from None
            return
        except csv.Error as error:
            yield Found(f"line {line}", line, fault=f"is no CSV: {error}")
            continue
        if not any(cell.strip() for cell in cells):
            continue
        row = dict.fromkeys(header, "") | {
            name: cell.strip() for name, cell in zip(header, cells, strict=False)
        }
        name = row.get("testcase_name", "")
        found = Found(name if 0 < len(name) <= 200 and name.isprintable() else f"line {line}", line)
        if len(cells) > len(header) or len(cells) < len(header) and len(cells) < len(NEEDED):
            found.fault = (
                f"has {len(cells)} cells and the header {len(header)}; quote cells that hold a"
                " comma"
            )
        elif found.id != name:
            found.fault = (
                f"testcase_name {shown(name)}: expects a name of 1 to 200 printable characters"
            )
        else:
            ignored.update(key for key, cell in row.items() if cell and key and key not in _READ)
            attempt(found, _reader(row, found, catalog, products))
        yield found


def _reader(
    row: Row, found: Found, catalog: Catalog, products: Sequence[str]
) -> Callable[[], None]:
    def work() -> None:
        found.origin = {
            "format": "ttk",
            "line": found.line,
            "mode": "aclnn" if "api_name" in row else "kernel",
        }
        if row.get("is_enabled", "").lower() in ("false", "0", "no"):
            found.skip = f"is_enabled is {row['is_enabled']}"
            return
        if "api_name" in row:
            _aclnn(row, found, catalog)
        else:
            kernel.read(row, found, catalog)
        found.products = products or _products(row.get("soc_series", ""))

    return work


def _products(cell: str) -> list[str]:
    """Products of ``soc_series``: those that it names; a name with a minus takes one away."""
    if not cell:
        return []
    series = cell_value("soc_series", cell)
    series = [series] if isinstance(series, str) else series
    if not isinstance(series, (list, tuple)) or not all(isinstance(one, str) for one in series):
        raise Unreadable(f"soc_series: expects names, not {shown(series)}")
    product_of = vocabulary().product_of
    wanted = {product_of(one.strip()): None for one in series if not one.startswith("-")}
    refused = {product_of(one[1:].strip()) for one in series if one.startswith("-")}
    known = [one for one in wanted if one and one not in refused]
    if not known:
        raise Unreadable(
            f"soc_series {shown(series)} names no known product; say for which with --product"
        )
    return known


def cell_value(column: str, cell: str) -> Any:
    """The literal in a cell; None for an empty one."""
    if not cell:
        return None
    try:
        return values.literal(cell)
    except Unreadable as reason:
        raise Unreadable(f"{column}: {reason}") from None


def _aclnn(row: Row, found: Found, catalog: Catalog) -> None:
    found.api = names.api(row["api_name"], catalog)
    spec = catalog.of(found.api)[0]
    tensors = [p.name for p in spec.parameters.values() if p.is_tensor]
    outputs = [p.name for p in spec.outputs]
    shapes = cell_value("tensor_view_shapes", row["tensor_view_shapes"])
    if not isinstance(shapes, (list, tuple)):
        raise Unreadable(f"tensor_view_shapes: expects a tuple of shapes, not {shown(shapes)}")
    inputs = [name for name in tensors if name not in outputs]
    if len(shapes) == len(inputs) < len(tensors):
        found.notes.append(f"{', '.join(outputs)}: not in the file; made from the page")
        tensors = inputs
    elif len(shapes) != len(tensors):
        raise Unreadable(
            f"tensor_view_shapes: {len(shapes)} tensors; {found.api} has {len(tensors)}:"
            f" {', '.join(tensors)}"
        )
    _check_outputs(row, tensors, outputs)
    facts = {column: _per_tensor(row, column, tensors) for column in _FACTS}
    for i, name in enumerate(tensors):
        found.args[name] = (
            None
            if shapes[i] is None
            else _tensor(name, shapes[i], {column: cells[i] for column, cells in facts.items()})
        )
    _ranges(row, inputs, found)
    _attributes(row, spec, found)


_FACTS = (
    "tensor_dtypes",
    "tensor_formats",
    "tensor_storage_shapes",
    "tensor_view_offsets",
    "tensor_view_strides",
)


def _per_tensor(row: Row, column: str, tensors: Sequence[str]) -> Sequence[Any]:
    """One fact per tensor; one alone of dtypes or formats stands for all."""
    value = cell_value(column, row.get(column, ""))
    if value is None or (value == () and column != "tensor_dtypes"):
        if column == "tensor_dtypes":
            raise Unreadable("tensor_dtypes: is empty; expects a dtype per tensor")
        return [None] * len(tensors)
    value = (value,) if isinstance(value, str) else value
    if isinstance(value, (list, tuple)):
        if len(value) == 1 and column in ("tensor_dtypes", "tensor_formats"):
            return list(value) * len(tensors)
        if len(value) == len(tensors):
            return value
    raise Unreadable(f"{column}: {shown(value)}: expects one for each of {', '.join(tensors)}")


def _tensor(name: str, shape: Any, facts: Mapping[str, Any]) -> dict[str, Any]:
    try:
        dtype, format = names.dtype(facts["tensor_dtypes"]), facts["tensor_formats"]
        desc = {
            "shape": values.listed(shape),
            "dtype": dtype,
            "format": "ND" if format is None else names.layout(format),
        }
    except Unreadable as reason:
        raise Unreadable(f"{name}: {reason}") from None
    strides, offset, storage = (
        values.listed(facts[f"tensor_{key}"])
        for key in ("view_strides", "view_offsets", "storage_shapes")
    )
    contiguous = strides is None and not offset and (storage is None or storage == desc["shape"])
    return (
        desc
        if contiguous
        else desc | {"strides": strides, "offset": offset or 0, "storage_shape": storage}
    )


def _check_outputs(row: Row, tensors: list[str], outputs: list[str]) -> None:
    """``output_tensor_indexes`` must mean what the page calls outputs."""
    indexes = cell_value("output_tensor_indexes", row.get("output_tensor_indexes", ""))
    places = [i for i, name in enumerate(tensors) if name in outputs]
    listed = [indexes] if isinstance(indexes, int) else indexes
    if not listed:
        return
    if not isinstance(listed, (list, tuple)) or sorted(listed, key=str) != places:
        raise Unreadable(
            f"output_tensor_indexes: {shown(indexes)}; the outputs {', '.join(outputs)} stand at"
            f" {places}"
        )


def _ranges(row: Row, inputs: Sequence[str], found: Found) -> None:
    """``input_data_ranges``: one per input tensor, or one for all."""
    ranges = cell_value("input_data_ranges", row.get("input_data_ranges", ""))
    if not ranges:
        return
    if not isinstance(ranges, (list, tuple)):
        raise Unreadable(
            f"input_data_ranges: expects (lowest, highest) per input, not {shown(ranges)}"
        )
    pairs = [ranges] if values.limits(ranges) is not None else list(ranges)
    if len(pairs) not in (1, len(inputs)):
        raise Unreadable(
            f"input_data_ranges: {len(pairs)} ranges for the inputs {', '.join(inputs)}"
        )
    for name, pair in zip(inputs, pairs * len(inputs) if len(pairs) == 1 else pairs, strict=False):
        desc, limits = found.args.get(name), values.limits(pair)
        if desc is None or pair is None:
            continue
        if limits is None:
            found.notes.append(
                f"{name}: values {shown(pair)} are not (lowest, highest); opgen draws its own"
            )
            continue
        desc["range"] = limits
        if len(pair) > 2:
            found.notes.append(
                f"{name}: the values {shown(pair[2:])} that must appear are not carried over"
            )


def _attributes(row: Row, spec: Spec, found: Found) -> None:
    attributes = cell_value("attributes", row.get("attributes", ""))
    attributes = {} if attributes is None else attributes
    if not isinstance(attributes, dict):
        raise Unreadable(f"attributes: expects a dictionary, not {shown(attributes)}")
    kinds = {name: kind for name, kind in spec.kinds.items() if kind != "tensor"}
    for key, value in attributes.items():
        name = names.match(key, kinds) if isinstance(key, str) else None
        if name is None:
            raise Unreadable(
                f"attributes: {spec.api} has no {shown(key)}; it takes {', '.join(kinds)}"
            )
        if name in found.args:
            raise Unreadable(f"attributes: {name} is there already")
        kind, plain = kinds[name], values.listed(value)
        found.args[name] = (
            [values.scalar(kind, v) for v in plain]
            if isinstance(plain, list)
            else values.scalar(kind, plain)
        )
    missing = [name for name in kinds if name not in found.args]
    if missing:
        raise Unreadable(f"attributes: {', '.join(missing)} missing; a null array is None")
