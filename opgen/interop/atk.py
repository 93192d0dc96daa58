"""ATK's case files: a JSON list of cases, each with the inputs of one call.

An input is an object, or a list of objects of one name that together are one array argument.
Outputs and formats are not in the file: ATK's executors make them, and so does
:mod:`opgen.interop.complete`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opgen.calls.vocabulary import known_products
from opgen.interop import names, values
from opgen.interop.imported import Found, Imported, attempt, gather
from opgen.interop.names import Unreadable, shown
from opgen.model import FileError, Problem
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
_READ = {"id", "case_name", "aclnn_name", "aclnn_api_type", "inputs", "outputs"}


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
        raise FileError(
            [
                Problem(
                    file,
                    None,
                    "",
                    "ATK names no product; say for which with --product, once or several times",
                )
            ]
        )
    document = values.json_document(path)
    if not isinstance(document, list):
        kind = (
            "one object; put it into [ ]" if isinstance(document, dict) else type(document).__name__
        )
        raise FileError([Problem(file, None, "", f"expects a JSON list of cases, not {kind}")])
    if not document:
        raise FileError([Problem(file, None, "", "holds no case")])
    ignored: Counter[str] = Counter()
    executors = EXECUTORS if formats == "executor" else {}
    return gather(file, _cases(document, catalog, products, ignored, executors), catalog, ignored)


def _cases(
    document: list[Any],
    catalog: Catalog,
    products: Sequence[str],
    ignored: Counter[str],
    executors: Mapping[str, Mapping[str, str]],
) -> Iterator[Found]:
    for position, case in enumerate(document):
        if not isinstance(case, dict):
            yield Found(f"[{position}]", fault=f"expects an object, not {shown(case)}")
            continue
        number, name = case.get("id"), case.get("case_name")
        label = (
            name
            if isinstance(name, str) and name
            else number
            if isinstance(number, (str, int)) and number != ""
            else None
        )
        found = Found(f"[{position}]" if label is None else _id(label), products=products)
        if label is None:
            found.fault = "has no id; every case needs a number"
            yield found
            continue
        found.origin = {"format": "atk", "id": number if isinstance(number, (int, str)) else None}
        ignored.update(
            key if len(key) < 40 and key.isprintable() else "..."
            for key in case
            if key not in _READ
        )
        yield attempt(found, lambda case=case, found=found: _case(case, found, catalog, executors))  # type: ignore[misc]


def _id(label: str | int) -> str:
    return (
        label
        if isinstance(label, str) and label.isprintable() and len(label) <= 200
        else shown(label)
    )


def _case(
    case: dict[str, Any], found: Found, catalog: Catalog, executors: Mapping[str, Mapping[str, str]]
) -> None:
    if "aclnn_name" not in case:
        raise Unreadable("aclnn_name is missing; it says which operator is called")
    found.api = names.api(case["aclnn_name"], catalog)
    spec = catalog.of(found.api)[0]
    inputs = case.get("inputs")
    if not isinstance(inputs, list):
        raise Unreadable(f"inputs: expects a list, not {shown(inputs)}")
    outputs = case.get("outputs") or []
    if not isinstance(outputs, list):
        raise Unreadable(f"outputs: expects a list, not {shown(outputs)}")
    expected = case.get("expected_error_msg")
    if expected:
        found.notes.append(f"expected_error_msg: {shown(expected, 200)}")
    helper: dict[str, str] = {}
    for position, one in enumerate(inputs):
        _input(f"inputs[{position}]", one, position, spec, inputs, found, helper)
    for position, one in enumerate(outputs):
        _input(f"outputs[{position}]", one, None, spec, inputs, found, helper)
    ours = isinstance(case.get("aclnn_api_type"), str) and case["aclnn_api_type"].startswith(OURS)
    _formats(found, {} if ours else executors.get(found.api, {}), helper.get("format"))


def _input(
    key: str,
    one: Any,
    position: int | None,
    spec: Spec,
    inputs: list[Any],
    found: Found,
    helper: dict[str, str],
) -> None:
    """One argument: an object, or a list of objects of one name."""
    objects = one if isinstance(one, list) else [one]
    if not objects:
        raise Unreadable(
            f"{key}: an empty list has no name; an empty array cannot be told from a missing one"
        )
    if not all(isinstance(x, dict) for x in objects):
        raise Unreadable(f"{key}: expects an object or a list of objects, not {shown(one)}")
    label = objects[0].get("name")
    if not isinstance(label, str) or not label:
        raise Unreadable(f"{key}: name is missing")
    if any(x.get("name") != label for x in objects):
        raise Unreadable(
            f"{key}: the objects of one list must share one name, not"
            f" {shown([x.get('name') for x in objects])}"
        )
    name = names.match(label, spec.parameters)
    if name is None and objects[0].get("dtype") in ("non_param", "torch_dtype"):
        _helper(label, objects[0], helper, found)
        return
    if name is None:
        name = _by_position(spec, position, objects[0], inputs)
        if name is None:
            raise Unreadable(
                f"{key}: {found.api} has no parameter {shown(label)}; it takes"
                f" {', '.join(spec.parameters)}"
            )
        found.notes.append(f"{name}: taken from {shown(label)}, which stands in its place")
    if name in found.args:
        raise Unreadable(f"{key}: {name} is there already")
    try:
        found.args[name] = _argument(spec.kinds[name], one, objects, name, found)
    except Unreadable as reason:
        raise Unreadable(f"{name}: {reason}") from None


def _helper(label: str, one: dict[str, Any], helper: dict[str, str], found: Found) -> None:
    """An argument of the executor, not of the operator: Conv's format."""
    value = one.get("range_values")
    value = value[0] if isinstance(value, list) and value else value
    if names.plain(label) in ("format", "dataformat") and value is not None:
        helper["format"] = names.layout(value)
    else:
        found.notes.append(
            f"{shown(label)}: an argument of the executor, {shown(value)}; not part of the call"
        )


def _by_position(
    spec: Spec, position: int | None, one: dict[str, Any], inputs: list[Any]
) -> str | None:
    """The parameter that stands where an input of another name stands, if nothing else claims it
    and it is of that kind.
    """
    places = [p.name for p in spec.parameters.values() if p.kind != "output"]
    taken = {
        names.match(x["name"], places) for x in _objects(inputs) if isinstance(x.get("name"), str)
    }
    name = places[position] if position is not None and position < len(places) else None
    tensor = one.get("type") in _KINDS["tensor"]
    return (
        name
        if name is not None and name not in taken and tensor == (spec.kinds[name] == "tensor")
        else None
    )


def _objects(inputs: list[Any]) -> Iterator[dict[str, Any]]:
    for one in inputs:
        yield from (x for x in (one if isinstance(one, list) else [one]) if isinstance(x, dict))


def _argument(kind: str, one: Any, objects: list[dict[str, Any]], name: str, found: Found) -> Any:
    for x in objects:
        sort = x.get("type", "tensor" if kind == "tensor" else "attr")
        if not isinstance(sort, str) or sort not in (*_KINDS["tensor"], *_KINDS["value"]):
            raise Unreadable(
                f"no such type {shown(sort)}; known are"
                f" {', '.join((*_KINDS['tensor'], *_KINDS['value']))}"
            )
        if (sort in _KINDS["tensor"]) != (kind == "tensor"):
            raise Unreadable(f"is of type {sort}, and the parameter is of kind {kind}")
    if kind == "tensor":
        if len(objects) > 1:
            raise Unreadable(f"a list of {len(objects)} tensors, and the parameter is one tensor")
        return _tensor(objects[0], name, found)
    if not kind.endswith("_array"):
        if len(objects) > 1:
            raise Unreadable(f"a list of {len(objects)} values, and the parameter is one {kind}")
        return _value(kind, objects[0].get("range_values"), name, found)
    if not isinstance(one, list):  # one object: the whole array in it, or its only element
        whole = objects[0].get("range_values")
        if whole is None:
            return None
        return (
            [values.scalar(kind, v) for v in whole]
            if isinstance(whole, list)
            else [values.scalar(kind, whole)]
        )
    if len(objects) == 1 and objects[0].get("range_values") is None:
        return None
    return [
        _value(kind, x.get("range_values"), f"{name}[{i}]", found) for i, x in enumerate(objects)
    ]


def _value(kind: str, value: Any, name: str, found: Found) -> Any:
    """A scalar: the value itself, or the first of a range."""
    if isinstance(value, list):
        if not value:
            raise Unreadable("range_values is an empty list; expects a value or [lowest, highest]")
        if len(value) > 1:
            found.notes.append(f"{name}: the first of the range {shown(value)}")
        value = value[0]
    if value is None:
        raise Unreadable(
            f"range_values is null, and no {kind.removesuffix('_array')} is; write the value"
        )
    if isinstance(value, (dict, list, str)):
        raise Unreadable(f"range_values {shown(value)}: expects a value or [lowest, highest]")
    return values.scalar(kind, value)


def _tensor(one: dict[str, Any], name: str, found: Found) -> dict[str, Any] | None:
    shape, drawn = one.get("shape"), one.get("range_values")
    if shape is None:
        return None
    desc: dict[str, Any] = {"shape": shape, "dtype": names.dtype(one.get("dtype"))}
    if isinstance(one.get("format"), str):
        desc["format"] = names.layout(one["format"])
    limits = values.limits(drawn)
    if limits is not None:
        desc["range"] = limits
    elif drawn is not None:
        found.notes.append(
            f"{name}: values {shown(drawn)} are not [lowest, highest]; opgen draws its own"
        )
    if one.get("outlier_values"):
        found.notes.append(f"{name}: outlier_values are not carried over")
    return desc


def _formats(found: Found, fixed: Mapping[str, str], helper: str | None) -> None:
    """Formats as ATK's executor of the operator sets them; those that it leaves open are the
    page's.
    """
    for name, value in found.args.items():
        if isinstance(value, dict) and "format" not in value:
            word = fixed.get(name) or helper
            if word is not None:
                value["format"] = word
            if word is not None and helper not in (None, word):
                found.notes.append(
                    f"{name}: {word}, as ATK's executor sets it whatever the case says; --formats"
                    " page takes the page's"
                )
