"""What all kernels have in common: they are found by name, and their bits depend on no BLAS."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from opgen.golden import kernel

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


def test_an_unknown_kernel_is_refused() -> None:
    with pytest.raises(ModuleNotFoundError, match="max_pool3d_backward"):
        kernel("max_pool3d_backward")


def test_bits_depend_on_no_blas_kernel_and_no_thread_count() -> None:
    """Convolutions of data on a grid; poolings and group norms of any data."""
    digests = set()
    for core, threads in (("NEHALEM", "1"), ("HASWELL", "1"), ("HASWELL", "2"), ("SANDYBRIDGE", "1")):
        environment = {**os.environ, "OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, "-c", DIGEST]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        digests.add(run.stdout)
    assert len(digests) == 1
