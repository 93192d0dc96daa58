"""The gradients of losses by torch: it differentiates the loss of each element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch.nn import functional

from opgen.devices.torch_adapter import Adapter, Arguments, TensorsByName, given

MEAN, BATCHMEAN = 1, 3
Loss = Callable[[list[torch.Tensor], Arguments], torch.Tensor]
"""The loss of each element, from the inputs behind the gradient, of one shape and dtype, or ones
for weights that are not given; and the numbers of the call.
"""


def differentiated(
    tensors: TensorsByName,
    args: Arguments,
    wanted: frozenset[str],
    loss: Loss,
    counted: tuple[str, ...] = ("self", "target"),
) -> TensorsByName:
    """The gradient of self, the first input. A mean counts the elements of what some inputs
    broadcast to, as the page has it.
    """
    passed = given(tensors, *tensors)
    one = next(tensor for tensor in passed if tensor is not None).new_ones(())
    filled = [one if tensor is None else tensor for tensor in passed]
    with torch.inference_mode(False), torch.enable_grad():
        gradient, *inputs = (t.clone() for t in torch.broadcast_tensors(*filled))
        source = inputs[0].requires_grad_()
        (found,) = torch.autograd.grad(loss(inputs, args), source, gradient)
    shapes = [tensor.shape for name in counted if (tensor := tensors[name]) is not None]
    shape = torch.broadcast_shapes(*shapes)
    parts = {MEAN: shape.numel(), BATCHMEAN: shape[0] if shape else 1}
    (output,) = wanted
    return {output: found / max(parts.get(args["reduction"], 1), 1)}


_NONE = "none"
_LOSSES: Mapping[str, Loss] = {
    "BinaryCrossEntropy": lambda of, args: functional.binary_cross_entropy(
        of[0], of[1], weight=of[2], reduction=_NONE
    ),
    "BinaryCrossEntropyWithLogits": lambda of, args: functional.binary_cross_entropy_with_logits(
        of[0], of[1], weight=of[2], pos_weight=of[3], reduction=_NONE
    ),
    "KlDiv": lambda of, args: functional.kl_div(
        of[0], of[1], reduction=_NONE, log_target=args["logTarget"]
    ),
    "L1Loss": lambda of, args: functional.l1_loss(of[0], of[1], reduction=_NONE),
    "SoftMarginLoss": lambda of, args: functional.soft_margin_loss(of[0], of[1], reduction=_NONE),
}
LOSSES: Mapping[str, Adapter] = {
    **{
        f"aclnn{name}Backward": partial(differentiated, loss=loss) for name, loss in _LOSSES.items()
    },
    "aclnnMseLossBackward": partial(
        differentiated,
        loss=lambda of, args: functional.mse_loss(of[0], of[1], reduction=_NONE),
        counted=("self",),
    ),
}
