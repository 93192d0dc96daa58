"""The kernel of trilinear upsampling against its definition and torch."""

from __future__ import annotations

from tests.golden.upsampling import against_definition, against_torch, linear

OP = "upsample_trilinear3d_backward"


def test_definition_and_a_device_with_weights_in_float() -> None:
    against_definition(OP, "DHW", linear)


def test_torch() -> None:
    against_torch(OP, "DHW", "upsample_trilinear3d_backward")
