"""What the tests of kernels made of a formula share: arguments over the whole range, devices in
float32 that are as precise as they can be, and bounds that they must stay inside.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from opgen.golden import kernel
from opgen.numerics.bounds import bound
from opgen.numerics.rounding import stored, ulp

Arrays = dict[str, np.ndarray]
Device = Callable[[Arrays], np.ndarray]
"""An operator in float32."""

COUNT = 1_000_000 if os.environ.get("OPGEN_SLOW") == "1" else 30_000
DTYPES = ("FLOAT", "FLOAT16", "BFLOAT16")
SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    3.0,
    -3.0,
    88.0,
    -88.0,
    104.0,
    -104.0,
    2.0**-120,
    2.0**120,
)


def arguments(random: np.random.Generator, dtype: str, count: int = COUNT) -> np.ndarray:
    """Half where functions bend, half of all exponents that a dtype has, and special values."""
    most = 14 if dtype == "FLOAT16" else 125
    exponents = random.integers(-most, most, count)
    exponents[::2] = random.integers(-12, 7, len(exponents[::2]))
    values = np.ldexp(random.uniform(1, 2, count) * random.choice([-1.0, 1.0], count), exponents)
    values[: len(SPECIAL)] = SPECIAL
    least = -6e4 if dtype == "FLOAT16" else -np.inf
    return np.maximum(stored(values, dtype).astype(np.float64), least)


def gradients(random: np.random.Generator, dtype: str, count: int = COUNT) -> np.ndarray:
    values = np.ldexp(random.uniform(-2, 2, count), random.integers(-3, 3, count))
    return stored(values, dtype).astype(np.float64)


def expected(
    op: str, inputs: Mapping[str, np.ndarray], names: Mapping[str, Any], output: str, dtype: str
) -> tuple[np.ndarray, np.ndarray]:
    """Goldens and bounds of one case."""
    batch = {name: array[None] for name, array in inputs.items()}
    golden, magnitude = kernel(op).both(batch, names, (output,))
    limit = bound(golden[output], magnitude[output], 1, dtype)
    return golden[output][0], limit[0].astype(np.float64)


def outside(
    golden: np.ndarray, limit: np.ndarray, device: Device, inputs: Arrays, dtype: str
) -> np.ndarray:
    """Where a device that computes in float32 is beyond its bound."""
    single = {name: array.astype(np.float32) for name, array in inputs.items()}
    answer = stored(device(single).astype(np.float64), dtype).astype(np.float64)
    right = (np.abs(answer - golden) <= limit) | (answer == golden) | ~np.isfinite(limit)
    return ~(right | (np.isnan(answer) & np.isnan(golden)))


def assert_correct_devices_stay_inside(
    op: str,
    devices: Mapping[str, Device],
    draw: Callable[[np.random.Generator, str], Arrays],
    names: Mapping[str, Any] | None = None,
    output: str = "gradInput",
) -> None:
    """No element of any device is beyond the bound, in any dtype."""
    for dtype in DTYPES:
        inputs = draw(np.random.default_rng(1), dtype)
        golden, limit = expected(op, inputs, names or {}, output, dtype)
        for name, device in devices.items():
            wrong = np.nonzero(outside(golden, limit, device, inputs, dtype))
            found = [
                (dtype, name, *(a[where] for a in inputs.values()))
                for where in zip(*wrong, strict=True)
            ]
            assert not found, (len(found), found[:3])


def tight(
    op: str,
    inputs: Arrays,
    dtype: str,
    names: Mapping[str, Any] | None = None,
    output: str = "gradInput",
) -> float:
    """The share of normal goldens of which a device that is wrong by 4 ulp is beyond the bound."""
    golden, limit = expected(op, inputs, names or {}, output, dtype)
    normal = np.abs(golden) > 2.0**-14 if dtype == "FLOAT16" else np.abs(golden) > 2.0**-100
    golden, limit = golden[normal], limit[normal]
    wrong = golden + 4 * ulp(golden, dtype)
    return float((np.abs(wrong - golden) > limit).mean())


def against_mpmath(
    op: str,
    inputs: Arrays,
    exact: Callable[..., Any],
    names: Mapping[str, Any] | None = None,
    output: str = "gradInput",
) -> Iterator[tuple[float, float]]:
    """(error, what is claimed of it) of goldens in float64, against a formula of mpmath."""
    import mpmath

    batch = {name: array[None] for name, array in inputs.items()}
    golden, magnitude = kernel(op).both(batch, names or {}, (output,))
    with mpmath.workdps(60):
        for g, m, *given in zip(
            golden[output].flat,
            magnitude[output].flat,
            *(a.flat for a in inputs.values()),
            strict=True,
        ):
            error = abs(mpmath.mpf(float(g)) - exact(*(mpmath.mpf(float(v)) for v in given)))
            yield float(error), float(m) * 2.0**-53


def assert_wrong_devices_do_not(
    op: str,
    devices: Mapping[str, Device],
    draw: Callable[[np.random.Generator, str], Arrays],
    names: Mapping[str, Any] | None = None,
    output: str = "gradInput",
) -> None:
    """Every device is beyond the bound somewhere, in FLOAT."""
    inputs = draw(np.random.default_rng(1), "FLOAT")
    golden, limit = expected(op, inputs, names or {}, output, "FLOAT")
    for name, device in devices.items():
        assert outside(golden, limit, device, inputs, "FLOAT").any(), name


def pair(
    at: str = "self", thresholds: tuple[float, ...] = ()
) -> Callable[[np.random.Generator, str], Arrays]:
    """Draws a gradient and an argument, which has all thresholds and their neighbours."""

    def draw(random: np.random.Generator, dtype: str) -> Arrays:
        x = arguments(random, dtype)
        near = [np.float32(t) for t in thresholds]
        near = [n for t in near for n in (t, *(np.nextafter(t, np.float32(s)) for s in (-9, 9)))]
        x[len(SPECIAL) : len(SPECIAL) + len(near)] = stored(np.array(near), dtype)
        return {"gradOutput": gradients(random, dtype), at: x}

    return draw


def assert_torch_agrees(
    op: str,
    torch_function: Callable[..., Any],
    names: Mapping[str, Any] | None = None,
    output: str = "gradInput",
    at: str = "self",
    thresholds: tuple[float, ...] = (),
    shapes: tuple[tuple[int, ...], tuple[int, ...]] = ((4, 50), (4, 50)),
) -> None:
    """1e-12 from torch in float64, of a gradient and an argument, on the thresholds too."""
    import torch

    random = np.random.default_rng(4)
    g, x = (random.standard_normal((2, *shape)) * 3 for shape in shapes)
    x.reshape(-1)[: len(thresholds)] = thresholds
    found = kernel(op).golden({"gradOutput": g, at: x}, names or {}, [output])[output]
    for case in range(2):
        both = torch.broadcast_tensors(*(torch.tensor(a[case]) for a in (g, x)))
        right = torch_function(*both).numpy()
        assert found[case].shape == right.shape
        assert np.abs(found[case] - right).max() <= 1e-12 * max(1.0, np.abs(right).max())
