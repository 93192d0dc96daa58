"""TTK's kernel mode: rows that test one kernel of the operator level, read for their shapes only.

A kernel has its own inputs, attributes and layouts. :data:`KERNELS` says in which places those of
an aclnn call stand; what a kernel does not know (``cubeMathType``) is chosen and noted. A kernel
that is not listed, and a row whose extents do not fit, is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from opgen.interop import names, values
from opgen.interop.imported import Found
from opgen.interop.names import Unreadable, shown
from opgen.spec.catalog import Catalog

COLUMNS = (
    "input_dtypes",
    "input_ori_shapes",
    "output_ori_shapes",
    "input_ori_formats",
    "output_ori_formats",
    "input_shapes",
    "output_shapes",
    "output_dtypes",
    "input_formats",
    "output_formats",
)
NEEDED = ("testcase_name", "op_name", "input_dtypes", "attributes")


@dataclass
class Kernel:
    """A kernel row by axis: ``shapes`` of inputs and outputs with the letters of their layouts, and
    its attributes.
    """

    inputs: list[list[int] | None]
    outputs: list[list[int] | None]
    input_formats: list[str]
    output_formats: list[str]
    dtypes: list[str]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def attribute(self, *keys: str, default: Any = ...) -> Any:
        """The first of the keys that the row has."""
        for key in keys:
            if key in self.attributes:
                return values.listed(self.attributes[key])
        if default is ...:
            raise Unreadable(f"attributes: {keys[0]} is missing")
        return default


def read(row: Mapping[str, str], found: Found, catalog: Catalog) -> None:
    """Fill ``found`` from a row of the kernel mode; raises :class:`Unreadable`."""
    name = names.plain(row["op_name"]).removesuffix("v2")
    known = KERNELS.get(name)
    if known is None:
        raise Unreadable(
            f"op_name: {shown(row['op_name'])} is a kernel that opgen cannot place; known are"
            f" {', '.join(KERNELS)}"
        )
    kernel, reasons = _kernel(row), []
    for op, place in known.items():
        if op in catalog.operators:
            try:
                found.api, found.args = catalog.operators[op], place(kernel)
                break
            except Unreadable as reason:
                reasons.append(str(reason))
    else:
        raise Unreadable(
            "; ".join(dict.fromkeys(reasons)) or f"op_name: no page for {', '.join(known)}"
        )
    found.notes.append(
        "from a kernel's row: shapes are the file's, what a kernel does not know is chosen"
    )


def _kernel(row: Mapping[str, str]) -> Kernel:
    def cells(*columns: str) -> list[Any]:
        for column in columns:
            if row.get(column, ""):
                try:
                    value = values.literal(row[column])
                except Unreadable as reason:
                    raise Unreadable(f"{column}: {reason}") from None
                value = (value,) if isinstance(value, str) else value
                if not isinstance(value, (list, tuple)):
                    raise Unreadable(f"{column}: expects a tuple, not {shown(value)}")
                return list(value)
        return []

    attributes = cells_dict(row.get("attributes", ""))
    inputs, outputs = (
        cells("input_ori_shapes", "input_shapes"),
        cells("output_ori_shapes", "output_shapes"),
    )
    for column, shapes in (("input_ori_shapes", inputs), ("output_ori_shapes", outputs)):
        for shape in shapes:
            if shape is not None and not (
                isinstance(shape, (list, tuple)) and all(type(v) is int for v in shape)
            ):
                raise Unreadable(f"{column}: {shown(shape)} is no shape")
    dtypes = _spread(cells("input_dtypes"), len(inputs))
    if len(dtypes) < len(inputs):
        raise Unreadable(f"input_dtypes: {len(dtypes)} for {len(inputs)} inputs")
    return Kernel(
        values.listed(inputs),
        values.listed(outputs),
        _formats(cells("input_ori_formats", "input_formats"), len(inputs)),
        _formats(cells("output_ori_formats", "output_formats"), len(outputs)),
        dtypes,
        attributes,
    )


def cells_dict(cell: str) -> Mapping[str, Any]:
    value = values.literal(cell) if cell else {}
    if not isinstance(value, dict):
        raise Unreadable(f"attributes: expects a dictionary, not {shown(value)}")
    return value


def _spread(words: list[Any], count: int) -> list[str]:
    """A word for each; a single one is that of all."""
    return [str(word) for word in (words * count if len(words) == 1 else words)]


def _formats(words: list[Any], count: int) -> list[str]:
    """A format for each, ND for those that have none."""
    return _spread(words, count) + ["ND"] * (count - len(words) if len(words) != 1 else 0)


def _tensor(kernel: Kernel, place: int, axes: str, output: bool = False) -> dict[str, Any]:
    """A tensor of a kernel as a call has it: its extents in the order of ``axes``; those of other
    axes must be 1.
    """
    shapes, formats = (
        (kernel.outputs, kernel.output_formats) if output else (kernel.inputs, kernel.input_formats)
    )
    shape = shapes[place] if place < len(shapes) else None
    if shape is None:
        raise Unreadable(f"{'output' if output else 'input'}_ori_shapes: tensor {place} is missing")
    return {
        "shape": pick(shape, formats[place], axes),
        "dtype": names.dtype(kernel.dtypes[min(place, len(kernel.dtypes) - 1)]),
    }


def pick(extents: Sequence[int], letters: str, axes: str) -> list[int]:
    """Extents by letter; raises :class:`Unreadable` where a letter is missing or one that is left
    out is not 1.

    >>> pick([2, 1, 5, 7, 16], "NDHWC", "NCHW")
    [2, 16, 5, 7]
    """
    if letters == "ND" and len(extents) == len(axes):
        return list(extents)
    by_letter = dict(zip(letters, extents, strict=False))
    left = [
        f"{letter} = {extent}"
        for letter, extent in by_letter.items()
        if letter not in axes and extent != 1
    ]
    if len(letters) != len(extents) or not set(axes) <= set(letters) or left:
        raise Unreadable(
            f"extents {list(extents)} of {letters} are none of {axes}"
            + (f": {', '.join(left)}" if left else "")
        )
    return [by_letter[letter] for letter in axes]


def _group_norm(kernel: Kernel) -> dict[str, Any]:
    """dy, mean, rstd, x, gamma -> dx, dgamma, dbeta."""
    args: dict[str, Any] = {}
    for place, name in enumerate(("gradOut", "mean", "rstd", "input", "gamma")):
        shape = kernel.inputs[place] if place < len(kernel.inputs) else None
        args[name] = (
            None
            if shape is None
            else {"shape": shape, "dtype": names.dtype(kernel.dtypes[place]), "format": "ND"}
        )
    shape = kernel.inputs[3] if len(kernel.inputs) > 3 and kernel.inputs[3] is not None else []
    if len(shape) < 2:
        raise Unreadable(f"input_ori_shapes: {shown(shape)} has no N and C")
    args |= {
        "N": shape[0],
        "C": shape[1],
        "HxW": prod(shape[2:]),
        "group": kernel.attribute("num_groups"),
    }
    args["outputMask"] = [
        bool(kernel.attribute(f"{name}_is_require", default=True))
        for name in ("dx", "dgamma", "dbeta")
    ]
    return args


def _spatial(kernel: Kernel, axes: str, key: str, letters: str) -> list[int]:
    """An attribute per axis, of the spatial axes; one of the axes only has no letters."""
    value = kernel.attribute(key)
    value = [value] if isinstance(value, int) else value
    if not isinstance(value, list):
        raise Unreadable(f"attributes: {key} {shown(value)} is no list of whole numbers")
    if len(value) == 1:
        value = value * len(letters)
    spatial = [letter for letter in letters if letter in "DHW"]
    named = dict(zip(spatial if len(value) == len(spatial) else letters, value, strict=False))
    left = [letter for letter in spatial if letter not in axes and named.get(letter, 1) != 1]
    if left or not set(axes) <= set(named):
        raise Unreadable(f"attributes: {key} {shown(value)} does not fit the axes {axes}")
    return [named[axis] for axis in axes]


def _avg_pool(axes: str, more: Mapping[str, Any]) -> Callable[[Kernel], dict[str, Any]]:
    """orig_input_shape, grads -> output; of three axes, or of two where the first is 1."""

    def place(kernel: Kernel) -> dict[str, Any]:
        letters = str(kernel.attribute("data_format", default="NDHWC"))
        grad = _tensor(kernel, 1, "NC" + axes) | {"format": "NC" + axes}
        image = _tensor(kernel, 0, "NC" + axes, output=True) | {
            "format": "NC" + axes,
            "dtype": grad["dtype"],
        }
        pads = kernel.attribute("pads")
        ours = pads[-2 * len(axes) :] if isinstance(pads, list) else []
        if len(ours) != 2 * len(axes) or ours[::2] != ours[1::2] or any(pads[: -2 * len(axes)]):
            raise Unreadable(
                f"attributes: pads {shown(pads)} are none of an average pooling of {len(axes)}"
                " axes, alike at begin and end"
            )
        return {
            "gradOutput": grad,
            "self": image,
            "kernelSize": _spatial(kernel, axes, "ksize", letters),
            "stride": _spatial(kernel, axes, "strides", letters),
            "padding": ours[::2],
            "ceilMode": bool(kernel.attribute("ceil_mode", default=False)),
            "countIncludePad": bool(kernel.attribute("count_include_pad", default=True)),
            "divisorOverride": kernel.attribute("divisor_override", default=0),
            "gradInput": dict(image),
            **more,
        }

    return place


def _convolution(axes: str, output: str) -> Callable[[Kernel], dict[str, Any]]:
    """One of a convolution's gradients: the tensors that the kernel reads, and the one that it
    writes.
    """

    def place(kernel: Kernel) -> dict[str, Any]:
        grad = _tensor(kernel, 2, "NC" + axes)
        if output == "gradInput":
            image, weight = (
                _tensor(kernel, 0, "NC" + axes, output=True),
                _tensor(kernel, 1, "NC" + axes),
            )
        else:
            image, weight = (
                _tensor(kernel, 0, "NC" + axes),
                _tensor(kernel, 0, "NC" + axes, output=True),
            )
        letters = str(kernel.attribute("data_format", default="NC" + axes))
        pads = kernel.attribute("pads")
        if (
            not isinstance(pads, list)
            or len(pads) != 2 * len(axes)
            or any(a != b for a, b in zip(pads[::2], pads[1::2], strict=True))
        ):
            raise Unreadable(
                f"attributes: pads {shown(pads)} differ at begin and end; a call of {len(axes)}"
                " axes pads both alike"
            )
        tensors = {"gradOutput": grad, "input": image, "weight": weight}
        for one in tensors.values():
            one |= {"format": "NC" + axes, "dtype": grad["dtype"]}
        return tensors | {
            "biasSizes": [grad["shape"][1]],
            "stride": _spatial(kernel, axes, "strides", letters),
            "padding": pads[::2],
            "dilation": _spatial(kernel, axes, "dilations", letters),
            "transposed": False,
            "outputPadding": [0] * len(axes),
            "groups": kernel.attribute("groups", default=1),
            "outputMask": [output == "gradInput", output == "gradWeight", False],
            "cubeMathType": 0,
        }

    return place


KERNELS: Mapping[str, Mapping[str, Callable[[Kernel], dict[str, Any]]]] = {
    "groupnormgrad": {"group_norm_backward": _group_norm},
    "avgpool3dgrad": {
        "avg_pool2d_backward": _avg_pool("HW", {"cubeMathType": 0}),
        "avg_pool3d_backward": _avg_pool("DHW", {}),
    },
    "conv2dbackpropinput": {"convolution_backward": _convolution("HW", "gradInput")},
    "conv2dbackpropfilter": {"convolution_backward": _convolution("HW", "gradWeight")},
    "conv3dbackpropinput": {"convolution_backward": _convolution("DHW", "gradInput")},
    "conv3dbackpropfilter": {"convolution_backward": _convolution("DHW", "gradWeight")},
}
"""Name of a kernel, without underscores and version -> operator, and where a call's arguments
stand; the first that fits is it."""
