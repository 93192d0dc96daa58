"""The kernel of bicubic upsampling against its definition and torch."""

from __future__ import annotations

from tests.golden.upsampling import against_definition, against_torch, cubic

OP = "upsample_bicubic2d_backward"


def test_definition_and_a_device_with_weights_in_float() -> None:
    against_definition(OP, "HW", cubic)


def test_torch() -> None:
    against_torch(OP, "HW", "upsample_bicubic2d_backward")
