"""The gradient of modulation beside the one that torch derives from the forward."""

from __future__ import annotations

from typing import Any

from tests.golden.by_autograd import Gradient, agrees, bounds_a_device


def modulate(torch: Any, of: Any, names: Any) -> tuple[Any, dict[str, Any]]:
    return of["input"] * of["scale"][:, None] + of["shift"][:, None], {}


GRADIENT = Gradient(
    modulate,
    {
        **dict.fromkeys(("grad_output", "input"), (2, 3, 7)),
        **dict.fromkeys(("scale", "shift"), (2, 7)),
    },
    {"grad_input": "input", "grad_scale": "scale", "grad_shift": "shift"},
)


def test_torch_in_float64() -> None:
    agrees("modulate_backward", GRADIENT)


def test_a_device_in_float_is_within_the_bound_and_a_wrong_one_is_not() -> None:
    bounds_a_device("modulate_backward", GRADIENT)
