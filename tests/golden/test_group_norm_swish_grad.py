"""The gradient of group norm with swish beside the one that torch derives from the forward."""

from __future__ import annotations

from typing import Any

from tests.golden.by_autograd import Gradient, agrees, bounds_a_device, normal


def group_norm_swish(torch: Any, of: Any, names: Any) -> tuple[Any, dict[str, Any]]:
    unit, mean, rstd = normal(torch, of["x"].reshape(2, 2, 3, 5), (2, 3))
    y = unit.reshape(2, 6, 5) * of["gamma"][:, None] + of["beta"][:, None]
    saved = {"mean": mean.reshape(2, 2), "rstd": rstd.reshape(2, 2)}
    return y * torch.sigmoid(y * names["swishScale"]), saved


GRADIENT = Gradient(
    group_norm_swish,
    {
        **dict.fromkeys(("dy", "x"), (2, 6, 5)),
        **dict.fromkeys(("mean", "rstd"), (2, 2)),
        **dict.fromkeys(("gamma", "beta"), (6,)),
    },
    {"dxOut": "x", "dgammaOut": "gamma", "dbetaOut": "beta"},
    {"numGroups": 2, "swishScale": 1.5},
)


def test_torch_in_float64() -> None:
    agrees("group_norm_swish_grad", GRADIENT)


def test_a_device_in_float_is_within_the_bound_and_a_wrong_one_is_not() -> None:
    bounds_a_device("group_norm_swish_grad", GRADIENT)
