"""The kernel of nearest upsampling of volumes by middles against its definition and torch."""

from __future__ import annotations

from tests.golden.upsampling import (
    against_definition,
    against_float_on_wide_images,
    against_torch,
    middle,
)

OP = "upsample_nearest_exact3d_backward"


def test_definition_and_a_device_with_weights_in_float() -> None:
    against_definition(OP, "DHW", middle, align=False)


def test_torch() -> None:
    against_torch(OP, "DHW", "_upsample_nearest_exact3d_backward", align=False)


def test_a_device_that_rounds_places_in_float_across_elements_is_right() -> None:
    against_float_on_wide_images(OP, "DHW", middle, 8209)
