"""The torch operators behind the vendor's upsamplings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

aten = torch.ops.aten


def upsampling(
    tensors: Mapping[str, torch.Tensor | None],
    args: Mapping[str, Any],
    wanted: frozenset[str],
    operator: Callable[..., torch.Tensor],
) -> dict[str, torch.Tensor]:
    """``aten.upsample_bilinear2d_backward`` and its like, in FLOAT at least and with channels
    before the axes; a scale that is not positive is none. The pages of nearest upsampling go by the
    extents whatever the scales are.
    """
    (source, gradient), *_ = tensors.items()
    (output,) = wanted
    assert gradient is not None
    behind = args[source]["format"] in ("NHWC", "NDHWC")
    if behind:
        gradient = gradient.movedim(-1, 1)
    out = list(args[output]["shape"])
    size = [out[0], out[-1], *out[1:-1]] if behind else out
    flags = [args["alignCorners"]] if "alignCorners" in args else []
    by_extents = operator in NEAREST
    scales = [0.0 if by_extents else float(args[name]) for name in args if "scales" in name]
    result = operator(
        gradient.to(torch.promote_types(gradient.dtype, torch.float32)).contiguous(),
        args["outputSize"],
        size,
        *flags,
        *[scale if scale > 0 else None for scale in scales],
    )
    return {output: result.movedim(1, -1) if behind else result}


NEAREST = (
    aten.upsample_nearest1d_backward,
    aten.upsample_nearest2d_backward,
    aten._upsample_nearest_exact2d_backward,
    aten._upsample_nearest_exact3d_backward,
)
UPSAMPLINGS: Mapping[str, Callable[..., dict[str, torch.Tensor]]] = {
    f"aclnnUpsample{name}": partial(upsampling, operator=operator)
    for name, operator in {
        "Bilinear2dAABackward": aten._upsample_bilinear2d_aa_backward,
        "Bilinear2dBackward": aten.upsample_bilinear2d_backward,
        "Bilinear2dBackwardV2": aten.upsample_bilinear2d_backward,
        "Bicubic2dBackward": aten.upsample_bicubic2d_backward,
        "Trilinear3dBackward": aten.upsample_trilinear3d_backward,
        **{
            f"Nearest{name}Backward": operator
            for name, operator in zip(("1d", "2d", "Exact2d", "Exact3d"), NEAREST, strict=True)
        },
    }.items()
}
