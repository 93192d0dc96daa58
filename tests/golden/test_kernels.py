"""What all kernels have in common: they are found by name, and their bits depend on no BLAS."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from opgen.golden import kernel
from tests.blas import environments
from tests.golden import test_avg_pool2d_backward as pool
from tests.golden import test_avg_pool3d_backward as pool3d
from tests.golden import test_convolution_backward as conv
from tests.golden import test_group_norm_backward as norm
from tests.golden import test_reflection_pad2d_backward as reflection

OPERATORS = ["convolution_backward", "avg_pool2d_backward", "group_norm_backward", "reflection_pad2d_backward"]

DIGEST = """
import hashlib
import numpy as np
from tests.golden import test_avg_pool2d_backward as pool, test_convolution_backward as conv
from tests.golden import test_group_norm_backward as norm
random, digest = np.random.default_rng(0), hashlib.sha256()
for g in [*conv.geometries(0, 60, 6), *conv.larger()]:
    for array in conv.golden(g.tensors(random), g.names, conv.ALL).values():
        digest.update(array.tobytes())
for names in [*pool.geometries(0, 60), *pool.LARGE[:6]]:
    for scale in (5040.0, 1 / 3):
        dy = np.ascontiguousarray(random.standard_normal((2, 3, names["Hout"], names["Wout"])) * scale)
        digest.update(pool.run(names, dy).tobytes())
for names in norm.geometries(0, 60, 300):
    for array in norm.golden(norm.tensors(random, names), names, norm.ALL).values():
        digest.update(array.tobytes())
print(digest.hexdigest())
"""


@pytest.mark.parametrize("op", OPERATORS)
def test_kernels_are_found_by_the_name_of_their_spec(op: str) -> None:
    found = kernel(op)
    assert all(callable(getattr(found, name)) for name in ("golden", "magnitude", "depth"))


@pytest.mark.parametrize(
    ("op", "names"),
    [
        ("reflection_pad1d_backward", {"padLeft": 1, "padRight": 1}),
        ("reflection_pad2d_backward", dict.fromkeys(("padLeft", "padRight", "padTop", "padBottom"), 1)),
        ("avg_pool2d_backward", {}),
        ("avg_pool3d_backward", {}),
    ],
)
def test_an_output_that_nobody_wants_is_not_computed(op: str, names: dict[str, int]) -> None:
    tensors = {"gradOutput": np.ones((1, 2, 3, 4, 5)), "self": np.ones((1, 2, 3, 4, 5))}
    assert kernel(op).golden(tensors, names, ()) == {}


def test_an_unknown_kernel_is_refused() -> None:
    with pytest.raises(ModuleNotFoundError, match="max_pool3d_backward"):
        kernel("max_pool3d_backward")


def calls(op: str) -> Iterator[tuple[dict[str, np.ndarray | None], dict[str, int], tuple[str, ...]]]:
    """Tensors of three cases, names and outputs; data off the grid where the kernel adds in an order of its own."""
    random = np.random.default_rng(1)
    if op == "convolution_backward":
        for g in conv.geometries(1, 60, 6):
            yield g.tensors(random, 3), g.names, conv.ALL
            yield g.tensors(random, 3), g.names, ("gradBias",)
    elif op == "group_norm_backward":
        for names in norm.geometries(1, 60, 40):
            yield norm.tensors(random, names, 3, bool(random.integers(2))), names, norm.ALL
    elif op == "avg_pool2d_backward":
        for names in pool.geometries(1, 100):
            yield {"gradOutput": random.standard_normal((3, 2, names["Hout"], names["Wout"]))}, names, ("gradInput",)
    elif op == "avg_pool3d_backward":
        for names in pool3d.geometries(1, 40):
            yield {"gradOutput": random.standard_normal((3, 2, *[names[a + "out"] for a in "DHW"]))}, names, ("gradInput",)
    else:
        for names, h, w in reflection.geometries(1, 60):
            dy = reflection.values(random, (3, 2, *reflection.padded(names, h, w)), complex_=h % 2 == 0)
            yield {"gradOutput": dy}, names, ("gradInput",)


@pytest.mark.parametrize("op", [*OPERATORS, "avg_pool3d_backward"])
def test_one_call_gives_golden_and_magnitude_bit_for_bit(op: str) -> None:
    module, random = kernel(op), np.random.default_rng(2)
    for i, (tensors, names, wanted) in enumerate(calls(op)):
        if i % 5 == 0:
            gradient = next(array for name, array in tensors.items() if name.startswith("gradOut"))
            gradient[0].flat[random.integers(gradient[0].size)] = random.choice([np.inf, np.nan])
        found = module.both(tensors, names, wanted)
        with np.errstate(invalid="ignore"):
            apart = module.golden(tensors, names, wanted), module.magnitude(tensors, names, wanted)
        for one, other in zip(found, apart, strict=True):
            assert tuple(one) == tuple(other) == wanted
            assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in wanted), names


def test_bits_depend_on_no_blas_kernel_and_no_thread_count() -> None:
    """Convolutions of data on a grid; poolings and group norms of any data."""
    digests = set()
    for environment in environments():
        command = [sys.executable, "-c", DIGEST]
        run = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
        digests.add(run.stdout)
    assert len(digests) == 1
