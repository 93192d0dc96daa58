"""The kernel of replication padding over 1 axis against its definition, its adjoint and torch."""

from __future__ import annotations

from tests.golden.pads import against_definition, against_torch

OP = "replication_pad1d_backward"


def border(place: int, extent: int) -> int:
    return min(max(place, 0), extent - 1)


def test_definition_and_adjoint() -> None:
    against_definition(OP, "W", border)


def test_torch() -> None:
    against_torch(OP, "W", lambda torch: torch.ops.aten.replication_pad1d_backward)
