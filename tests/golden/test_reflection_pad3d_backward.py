"""The kernel of reflection padding over 3 axes against its definition, its adjoint and torch."""

from __future__ import annotations

from tests.golden.pads import against_definition, against_torch

OP = "reflection_pad3d_backward"


def border(place: int, extent: int) -> int:
    there_and_back = [*range(extent), *range(extent - 2, 0, -1)]
    return there_and_back[place % len(there_and_back)]


def test_definition_and_adjoint() -> None:
    against_definition(OP, "DHW", border)


def test_torch() -> None:
    against_torch(OP, "DHW", lambda torch: torch.ops.aten.reflection_pad3d_backward)
