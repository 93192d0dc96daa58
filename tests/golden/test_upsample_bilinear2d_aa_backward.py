"""The kernel of bilinear upsampling that averages, against its definition and torch."""

from __future__ import annotations

from typing import Any

from tests.golden import upsampling

OP = "upsample_bilinear2d_aa_backward"


def averaged(o: int, extent: int, number: int, scale: float, align: bool, real: type) -> Any:
    by = upsampling.step(extent, number, scale, align, real)
    support, half = max(by, real(1)), real(1) / real(2)
    centre = (real(o) + half) * by
    far = [abs(real(i) + half - centre) / support for i in range(extent)]
    taps = [(i, real(1) - distance) for i, distance in enumerate(far) if distance < 1]
    total = sum((weight for _, weight in taps), real(0))
    return [(i, weight / total) for i, weight in taps]


def test_definition() -> None:
    upsampling.against_definition(OP, "HW", averaged)


def test_torch() -> None:
    upsampling.against_torch(OP, "HW", "_upsample_bilinear2d_aa_backward")
