"""The kernel of nearest upsampling of lines against its definition and torch."""

from __future__ import annotations

from tests.golden.upsampling import against_definition, against_torch, nearest

OP = "upsample_nearest1d_backward"


def test_definition_and_a_device_with_weights_in_float() -> None:
    against_definition(OP, "L", nearest, align=False)


def test_torch() -> None:
    against_torch(OP, "L", "upsample_nearest1d_backward", align=False)
