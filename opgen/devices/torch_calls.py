"""From a call of a torch operator to the vendor's call that does the same: the way of
:data:`opgen.devices.torch_operators.ADAPTERS`, backwards.

Both name their arguments alike (``grad_output`` and ``gradOutput``), so a page's prototype and a
torch schema are matched by name, and outputs by their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import compress
from typing import Any, NamedTuple

import torch

from opgen.calls.call_json import make_call, plain
from opgen.calls.kinds import KINDS
from opgen.calls.table import from_calls
from opgen.devices.torch_adapter import Arguments
from opgen.devices.torch_dtypes import NATIVE, WHOLE
from opgen.devices.torch_operators import ADAPTERS
from opgen.model import Call, TensorDesc
from opgen.spec.catalog import catalog
from opgen.spec.parameter import Parameter
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView

OTHERWISE = {
    "grad": "gradoutput",
    "gradout": "gradoutput",
    "gradoutput": "gradout",
    "min": "minval",
    "max": "maxval",
    "gamma": "weight",
    "training": "train",
}
"""What torch calls a parameter that the vendor names otherwise."""
UNLIKE = {"native_dropout_backward"}
"""Torch operators that only bear the name of a vendor's: its mask has a bool, not a bit, for each
element.
"""
DTYPES = {getattr(torch, name): word for word, name in NATIVE.items()}
"""Of torch -> of the vendor."""
USUAL = {2: "NC", 3: "NCL", 4: "NCHW", 5: "NCDHW"}
"""The format of a tensor with channels, by its rank."""


class Captured(NamedTuple):
    """The vendor's call behind a torch call, and the tensors that it reads, by the vendor's
    names.
    """

    call: Call
    tensors: Mapping[str, torch.Tensor]


class Unwritable(Exception):
    """A torch call that no call of the vendor's says."""


def pages(product: str) -> dict[str, Spec]:
    """Torch operator -> the page of the vendor's operator that does the same; of several, the first
    that lists the product.
    """
    specs = [catalog().by_page[api, product] for api in ADAPTERS if api in catalog().kinds]
    specs.sort(key=lambda spec: product not in spec.products)
    return {name: spec for spec in reversed(specs) for name in torch_names(spec.op)}


def torch_names(op: str) -> Iterator[str]:
    """The torch operators that bear the name of a vendor's operator.

    >>> list(torch_names("softmax_backward")), list(torch_names("fast_gelu_backward"))
    (['_softmax_backward_data'], [])
    """
    op = re.sub(r"_v\d+$", "", op)
    names = (f"{head}{op}{tail}" for head in ("", "_", "native_") for tail in ("", "_data"))
    return (name for name in names if hasattr(torch.ops.aten, name) and name not in UNLIKE)


def captured(
    spec: Spec,
    product: str,
    schema: torch.FunctionSchema,
    args: Sequence[object],
    named: Arguments,
    results: object,
) -> Captured:
    """The call of a page's operator that a torch call is, with what that returned.

    Raises Unwritable where it has no such call, and CallFault where an argument is beyond what a
    call may hold.
    """
    bound = _bound(schema, args, named)
    outputs = iter(results if isinstance(results, tuple) else (results,))
    arguments: dict[str, Any] = {}
    tensors: dict[str, torch.Tensor] = {}
    for parameter in spec.parameters.values():
        kind = KINDS[parameter.kind]
        value = next(outputs, None) if kind.written else _value(parameter, bound)
        if isinstance(value, torch.Tensor):
            arguments[parameter.name] = plain(_desc(value, spec, product, parameter))
            if not kind.written:
                tensors[parameter.name] = value
        elif kind.family == "tensor" and value is not None:
            raise Unwritable(f"{parameter.name} is no tensor")
        elif kind.family == "typed" and value is not None:  # torch has numbers without a dtype
            gradient = arguments[next(iter(arguments))]
            if gradient is None:
                raise Unwritable(
                    "its gradient is not a tensor, so nothing gives the dtype of a number"
                )
            arguments[parameter.name] = {"value": value, "dtype": gradient["dtype"]}
        else:
            arguments[parameter.name] = list(value) if kind.family == "array" and value else value
    _complete(arguments, spec)
    return Captured(make_call(spec.api, product, arguments, catalog().kinds), tensors)


def _bound(schema: torch.FunctionSchema, args: Sequence[object], named: Arguments) -> Arguments:
    """Arguments of a torch call by name, without case and underscores."""
    given = dict(zip((argument.name for argument in schema.arguments), args, strict=False))
    return {
        _plain_name(argument.name): {**given, **named}.get(argument.name, argument.default_value)
        for argument in schema.arguments
    }


def _plain_name(name: str) -> str:
    return name.replace("_", "").lower().removesuffix("optional")


def _value(parameter: Parameter, bound: Arguments) -> Any:
    """What torch gives a parameter; nothing, or 0, where torch has none. A number below 0 is for an
    unsigned parameter what C++ makes of it.
    """
    name = _plain_name(parameter.name)
    value = bound.get(name, bound.get(OTHERWISE.get(name, "")))
    if value is None and not parameter.is_pointer:
        return KINDS[parameter.kind].element.blank.item()
    if parameter.kind == "uint64" and isinstance(value, int):
        return value % 2**64
    return [] if value is None and parameter.is_array else value


def _complete(arguments: dict[str, Any], spec: Spec) -> None:
    """Say what torch leaves out: as many elements of a bias as the gradient has channels, and
    outputs that are not asked for as large as the inputs whose gradients they are.
    """
    gradient = arguments[next(iter(arguments))]
    if arguments.get("biasSizes") in ([], [0]):
        arguments["biasSizes"] = gradient["shape"][1:2]
    for output in spec.outputs:
        if arguments[output.name] is None and (of := _like(output.name, arguments)):
            arguments[output.name] = {key: of[key] for key in ("shape", "dtype", "format")}


def _like(output: str, arguments: Arguments) -> Arguments | None:
    """The input whose gradient an output is; of a bias its extents."""
    if output == "gradBias":
        gradient = arguments[next(iter(arguments))]
        return {
            "shape": arguments.get("biasSizes", gradient["shape"][1:2]),
            "dtype": (arguments["weight"] or gradient)["dtype"],
            "format": "ND",
        }
    source = output.removeprefix("grad").removesuffix("Out")
    names = (source[:1].lower() + source[1:], f"{source.lower()}Optional", "self")
    return next((arguments[name] for name in names if arguments.get(name)), None)


def _desc(tensor: torch.Tensor, spec: Spec, product: str, parameter: Parameter) -> TensorDesc:
    """A tensor as it lies in memory; where torch has whole numbers of a size that the page does not
    admit, those of the page.
    """
    if tensor.layout is not torch.strided or tensor.dtype not in DTYPES:
        raise Unwritable(f"opgen holds no data of {tensor.dtype}, {tensor.layout}")
    of, dtype, rank = (spec.api, product, parameter.name), DTYPES[tensor.dtype], tensor.dim()
    if dtype in WHOLE:
        dtype = _admitted(*of, "dtype", rank, (dtype, *WHOLE)) or dtype
    layout = _admitted(*of, "format", rank, (USUAL.get(rank, "ND"), "ND")) or "ND"
    desc = TensorDesc(tuple(tensor.shape), dtype, layout)
    held = tensor.untyped_storage().nbytes() // tensor.element_size()
    if tensor.is_contiguous() and held == tensor.numel():
        return desc
    return TensorDesc(
        desc.shape, dtype, desc.format, tensor.stride(), int(tensor.storage_offset()), (held,)
    )


@cache
def _admitted(
    api: str, product: str, name: str, what: str, rank: int, words: tuple[str, ...]
) -> str | None:
    """The first of some words that the page's rule about the dtype or the format of a tensor admits
    at a rank; what the rule asks of other parameters counts as met.
    """
    spec = catalog().by_page[api, product]
    rule = spec.rule.get(f"{name}.{what}")
    if rule is None:
        return None
    others = {of.name: None if of.is_pointer else 0 for of in spec.parameters.values()}
    one: Any = TensorDesc((1,) * rank, "FLOAT")
    calls = [Call(api, product, {**others, name: replace(one, **{what: word})}) for word in words]
    allowed = rule.allows(TableView(spec, from_calls(api, spec.kinds, calls)), len(words))
    return next(compress(words, allowed), None)
