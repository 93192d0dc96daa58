"""A sample of the pages' rules once more, one call at a time in plain Python: what the judge on
columns is held against.

Each function takes the arguments and the product and says whether the rule is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from opgen.model import Argument, Call, TensorDesc

Args = Mapping[str, Any]
Test = Callable[[Args, str], bool]
FLOATS = {"FLOAT", "FLOAT16"}
PROMOTED = {
    ("BFLOAT16", "FLOAT16"): "FLOAT",
    ("BFLOAT16", "FLOAT"): "FLOAT",
    ("FLOAT", "FLOAT16"): "FLOAT",
}


def promoted(*dtypes: str) -> str | None:
    """The dtype that the three become, among the three that a convolution knows."""
    result: str | None = dtypes[0]
    for other in dtypes[1:]:
        if result is not None and other != result:
            result = PROMOTED.get(tuple(sorted((result, other))))  # type: ignore[arg-type]
    return result


def pair(values: Any) -> tuple[int, int] | None:
    return None if values is None or len(values) not in (1, 2) else (values[0], values[-1])


def pooling(args: Args, axis: int, last_window: bool = False) -> bool:
    """The extent of gradOutput along an axis (-2 or -1) is not what pooling self gives, which
    leaves out a ``last_window`` beyond image and begin padding unless told not to.
    """
    grad, image, kernel, stride, padding = (
        args[n] for n in ("gradOutput", "self", "kernelSize", "stride", "padding")
    )
    k, p = pair(kernel), pair(padding)
    s = k if stride is not None and len(stride) == 0 else pair(stride)
    if (
        grad is None
        or image is None
        or len(grad.shape) not in (3, 4)
        or len(image.shape) not in (3, 4)
        or None in (k, p, s)
    ):
        return False
    assert k is not None and p is not None and s is not None
    n, k1, p1, s1 = image.shape[axis], k[axis], p[axis], s[axis]
    if s1 <= 0:
        return False
    span = n + 2 * p1 - k1
    out = (-(-span // s1) if args["ceilMode"] else span // s1) + 1
    if args["ceilMode"] and not last_window and (out - 1) * s1 >= n + p1:
        out -= 1
    return bool(grad.shape[axis] != out)


def odd_windows(args: Args) -> bool:
    """Whether windows, strides or layouts have a fault with a code, which silences the extents."""
    steps = [*(args["kernelSize"] or ()), *(args["stride"] or ())]
    formats = [args[name].format for name in ("gradOutput", "self") if args[name] is not None]
    return min(steps, default=0) < 0 or not {*formats} <= {"NCHW", "NCL"}


def fp32(args: Args) -> bool:
    """Whether either input of a pooling is FLOAT."""
    tensors = args["gradOutput"], args["self"]
    return any(isinstance(one, TensorDesc) and one.dtype == "FLOAT" for one in tensors)


AVG_POOL: dict[str, Test] = {
    "product": lambda a, p: p == "ascend910_93",
    "gradOutput.null": lambda a, p: a["gradOutput"] is None,
    "gradOutput.dtype": lambda a, p: (
        a["gradOutput"] is not None
        and a["gradOutput"].dtype not in FLOATS | ({"BFLOAT16"} if p == "ascend910b" else set())
    ),
    "self.rank": lambda a, p: a["self"] is not None and len(a["self"].shape) not in (3, 4),
    "self.dims": lambda a, p: a["self"] is not None and min(a["self"].shape, default=0) < 0,
    "gradOutput.empty": lambda a, p: (
        a["gradOutput"] is not None
        and len(a["gradOutput"].shape) in (3, 4)  # any other has a code
        and prod(a["gradOutput"].shape) == 0
    ),
    "kernelSize.length": lambda a, p: (
        a["kernelSize"] is not None and len(a["kernelSize"]) not in (1, 2)
    ),
    "kernelSize.min": lambda a, p: (
        a["kernelSize"] is not None and min(a["kernelSize"], default=0) < 0
    ),
    "stride_positive": lambda a, p: (
        a["stride"] is not None
        and len(a["stride"]) <= 2
        and min(a["stride"], default=1) == 0  # below, or longer, it has a code
    ),
    "divisorOverride.range": lambda a, p: not -255 <= a["divisorOverride"] <= 255,
    "cubeMathType.enum": lambda a, p: a["cubeMathType"] not in (0, 1, 2, 3),
    "same_dtype": lambda a, p: (
        None not in (a["self"], a["gradInput"]) and a["self"].dtype != a["gradInput"].dtype
    ),
    "grad_input_shape": lambda a, p: (
        None not in (a["self"], a["gradInput"])
        and {len(a["self"].shape), len(a["gradInput"].shape)} <= {3, 4}  # others have a code
        and a["self"].shape != a["gradInput"].shape
    ),
    "out_height": lambda a, p: not a["ceilMode"] and pooling(a, -2) and not odd_windows(a),
    "out_width": lambda a, p: not a["ceilMode"] and pooling(a, -1) and not odd_windows(a),
    "last_window_height": lambda a, p: a["ceilMode"] and pooling(a, -2) and not odd_windows(a),
    "out_width_rounded_up": lambda a, p: (
        a["ceilMode"] and pooling(a, -1) and pooling(a, -1, last_window=True) and not odd_windows(a)
    ),
    "pad_width": lambda a, p: (
        None not in (pair(a["kernelSize"]), pair(a["padding"]))
        and 2 * pair(a["padding"])[1] > pair(a["kernelSize"])[1]
    ),  # type: ignore[index]
    "cube_train_fp32": lambda a, p: p == "ascend910" and fp32(a) and a["cubeMathType"] in (0, 3),
    "cube_infer_fp32": lambda a, p: p == "ascend310p" and fp32(a) and a["cubeMathType"] in (0, 3),
}


def asked(args: Args, output: int) -> bool:
    """Whether a mask is there that asks for an output."""
    mask = args["outputMask"]
    return mask is not None and len(mask) > output and mask[output]


GROUP_NORM: dict[str, Test] = {
    "gradOut.rank": lambda a, p: a["gradOut"] is not None and len(a["gradOut"].shape) > 8,
    "grad_numel": lambda a, p: (
        a["gradOut"] is not None and prod(a["gradOut"].shape) != a["N"] * a["C"] * a["HxW"]
    ),
    "mean_numel": lambda a, p: (
        a["mean"] is not None and prod(a["mean"].shape) != a["N"] * a["group"]
    ),
    "gamma_numel": lambda a, p: a["gamma"] is not None and prod(a["gamma"].shape) != a["C"],
    "group.min": lambda a, p: a["group"] < 1,
    "divisible": lambda a, p: a["group"] != 0 and a["C"] % a["group"] != 0,
    "channels_per_group": lambda a, p: (
        p == "ascend910b" and a["group"] >= 1 and a["C"] // a["group"] > 8000
    ),
    "outputMask.length": lambda a, p: a["outputMask"] is not None and len(a["outputMask"]) != 3,
    "gradInput.null": lambda a, p: a["gradInput"] is None and asked(a, 0),
    "grad_gamma_shape": lambda a, p: (
        asked(a, 1)
        and None not in (a["gradGammaOut"], a["gamma"])
        and a["gradGammaOut"].shape != a["gamma"].shape
    ),
    "rstd_dtype": lambda a, p: (
        None not in (a["rstd"], a["gradOut"]) and a["rstd"].dtype != a["gradOut"].dtype
    ),
}


def reflected(args: Args, axis: int) -> bool:
    grad, image, padding = args["gradOutput"], args["self"], args["padding"]
    if (
        None in (grad, image, padding)
        or len(padding) != 4
        or {len(grad.shape), len(image.shape)} - {3, 4}
    ):
        return False
    first = 0 if axis == -1 else 2
    return bool(grad.shape[axis] != image.shape[axis] + padding[first] + padding[first + 1])


def overhang(args: Args, slot: int) -> bool:
    image, padding = args["self"], args["padding"]
    if image is None or padding is None or len(padding) != 4 or len(image.shape) not in (3, 4):
        return False
    return bool(padding[slot] >= image.shape[-1 if slot < 2 else -2])


REFLECTION: dict[str, Test] = {
    "padding.length": lambda a, p: a["padding"] is not None and len(a["padding"]) != 4,
    "padding.min": lambda a, p: a["padding"] is not None and min(a["padding"], default=0) < 0,
    "out_height": lambda a, p: reflected(a, -2),
    "out_width": lambda a, p: reflected(a, -1),
    "right_below_width": lambda a, p: overhang(a, 1),
    "top_below_height": lambda a, p: overhang(a, 2),
    "self.dtype": lambda a, p: (
        a["self"] is not None
        and a["self"].dtype not in FLOATS | {"DOUBLE", "COMPLEX64", "COMPLEX128"}
    ),
    "grad_rank": lambda a, p: (
        None not in (a["gradOutput"], a["self"])
        and len(a["gradOutput"].shape) != len(a["self"].shape)
    ),
}


def array(args: Args, name: str, allowed: tuple[int, ...] = ()) -> tuple[int, ...] | None:
    """The values of an array per spatial axis, where its length is one that the rank of the weight
    allows.
    """
    values, weight = args[name], args["weight"]
    if values is None or weight is None:
        return None
    axes = len(weight.shape) - 2
    return (
        values if len(values) == axes or (len(values) == 4 and axes == 2 and 4 in allowed) else None
    )


def width(args: Args) -> bool:
    """Wout does not follow from Win (or, transposed, the other way round)."""
    grad, image, weight = args["gradOutput"], args["input"], args["weight"]
    if None in (grad, image, weight) or {len(grad.shape), len(image.shape), len(weight.shape)} - {
        3,
        4,
        5,
    }:
        return False
    stride, dilation, padding, extra = (
        array(args, "stride"),
        array(args, "dilation"),
        array(args, "padding", (4,)),
        array(args, "outputPadding"),
    )
    if None in (stride, dilation, padding):
        return False
    assert stride is not None and dilation is not None and padding is not None
    if stride[-1] < 1:
        return False
    ends = padding[2:] if len(padding) == 4 else (padding[-1], padding[-1])
    reach = dilation[-1] * (weight.shape[-1] - 1)
    if args["transposed"]:
        return (
            extra is not None
            and grad.shape[-1]
            != (image.shape[-1] - 1) * stride[-1] - sum(ends) + reach + extra[-1] + 1
        )
    return grad.shape[-1] != (image.shape[-1] + sum(ends) - reach - 1) // stride[-1] + 1


def channels(args: Args) -> bool:
    """Groups * weight.C is not C of the forward input."""
    name = "gradOutput" if args["transposed"] else "input"
    forward, weight = args[name], args["weight"]
    if (
        weight is None
        or len(weight.shape) not in (3, 4, 5)
        or forward is None
        or len(forward.shape) not in (3, 4, 5)
    ):
        return False
    return bool(args["groups"] * weight.shape[1] != forward.shape[1])


def listed(*tensors: TensorDesc) -> bool:
    """Whether the page lists the formats of tensors; any other has a code."""
    return {tensor.format for tensor in tensors} <= {"NCL", "NCHW", "NCDHW"}


def cube(args: Args, dtype: str, mode: int) -> bool:
    tensors = [args[name] for name in ("gradOutput", "input", "weight")]
    return (
        None not in tensors
        and promoted(*(t.dtype for t in tensors)) == dtype
        and args["cubeMathType"] == mode
    )


CONVOLUTION: dict[str, Test] = {
    "weight.null": lambda a, p: a["weight"] is None,
    "stride.length": lambda a, p: (
        None not in (a["stride"], a["weight"]) and len(a["stride"]) != len(a["weight"].shape) - 2
    ),
    "stride.min": lambda a, p: a["stride"] is not None and min(a["stride"], default=1) < 1,
    "padding.length": lambda a, p: (
        None not in (a["padding"], a["weight"])
        and len(a["padding"])
        not in {3: (1,), 4: (2, 4), 5: (3,)}.get(len(a["weight"].shape), range(99))
    ),
    "weight_rank": lambda a, p: (
        None not in (a["weight"], a["input"]) and len(a["weight"].shape) != len(a["input"].shape)
    ),
    "grad_input_shape": lambda a, p: (
        None not in (a["gradInput"], a["input"]) and a["gradInput"].shape != a["input"].shape
    ),
    "input_extents": lambda a, p: (
        a["input"] is not None
        and (a["transposed"] or p in ("ascend310p", "ascend910"))
        and min(a["input"].shape, default=0) < 0
    ),
    "grown_width": lambda a, p: a["transposed"] and width(a),
    "out_width": lambda a, p: not a["transposed"] and width(a),
    "groups_in": lambda a, p: not a["transposed"] and channels(a),
    "groups_out": lambda a, p: a["transposed"] and channels(a),
    "groups_in_transposed": lambda a, p: a["transposed"] and channels({**a, "transposed": False}),
    "bias_channels": lambda a, p: (
        not a["transposed"]
        and asked(a, 2)
        and None not in (a["biasSizes"], a["weight"])
        and len(a["biasSizes"]) == 1
        and len(a["weight"].shape) in (3, 4, 5)
        and a["biasSizes"][0] != a["weight"].shape[0]
    ),
}

TWINS: dict[str, dict[str, Test]] = {
    "avg_pool2d_backward": AVG_POOL,
    "group_norm_backward": GROUP_NORM,
    "reflection_pad2d_backward": REFLECTION,
    "convolution_backward.atlas": {
        **CONVOLUTION,
        "gradBias.null": lambda a, p: a["gradBias"] is None,
        "biasSizes.null": lambda a, p: (
            a["biasSizes"] is None
            and a["input"] is not None
            and a["outputMask"] is not None
            and len(a["outputMask"]) > 2
            and not (a["outputMask"][2] and prod(a["input"].shape) == 0)
        ),
        "bias_sizes_of_empty_input": lambda a, p: (
            a["biasSizes"] is None
            and asked(a, 2)
            and a["input"] is not None
            and prod(a["input"].shape) == 0
        ),
        "no_3d": lambda a, p: (
            p == "ascend910" and a["input"] is not None and len(a["input"].shape) == 5
        ),
        "no_3d_inference": lambda a, p: (
            p == "ascend310p" and a["input"] is not None and len(a["input"].shape) == 5
        ),
        "fp32_keep": lambda a, p: p == "ascend910" and cube(a, "FLOAT", 0),
        "fp32_keep_inference": lambda a, p: p == "ascend310p" and cube(a, "FLOAT", 0),
    },
    "convolution_backward.ascend910b": {
        **CONVOLUTION,
        "gradBias.null": lambda a, p: a["gradBias"] is None and asked(a, 2),
        "bf16_among_fp16": lambda a, p: (
            cube(a, "FLOAT", 2)
            and "BFLOAT16" in [a[name].dtype for name in ("gradOutput", "input", "weight")]
        ),
        "weight.dims": lambda a, p: (
            a["weight"] is not None
            and not a["transposed"]
            and min(a["weight"].shape, default=1) < 1
            and (a["input"] is None or prod(a["input"].shape) != 0)
        ),
        "weight_negative": lambda a, p: (
            None not in (a["weight"], a["input"])
            and not a["transposed"]
            and min(a["weight"].shape, default=0) < 0
            and prod(a["input"].shape) == 0
        ),
        "grad_input_shape": lambda a, p: (
            CONVOLUTION["grad_input_shape"](a, p)
            and len(a["input"].shape) in (3, 4, 5)  # any other has a code,
            and (a["gradOutput"] is None or a["gradOutput"].shape[:1] == a["input"].shape[:1])
            # and so has another N
        ),
        "groups_out": lambda a, p: (
            CONVOLUTION["groups_out"](a, p) and listed(a["weight"], a["gradOutput"])
        ),
        "groups_in_transposed": lambda a, p: (
            CONVOLUTION["groups_in_transposed"](a, p) and listed(a["weight"], a["input"])
        ),
        "bf16_as_fp16": lambda a, p: cube(a, "BFLOAT16", 2),
        "bf16_as_hf32": lambda a, p: cube(a, "BFLOAT16", 3),
        "groups_limit": lambda a, p: not a["transposed"] and a["groups"] > 65535,
    },
}
"""Spec -> rule -> its twin."""


def broken(spec: str, call: Call) -> set[str]:
    """The rules of the sample that one call breaks."""
    args: Mapping[str, Argument] = call.args
    return {rule for rule, test in TWINS[spec].items() if test(args, call.product)}
