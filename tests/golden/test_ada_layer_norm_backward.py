"""The gradient of adaptive layer norm beside the one that torch derives from the forward."""

from __future__ import annotations

from typing import Any

from tests.golden.by_autograd import Gradient, agrees, bounds_a_device, normal


def ada_layer_norm(torch: Any, of: Any, names: Any) -> tuple[Any, dict[str, Any]]:
    unit, mean, rstd = normal(torch, of["input"], (-1,))
    scale, shift = (of[name].reshape(2, 1, 7) for name in ("scale", "shift"))
    result = (unit * of["weightOptional"] + of["biasOptional"]) * (1 + scale) + shift
    return result, {"mean": mean, "rstd": rstd}


GRADIENT = Gradient(
    ada_layer_norm,
    {
        **dict.fromkeys(("gradOut", "input"), (2, 3, 7)),
        **dict.fromkeys(("mean", "rstd"), (2, 3, 1)),
        **dict.fromkeys(("scale", "shift"), (2, 7)),
        **dict.fromkeys(("weightOptional", "biasOptional"), (7,)),
    },
    {
        "gradInputOut": "input",
        "gradScaleOut": "scale",
        "gradShiftOut": "shift",
        "gradWeightOut": "weightOptional",
        "gradBiasOut": "biasOptional",
    },
)


def test_torch_in_float64() -> None:
    agrees("ada_layer_norm_backward", GRADIENT)


def test_a_device_in_float_is_within_the_bound_and_a_wrong_one_is_not() -> None:
    bounds_a_device("ada_layer_norm_backward", GRADIENT)
