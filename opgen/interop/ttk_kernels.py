"""TTK's kernel mode: rows that test one kernel of the operator level, read for their shapes only.

A kernel has its own inputs, attributes and layouts. :data:`KERNELS` says in which places those of
an aclnn call stand; what a kernel does not know (``cubeMathType``) is chosen and noted. A kernel
that is not listed, and a row whose extents do not fit, is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from opgen.interop import names, values
from opgen.interop.importing import ImportedCase
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


Arguments: TypeAlias = dict[str, Any]
"""Arguments of a call, or the facts of one, as JSON has them."""


@dataclass
class KernelRow:
    """A row by tensor: extents (None for one that is missing) and layouts of inputs and outputs,
    the inputs' dtypes; and its attributes.
    """

    shapes: Mapping[str, list[list[int] | None]]
    formats: Mapping[str, list[str]]
    dtypes: list[str]
    attributes: Mapping[object, object]

    def shape(self, side: str, place: int) -> list[int] | None:
        """The extents of an ``input`` or ``output``."""
        return self.shapes[side][place] if place < len(self.shapes[side]) else None

    def tensor(self, side: str, place: int, axes: str) -> Arguments:
        """A tensor as a call has it: its extents in the order of ``axes``; those of other axes must
        be 1.
        """
        shape = self.shape(side, place)
        if shape is None:
            raise Unreadable(f"{side}_ori_shapes: tensor {place} is missing")
        return {
            "shape": pick(shape, self.formats[side][place], axes),
            "dtype": names.dtype(self.dtypes[min(place, len(self.dtypes) - 1)]),
            "format": axes,
        }

    def attribute(self, key: str, default: object = ...) -> Any:
        """An attribute of the row, or what it is where it is left out."""
        if key not in self.attributes and default is ...:
            raise Unreadable(f"attributes: {key} is missing")
        return values.listed(self.attributes.get(key, default))

    def per_axis(self, key: str, axes: str, letters: str) -> list[int]:
        """An attribute per axis; ``letters`` are those that it is written for, or the spatial ones
        among them.
        """
        value = self.attribute(key)
        value = [value] if isinstance(value, int) else value
        if not isinstance(value, list):
            raise Unreadable(f"attributes: {key} {shown(value)} is not a list of whole numbers")
        if len(value) == 1:
            value = value * len(letters)
        spatial = [letter for letter in letters if letter in "DHW"]
        named = dict(zip(spatial if len(value) == len(spatial) else letters, value, strict=False))
        others = [axis for axis in spatial if axis not in axes and named.get(axis, 1) != 1]
        if others or not set(axes) <= set(named):
            raise Unreadable(f"attributes: {key} {shown(value)} does not fit the axes {axes}")
        return [named[axis] for axis in axes]


Place: TypeAlias = Callable[[KernelRow], Arguments]
"""What makes the arguments of a call of a row."""


def read(row: Mapping[str, str], case: ImportedCase, catalog: Catalog) -> None:
    """Fill ``case`` from a row of the kernel mode; raises :class:`Unreadable`."""
    places = KERNELS.get(names.plain(row["op_name"]).removesuffix("v2"))
    if places is None:
        raise Unreadable(
            f"op_name: {shown(row['op_name'])} is a kernel that opgen cannot place; known:"
            f" {', '.join(KERNELS)}"
        )
    kernel, reasons = _kernel_row(row), []
    for op in [op for op in places if op in catalog.operators]:
        try:
            case.api, case.args = catalog.operators[op], places[op](kernel)
            break
        except Unreadable as reason:
            reasons.append(str(reason))
    else:
        raise Unreadable(
            "; ".join(dict.fromkeys(reasons)) or f"op_name: no page for {', '.join(places)}"
        )
    case.notes.append(
        "from a kernel's row: shapes are the file's, what a kernel does not know is chosen"
    )


def _kernel_row(row: Mapping[str, str]) -> KernelRow:
    attributes = values.attributes(row)
    shapes = {side: _cells(row, f"{side}_ori_shapes", f"{side}_shapes") for side in _SIDES}
    for side, of_side in shapes.items():
        for shape in of_side:
            if shape is not None and not (
                isinstance(shape, list | tuple) and all(type(extent) is int for extent in shape)
            ):
                raise Unreadable(f"{side}_ori_shapes: {shown(shape)} is not a shape")
    count = len(shapes["input"])
    dtypes = _spread(_cells(row, "input_dtypes"), count)
    if len(dtypes) < count:
        raise Unreadable(f"input_dtypes: {len(dtypes)} for {count} inputs")
    formats = {}
    for side in _SIDES:
        words = _spread(_cells(row, f"{side}_ori_formats", f"{side}_formats"), len(shapes[side]))
        formats[side] = words + ["ND"] * (len(shapes[side]) - len(words))
    listed = {side: values.listed(of_side) for side, of_side in shapes.items()}
    return KernelRow(listed, formats, dtypes, attributes)


_SIDES = ("input", "output")


def _cells(row: Mapping[str, str], *columns: str) -> list[Any]:
    """The items of the first of some columns that is filled."""
    filled = next((column for column in columns if row.get(column)), "")
    value = values.cell(row, filled) if filled else ()
    value = (value,) if isinstance(value, str) else value
    if not isinstance(value, list | tuple):
        raise Unreadable(f"{filled}: expects a tuple, not {shown(value)}")
    return list(value)


def _spread(words: list[object], count: int) -> list[str]:
    """A word for each; a single one is that of all."""
    return [str(word) for word in (words * count if len(words) == 1 else words)]


def pick(extents: Sequence[int], letters: str, axes: str) -> list[int]:
    """Extents by letter; raises :class:`Unreadable` where a letter is missing or one that is left
    out is not 1.

    >>> pick([2, 1, 5, 7, 16], "NDHWC", "NCHW")
    [2, 16, 5, 7]
    """
    if letters == "ND" and len(extents) == len(axes):
        return list(extents)
    by_letter = dict(zip(letters, extents, strict=False))
    others = [
        f"{letter} = {extent}"
        for letter, extent in by_letter.items()
        if letter not in axes and extent != 1
    ]
    if len(letters) != len(extents) or not set(axes) <= set(letters) or others:
        raise Unreadable(
            f"extents {list(extents)} of {letters} are none of {axes}"
            + (f": {', '.join(others)}" if others else "")
        )
    return [by_letter[letter] for letter in axes]


def _group_norm(kernel: KernelRow) -> Arguments:
    """dy, mean, rstd, x, gamma -> dx, dgamma, dbeta."""
    args: Arguments = {}
    for place, name in enumerate(("gradOut", "mean", "rstd", "input", "gamma")):
        shape = kernel.shape("input", place)
        args[name] = (
            None
            if shape is None
            else {"shape": shape, "dtype": names.dtype(kernel.dtypes[place]), "format": "ND"}
        )
    shape = kernel.shape("input", 3) or []
    if len(shape) < 2:
        raise Unreadable(f"input_ori_shapes: {shown(shape)} has no N and C")
    return args | {
        "N": shape[0],
        "C": shape[1],
        "HxW": prod(shape[2:]),
        "group": kernel.attribute("num_groups"),
        "outputMask": [
            bool(kernel.attribute(f"{name}_is_require", True)) for name in ("dx", "dgamma", "dbeta")
        ],
    }


def _avg_pool(axes: str, **more: object) -> Place:
    """orig_input_shape, grads -> output; of three axes, or of two where the first is 1."""

    def place(kernel: KernelRow) -> Arguments:
        letters = str(kernel.attribute("data_format", "NDHWC"))
        grad = kernel.tensor("input", 1, f"NC{axes}")
        image = kernel.tensor("output", 0, f"NC{axes}") | {"dtype": grad["dtype"]}
        pads, pairs = kernel.attribute("pads"), 2 * len(axes)
        ours = pads[-pairs:] if isinstance(pads, list) else []
        if len(ours) != pairs or ours[::2] != ours[1::2] or any(pads[:-pairs]):
            raise Unreadable(
                f"attributes: pads {shown(pads)} are none of an average pooling of {len(axes)}"
                " axes, alike at begin and end"
            )
        return {
            "gradOutput": grad,
            "self": image,
            "kernelSize": kernel.per_axis("ksize", axes, letters),
            "stride": kernel.per_axis("strides", axes, letters),
            "padding": ours[::2],
            "ceilMode": bool(kernel.attribute("ceil_mode", False)),
            "countIncludePad": bool(kernel.attribute("count_include_pad", True)),
            "divisorOverride": kernel.attribute("divisor_override", 0),
            "gradInput": dict(image),
            **more,
        }

    return place


def _convolution(axes: str, output: str) -> Place:
    """One of a convolution's gradients: the tensors that the kernel reads, and the one that it
    writes.
    """
    places = {"input": ("input", 0), "weight": ("output", 0)}
    if output == "gradInput":
        places = {"input": ("output", 0), "weight": ("input", 1)}

    def place(kernel: KernelRow) -> Arguments:
        grad = kernel.tensor("input", 2, f"NC{axes}")
        tensors = {
            name: kernel.tensor(*where, f"NC{axes}") | {"dtype": grad["dtype"]}
            for name, where in places.items()
        }
        letters = str(kernel.attribute("data_format", f"NC{axes}"))
        pads = kernel.attribute("pads")
        if not isinstance(pads, list) or len(pads) != 2 * len(axes) or pads[::2] != pads[1::2]:
            raise Unreadable(
                f"attributes: pads {shown(pads)} differ at begin and end; a call of {len(axes)}"
                " axes pads both alike"
            )
        return {
            "gradOutput": grad,
            **tensors,
            "biasSizes": [grad["shape"][1]],
            "stride": kernel.per_axis("strides", axes, letters),
            "padding": pads[::2],
            "dilation": kernel.per_axis("dilations", axes, letters),
            "transposed": False,
            "outputPadding": [0] * len(axes),
            "groups": kernel.attribute("groups", 1),
            "outputMask": [output == "gradInput", output == "gradWeight", False],
            "cubeMathType": 0,
        }

    return place


KERNELS: Mapping[str, Mapping[str, Place]] = {
    "groupnormgrad": {"group_norm_backward": _group_norm},
    "avgpool3dgrad": {
        "avg_pool2d_backward": _avg_pool("HW", cubeMathType=0),
        "avg_pool3d_backward": _avg_pool("DHW"),
    },
    "conv2dbackpropinput": {"convolution_backward": _convolution("HW", "gradInput")},
    "conv2dbackpropfilter": {"convolution_backward": _convolution("HW", "gradWeight")},
    "conv3dbackpropinput": {"convolution_backward": _convolution("DHW", "gradInput")},
    "conv3dbackpropfilter": {"convolution_backward": _convolution("DHW", "gradWeight")},
}
"""Name of a kernel, without underscores and version -> operator, and where a call's arguments
stand; the first that fits is it."""
