"""ATK's case files: a JSON list of cases, each with the inputs of one call.

An input is an object, or a list of objects of one name that together are one array argument or one
list of tensors.
Outputs and formats are not in the file: ATK's executors make them, and so does
:mod:`opgen.interop.completion`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from opgen.calls.kinds import KINDS, prototype
from opgen.calls.reals import SPECIAL
from opgen.calls.vocabulary import known_products
from opgen.interop import names, values
from opgen.interop.importing import Imported, ImportedCase, gather
from opgen.interop.names import Unreadable, shown
from opgen.model import FileError
from opgen.spec.catalog import Catalog
from opgen.spec.spec import Spec

EXECUTORS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "aclnnConvolutionBackward": {"gradBias": {"format": "ND"}},
    "aclnnAvgPool2dBackward": dict.fromkeys(
        ("gradOutput", "self", "gradInput"), {"format": "NCHW"}
    ),
    "aclnnGroupNormBackward": dict.fromkeys(("mean", "rstd"), {"shape": ("N", "group")}),
}
"""What ATK's own executors give tensors whatever the case says; a shape by the arguments that hold
its extents."""
OURS = "opgen_"
"""An executor of this name takes the tensors as they are, and their formats from the page."""
_TENSORS = ("tensor", "tensors", "tensor_tuple")
_VALUES = ("attr", "attrs", "attr_tuple", "scalar", "scalars")
_READ = {"id", "case_name", "aclnn_name", "aclnn_api_type", "inputs", "outputs"}

Object: TypeAlias = dict[str, Any]
"""One of the JSON objects of a file."""


def read(path: str | Path, catalog: Catalog, products: Sequence[str]) -> Imported:
    """The calls of an ATK file for each of ``products``; raises FileError for a file that is no
    list of cases.
    """
    products, file = known_products(products), str(path)
    if not products:
        raise FileError.of(
            file, "", "ATK names no product; say for which with --product, once or several times"
        )
    document = values.json_document(path)
    if not isinstance(document, list):
        raise FileError.of(file, "", f"expects a JSON list of cases, not {shown(document)}")
    return gather(file, _cases(document, catalog, products), catalog)


def _cases(
    document: list[object], catalog: Catalog, products: Sequence[str]
) -> Iterator[ImportedCase]:
    for position, entry in enumerate(document):
        label = _label(entry) if isinstance(entry, dict) else ""
        read = partial(_read, entry, catalog)
        yield ImportedCase(label or f"[{position}]", read, products=products)


def _label(entry: Object) -> str:
    """What a case is called: its name, or else its number; empty where it has neither."""
    labels = (entry.get("case_name"), entry.get("id"))
    label = next((label for label in labels if isinstance(label, str | int) and label != ""), "")
    printable = isinstance(label, str) and label.isprintable() and len(label) <= 200
    return str(label) if printable else shown(label)


def _read(entry: object, catalog: Catalog, case: ImportedCase) -> None:
    entry = values.of_kind(dict, entry, "an object")
    if not _label(entry):
        raise Unreadable("has no id; every case needs a number")
    case.origin = {"format": "atk", "id": entry.get("id")}
    case.ignored += [
        key if len(key) < 40 and key.isprintable() else "..." for key in entry if key not in _READ
    ]
    with values.about("aclnn_name"):
        case.api = names.api(entry.get("aclnn_name"), catalog)
    if expected := entry.get("expected_error_msg"):
        case.notes.append(f"expected_error_msg: {shown(expected, 200)}")
    inputs, outputs = (_listed(entry, key) for key in ("inputs", "outputs"))
    spec, layout = catalog.of(case.api)[0], None
    free = _free_places(spec, inputs)
    for position, given in enumerate(inputs):
        with values.about(f"inputs[{position}]"):
            layout = _argument(given, free.get(position), spec, case) or layout
    for position, given in enumerate(outputs):
        with values.about(f"outputs[{position}]"):
            _argument(given, None, spec, case)
    ours = str(entry.get("aclnn_api_type")).startswith(OURS)
    _execute(case, {} if ours else EXECUTORS.get(case.api, {}), layout)


def _listed(entry: Object, key: str) -> list[Any]:
    given = entry.get(key)
    with values.about(key):
        return values.of_kind(list, [] if given is None else given, "a list")


def _free_places(spec: Spec, inputs: list[object]) -> dict[int, str]:
    """Position -> the parameter of the prototype that stands there, if no input has its name."""
    kinds = {name: spec.parameters[name].kind for name in prototype(spec.kinds)}
    places = [name for name, kind in kinds.items() if KINDS[kind].read]
    objects = [part for given in inputs for part in (given if isinstance(given, list) else [given])]
    taken = {
        names.match(part["name"], places)
        for part in objects
        if isinstance(part, dict) and isinstance(part.get("name"), str)
    }
    return {place: name for place, name in enumerate(places) if name not in taken}


def _argument(given: object, free: str | None, spec: Spec, case: ImportedCase) -> str | None:
    """Take over one argument, an object or a list of objects of one name; of an argument of the
    executor, its format. ``free`` is the parameter that stands in its place.
    """
    objects: list[Any] = given if isinstance(given, list) else [given]
    if not objects:
        raise Unreadable(
            "an empty list has no name; an empty array cannot be told from a missing one"
        )
    for part in objects:
        values.of_kind(dict, part, "an object or a list of objects")
    first = objects[0]
    label = first.get("name")
    if not isinstance(label, str) or not label:
        raise Unreadable("name is missing")
    if any(part.get("name") != label for part in objects):
        raise Unreadable(
            "the objects of one list must share one name, not"
            f" {shown([part.get('name') for part in objects])}"
        )
    name = names.match(label, prototype(spec.kinds))
    if name is None and first.get("dtype") in ("non_param", "torch_dtype"):
        return _of_executor(label, first.get("range_values"), case)
    if name is None:
        if free is None or (first.get("type") in _TENSORS) != _of_tensors(spec.kinds[free]):
            known = ", ".join(prototype(spec.kinds))
            raise Unreadable(f"{case.api} has no parameter {shown(label)}; it takes {known}")
        name = free
        case.notes.append(f"{name}: taken from {shown(label)}, which is at its place")
    with values.about(name):
        value = _plain(spec.kinds[name], objects, isinstance(given, list), name, case.notes)
    case.take(name, value)
    return None


def _of_executor(label: str, value: Any, case: ImportedCase) -> str | None:
    """An argument of the executor, not of the operator: the format of a convolution, or a note."""
    value = value[0] if isinstance(value, list) and value else value
    if names.plain(label) in ("format", "dataformat") and value is not None:
        return names.layout(value)
    case.notes.append(
        f"{shown(label)}: an argument of the executor, {shown(value)}; not part of the call"
    )
    return None


def _plain(kind: str, objects: list[Object], in_list: bool, name: str, notes: list[str]) -> object:
    """What the objects of one argument are in a call."""
    for part in objects:
        sort = part.get("type", "tensor" if _of_tensors(kind) else "attr")
        known = _TENSORS if _of_tensors(kind) else _VALUES
        if sort not in known:
            raise Unreadable(f"{shown(sort)} is no type of {kind}; known: {', '.join(known)}")
    if KINDS[kind].family == "list":
        if not in_list and objects[0].get("shape") is None:
            return None
        return [_tensor(part, f"{name}[{i}]", notes) for i, part in enumerate(objects)]
    given = [part.get("range_values") for part in objects]
    if kind == "scalar" and len(objects) == 1:
        if given[0] is None:
            return None
        dtype = names.dtype(objects[0].get("dtype"))
        return {"value": _value(kind, given[0], name, notes), "dtype": dtype}
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


def _of_tensors(kind: str) -> bool:
    """Whether a parameter is a tensor, or a list of them."""
    return KINDS[kind].family in ("tensor", "list")


def _value(kind: str, value: object, name: str, notes: list[str]) -> object:
    """A scalar: the value itself, or the first of a range."""
    if isinstance(value, list) and value:
        if len(value) > 1:
            notes.append(f"{name}: the first of the range {shown(value)}")
        value = value[0]
    if KINDS[kind].element.term == "string" and isinstance(value, str | None):
        return value
    special = isinstance(value, str) and value in SPECIAL
    if value is None or (isinstance(value, dict | list | str) and not special):
        raise Unreadable(f"range_values {shown(value)}: expects a value or [lowest, highest]")
    return values.argument(kind, value)


def _tensor(given: Object, name: str, notes: list[str]) -> Object | None:
    if given.get("shape") is None:
        return None
    desc: Object = {"shape": given["shape"], "dtype": names.dtype(given.get("dtype"))}
    if isinstance(given.get("format"), str):
        desc["format"] = names.layout(given["format"])
    drawn = given.get("range_values")
    drawn = [drawn, drawn] if isinstance(drawn, int | float) else drawn
    if limits := values.limits(name, drawn, notes):
        desc["range"] = limits
    if given.get("outlier_values"):
        notes.append(f"{name}: outlier_values are not carried over")
    return desc


def _execute(
    case: ImportedCase, given: Mapping[str, Mapping[str, Any]], layout: str | None
) -> None:
    """Make of the tensors what ATK's executor makes of them: what is ``given``, and ``layout`` as
    the format of the others. A format that both leave open is the page's.
    """
    for name, desc in case.args.items():
        if not isinstance(desc, dict):
            continue
        said = ({"format": layout} if layout else {}) | desc
        made = dict(given.get(name, {}))
        if "shape" in made:
            made["shape"] = [case.args.get(argument) for argument in made["shape"]]
        case.notes += [
            f"{name}: {fact} {shown(value)}, as ATK's executor makes it, not {shown(said[fact])}"
            for fact, value in made.items()
            if said.get(fact, value) != value
        ]
        case.args[name] = said | made
