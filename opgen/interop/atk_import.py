"""ATK's case files: a JSON list of cases, each with the inputs of one call.

An input is an object, or a list of objects of one name that together are one array argument.
Outputs and formats are not in the file: ATK's executors make them, and so does
:mod:`opgen.interop.completion`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from opgen.calls.vocabulary import known_products
from opgen.interop import names, values
from opgen.interop.importing import Imported, ImportedCase, gather
from opgen.interop.names import Unreadable, shown
from opgen.model import FileError
from opgen.spec.catalog import Catalog
from opgen.spec.spec import Spec

EXECUTORS: Mapping[str, Mapping[str, str]] = {
    "aclnnConvolutionBackward": {"weight": "ND"},
    "aclnnAvgPool2dBackward": dict.fromkeys(("gradOutput", "self", "gradInput"), "NCHW"),
}
"""Formats that ATK's own executors give tensors whatever the case says."""
OURS = "opgen_"
"""An executor of this name takes the formats that the page gives."""
_KINDS = {
    "tensor": ("tensor", "tensors", "tensor_tuple"),
    "value": ("attr", "attrs", "attr_tuple", "scalar", "scalars"),
}
_TYPES = (*_KINDS["tensor"], *_KINDS["value"])
_READ = {"id", "case_name", "aclnn_name", "aclnn_api_type", "inputs", "outputs"}

Object: TypeAlias = dict[str, Any]
"""One of the JSON objects of a file."""


def read(
    path: str | Path, catalog: Catalog, products: Sequence[str], formats: str = "executor"
) -> Imported:
    """The calls of an ATK file for each of ``products``; raises FileError for a file that is no
    list of cases.

    ``formats``: ``executor``, tensors have the formats that ATK's executors set; ``page``, those
    that the page gives.
    """
    products, file = known_products(products), str(path)
    if not products:
        reason = "ATK names no product; say for which with --product, once or several times"
        raise FileError.of(file, "", reason)
    document = values.json_document(path)
    if not isinstance(document, list):
        kind = (
            "one object; put it into [ ]" if isinstance(document, dict) else type(document).__name__
        )
        raise FileError.of(file, "", f"expects a JSON list of cases, not {kind}")
    ignored: Counter[str] = Counter()
    executors = EXECUTORS if formats == "executor" else {}
    return gather(file, _cases(document, catalog, products, ignored, executors), catalog, ignored)


def _cases(
    document: list[object],
    catalog: Catalog,
    products: Sequence[str],
    ignored: Counter[str],
    executors: Mapping[str, Mapping[str, str]],
) -> Iterator[ImportedCase]:
    for position, entry in enumerate(document):
        case = ImportedCase(f"[{position}]", products=products)
        if not isinstance(entry, dict):
            case.fault = f"expects an object, not {shown(entry)}"
        elif (label := _label(entry)) is None:
            case.fault = "has no id; every case needs a number"
        else:
            case.id = label
            number = entry.get("id")
            case.origin = {
                "format": "atk",
                "id": number if isinstance(number, int | str) else None,
            }
            ignored.update(
                key if len(key) < 40 and key.isprintable() else "..."
                for key in entry
                if key not in _READ
            )
            with case.reading():
                _read(entry, case, catalog, executors)
        yield case


def _label(entry: Object) -> str | None:
    """What a case is called: its name, or else its number; None where it has neither."""
    number, name = entry.get("id"), entry.get("case_name")
    label = name if isinstance(name, str) and name else number
    if not isinstance(label, str | int) or label == "":
        return None
    printable = isinstance(label, str) and label.isprintable() and len(label) <= 200
    return str(label) if printable else shown(label)


def _read(
    entry: Object,
    case: ImportedCase,
    catalog: Catalog,
    executors: Mapping[str, Mapping[str, str]],
) -> None:
    if "aclnn_name" not in entry:
        raise Unreadable("aclnn_name is missing; it says which operator is called")
    case.api = names.api(entry["aclnn_name"], catalog)
    spec = catalog.of(case.api)[0]
    arguments: dict[str, Any] = {
        "inputs": entry.get("inputs"),
        "outputs": entry.get("outputs") or [],
    }
    for key, given in arguments.items():
        if not isinstance(given, list):
            raise Unreadable(f"{key}: expects a list, not {shown(given)}")
    if expected := entry.get("expected_error_msg"):
        case.notes.append(f"expected_error_msg: {shown(expected, 200)}")
    free = {"inputs": _free_places(spec, arguments["inputs"]), "outputs": {}}
    layouts = [
        _input(f"{key}[{position}]", given, free[key].get(position), spec, case)
        for key, listed in arguments.items()
        for position, given in enumerate(listed)
    ]
    layout = next(filter(None, reversed(layouts)), None)
    ours = isinstance(entry.get("aclnn_api_type"), str) and entry["aclnn_api_type"].startswith(OURS)
    _set_formats(case, {} if ours else executors.get(case.api, {}), layout)


def _free_places(spec: Spec, inputs: list[object]) -> dict[int, str]:
    """Position -> the parameter of the prototype that stands there, if no input has its name."""
    places = [p.name for p in spec.parameters.values() if p.kind != "output"]
    objects = [part for given in inputs for part in (given if isinstance(given, list) else [given])]
    taken = {
        names.match(part["name"], places)
        for part in objects
        if isinstance(part, dict) and isinstance(part.get("name"), str)
    }
    return {place: name for place, name in enumerate(places) if name not in taken}


def _input(key: str, given: object, free: str | None, spec: Spec, case: ImportedCase) -> str | None:
    """Take over one argument, an object or a list of objects of one name; of an argument of the
    executor, its format. ``free`` is the parameter that stands in its place.
    """
    objects: list[Any] = given if isinstance(given, list) else [given]
    if not objects:
        raise Unreadable(
            f"{key}: an empty list has no name; an empty array cannot be told from a missing one"
        )
    if not all(isinstance(part, dict) for part in objects):
        raise Unreadable(f"{key}: expects an object or a list of objects, not {shown(given)}")
    first = objects[0]
    label = first.get("name")
    if not isinstance(label, str) or not label:
        raise Unreadable(f"{key}: name is missing")
    if any(part.get("name") != label for part in objects):
        raise Unreadable(
            f"{key}: the objects of one list must share one name, not"
            f" {shown([part.get('name') for part in objects])}"
        )
    name = names.match(label, spec.parameters)
    if name is None and first.get("dtype") in ("non_param", "torch_dtype"):
        return _of_executor(label, first, case)
    if name is None:
        tensor = first.get("type") in _KINDS["tensor"]
        if free is None or tensor != (spec.kinds[free] == "tensor"):
            raise Unreadable(
                f"{key}: {case.api} has no parameter {shown(label)}; it takes"
                f" {', '.join(spec.parameters)}"
            )
        name = free
        case.notes.append(f"{name}: taken from {shown(label)}, which is at its place")
    if name in case.args:
        raise Unreadable(f"{key}: {name} is there already")
    try:
        case.args[name] = _argument(
            spec.kinds[name], objects, isinstance(given, list), name, case.notes
        )
    except Unreadable as reason:
        raise Unreadable(f"{name}: {reason}") from None
    return None


def _of_executor(label: str, given: Object, case: ImportedCase) -> str | None:
    """An argument of the executor, not of the operator: the format of a convolution, or a note."""
    value = given.get("range_values")
    value = value[0] if isinstance(value, list) and value else value
    if names.plain(label) in ("format", "dataformat") and value is not None:
        return names.layout(value)
    case.notes.append(
        f"{shown(label)}: an argument of the executor, {shown(value)}; not part of the call"
    )
    return None


def _argument(
    kind: str, objects: list[Object], in_list: bool, name: str, notes: list[str]
) -> object:
    for part in objects:
        sort = part.get("type", "tensor" if kind == "tensor" else "attr")
        if sort not in _TYPES:
            raise Unreadable(f"no such type {shown(sort)}; known: {', '.join(_TYPES)}")
        if (sort in _KINDS["tensor"]) != (kind == "tensor"):
            raise Unreadable(f"is of type {sort}, and the parameter is of kind {kind}")
    given = [part.get("range_values") for part in objects]
    if not kind.endswith("_array"):
        if len(objects) > 1:
            plural = "tensors" if kind == "tensor" else "values"
            raise Unreadable(f"a list of {len(objects)} {plural}, and the parameter is one {kind}")
        if kind == "tensor":
            return _tensor(objects[0], name, notes)
        return _value(kind, given[0], name, notes)
    if given == [None]:
        return None
    if not in_list:  # one object: the whole array in it, or its only element
        return values.argument(kind, given[0] if isinstance(given[0], list) else given)
    return [_value(kind, value, f"{name}[{i}]", notes) for i, value in enumerate(given)]


def _value(kind: str, value: object, name: str, notes: list[str]) -> object:
    """A scalar: the value itself, or the first of a range."""
    if isinstance(value, list):
        if not value:
            raise Unreadable("range_values is an empty list; expects a value or [lowest, highest]")
        if len(value) > 1:
            notes.append(f"{name}: the first of the range {shown(value)}")
        value = value[0]
    if value is None:
        raise Unreadable(
            f"range_values is null, and no {kind.removesuffix('_array')} is; write the value"
        )
    if isinstance(value, dict | list | str):
        raise Unreadable(f"range_values {shown(value)}: expects a value or [lowest, highest]")
    return values.argument(kind, value)


def _tensor(given: Object, name: str, notes: list[str]) -> Object | None:
    shape, drawn = given.get("shape"), given.get("range_values")
    if shape is None:
        return None
    desc: Object = {"shape": shape, "dtype": names.dtype(given.get("dtype"))}
    if isinstance(given.get("format"), str):
        desc["format"] = names.layout(given["format"])
    limits = values.limits(drawn)
    if limits is not None:
        desc["range"] = limits
    elif drawn is not None:
        notes.append(
            f"{name}: values {shown(drawn)} are not [lowest, highest]; opgen draws its own"
        )
    if given.get("outlier_values"):
        notes.append(f"{name}: outlier_values are not carried over")
    return desc


def _set_formats(case: ImportedCase, fixed: Mapping[str, str], layout: str | None) -> None:
    """Formats as ATK's executor of the operator sets them, else that of an argument of the
    executor; those that both leave open are the page's.
    """
    for name, value in case.args.items():
        word = fixed.get(name) or layout
        if isinstance(value, dict) and "format" not in value and word is not None:
            value["format"] = word
            if layout not in (None, word):
                case.notes.append(
                    f"{name}: {word}, as ATK's executor sets it whatever the case says; --formats"
                    " page takes the page's"
                )
