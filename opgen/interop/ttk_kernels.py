"""TTK's kernel mode: rows that test one kernel of the operator level, read for their shapes only.

A kernel has its own inputs, attributes and layouts. :data:`KERNELS` says in which places those of
an aclnn call stand; what a kernel does not know is chosen and noted. A kernel that is not listed,
and a row whose extents do not fit, is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TypeAlias

from opgen.interop import names
from opgen.interop.importing import ImportedCase
from opgen.interop.names import Unreadable, shown
from opgen.interop.ttk_kernel_row import Arguments, KernelRow, nth, whole
from opgen.interop.values import Row
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
HF32 = 3
"""The cubeMathType of ``enable_hf32``."""


Place: TypeAlias = Callable[[KernelRow], Arguments]
"""What makes the arguments of a call of a row."""


def read(row: Row, case: ImportedCase, catalog: Catalog) -> None:
    """Fill ``case`` from a row of the kernel mode; raises :class:`Unreadable`."""
    places = KERNELS.get(names.plain(row["op_name"]).removesuffix("v2"))
    if places is None:
        raise Unreadable(
            f"op_name: {shown(row['op_name'])} is a kernel that opgen cannot place; known:"
            f" {', '.join(KERNELS)}"
        )
    kernel, reasons = KernelRow(row), []
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


def _group_norm(kernel: KernelRow) -> Arguments:
    """dy, mean, rstd, x, gamma -> dx, dgamma, dbeta."""
    shapes = kernel.items("input_ori_shapes", "input_shapes")
    args: Arguments = {
        name: None if nth(shapes, place) is None else kernel.tensor("input", place)
        for place, name in enumerate(("gradOut", "mean", "rstd", "input", "gamma"))
    }
    shape = args["input"]["shape"] if args["input"] else []
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


def _avg_pool(axes: str, layout: str, **more: object) -> Place:
    """orig_input_shape, grads -> output; ``layout`` is that of a row that names none. A kernel of
    three axes is one of two where the first is 1. The page of three lists the format ND alone.
    """
    deep = axes == "DHW"

    def place(kernel: KernelRow) -> Arguments:
        letters = str(kernel.attribute("data_format", layout))
        form = {"format": "ND"} if deep else {}
        grad = kernel.tensor("input", 1, f"NC{axes}") | form
        image = kernel.tensor("output", 0, f"NC{axes}") | form | {"dtype": grad["dtype"]}
        size, stride = (kernel.per_axis(key, axes, letters) for key in ("ksize", "strides"))
        mode = kernel.attribute("padding_mode", kernel.attribute("padding", "CALCULATED"))
        if mode == "CALCULATED":
            padding = kernel.pads(axes, letters)
        elif mode in ("SAME", "VALID"):
            padding = _framed(grad, image, size, stride) if mode == "SAME" else [0] * len(axes)
        else:
            raise Unreadable(f"attributes: no such padding {shown(mode)}; known: SAME, VALID")
        within = not kernel.attribute("exclusive", "D" not in letters)
        return {
            "gradOutput": grad,
            "self": image,
            "kernelSize": size,
            "stride": stride,
            "padding": padding,
            "ceilMode": bool(kernel.attribute("ceil_mode", False)),
            "countIncludePad": bool(kernel.attribute("count_include_pad", within)),
            "divisorOverride": kernel.attribute("divisor_override", 0),
            "output" if deep else "gradInput": dict(image),
            **more,
        }

    return place


def _framed(
    grad: Arguments, image: Arguments, size: Sequence[int], stride: Sequence[int]
) -> list[int]:
    """Padding of the mode SAME: what the last window needs beyond the image, half at either end."""
    windows = zip(grad["shape"][2:], image["shape"][2:], size, stride, strict=True)
    beyond = [max((out - 1) * step + window - extent, 0) for out, extent, window, step in windows]
    if any(total % 2 for total in beyond):
        raise Unreadable(
            "attributes: padding SAME differs at begin and end; a call pads both alike"
        )
    return [total // 2 for total in beyond]


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
        return {
            "gradOutput": grad,
            **tensors,
            "biasSizes": [grad["shape"][1]],
            "stride": kernel.per_axis("strides", axes, letters),
            "padding": kernel.pads(axes, letters),
            "dilation": kernel.per_axis("dilations", axes, letters),
            "transposed": False,
            "outputPadding": [0] * len(axes),
            "groups": kernel.attribute("groups", 1),
            "outputMask": [output == "gradInput", output == "gradWeight", False],
            "cubeMathType": HF32 if kernel.attribute("enable_hf32", False) else 0,
        }

    return place


def _reflection_pad(axes: int) -> Place:
    """x, paddings -> y. The paddings of each axis follow each other, the first axis first; a call
    has those of the last ``axes``, the last first.
    """

    def place(kernel: KernelRow) -> Arguments:
        grad, image = kernel.tensor("input", 0), kernel.tensor("output", 0)
        mode, paddings = kernel.attribute("mode", "reflect"), kernel.attribute("paddings")
        if mode != "reflect" or not kernel.attribute("paddings_contiguous", True):
            raise Unreadable(f"attributes: mode {shown(mode)} or paddings that are not contiguous")
        others, rank = whole("paddings", paddings)[: -2 * axes], len(grad["shape"])
        if len(paddings) != 2 * rank or rank - axes not in (1, 2) or any(others):
            raise Unreadable(
                f"attributes: paddings {shown(paddings)} are none of the last {axes} of {rank} axes"
            )
        return {
            "gradOutput": grad,
            "self": image,
            "padding": [
                paddings[2 * axis + end]
                for axis in range(rank - 1, rank - 1 - axes, -1)
                for end in (0, 1)
            ],
            "gradInput": dict(image),
        }

    return place


KERNELS: Mapping[str, Mapping[str, Place]] = {
    "groupnormgrad": {"group_norm_backward": _group_norm},
    "avgpoolgrad": {"avg_pool2d_backward": _avg_pool("HW", "NHWC", cubeMathType=0)},
    "avgpoolv2grad": {"avg_pool2d_backward": _avg_pool("HW", "NCHW", cubeMathType=0)},
    "avgpool3dgrad": {
        "avg_pool2d_backward": _avg_pool("HW", "NDHWC", cubeMathType=0),
        "avg_pool3d_backward": _avg_pool("DHW", "NDHWC"),
    },
    "conv2dbackpropinput": {"convolution_backward": _convolution("HW", "gradInput")},
    "conv2dbackpropfilter": {"convolution_backward": _convolution("HW", "gradWeight")},
    "conv3dbackpropinput": {"convolution_backward": _convolution("DHW", "gradInput")},
    "conv3dbackpropfilter": {"convolution_backward": _convolution("DHW", "gradWeight")},
    "padv3grad": {
        "reflection_pad2d_backward": _reflection_pad(2),
        "reflection_pad1d_backward": _reflection_pad(1),
    },
}
"""Name of a kernel, without underscores and version -> operator, and where a call's arguments
stand; the first that fits is it."""
