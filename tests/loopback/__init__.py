"""Builds the loopback device with the system's compiler: three libraries named like the
vendor's.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIBRARIES = {
    "libascendcl.so": ["runtime.c"],
    "libnnopbase.so": ["base.c"],
    "libopapi.so": [
        "executor.c",
        "numbers.c",
        "avg_pool2d.c",
        "chain.c",
        "convolution.c",
        "group_norm.c",
        "held.c",
        "made_up.c",
        "reflection_pad2d.c",
    ],
}
SOCS = {
    "ascend910b": "Ascend910B3",
    "ascend910_93": "Ascend910_9391",
    "ascend310p": "Ascend310P3",
    "ascend910": "Ascend910A",
}


def compiler(*names: str) -> str:
    """A C compiler of the system; skips the test where there is none."""
    found = next(
        (path for path in map(shutil.which, names or ("cc", "gcc", "clang")) if path), None
    )
    if found is None:
        pytest.skip("no C compiler")
    return found


@cache
def libraries() -> Path:
    """The folder of the libraries, compiled once in a run of the tests."""
    compiler()
    folder = Path(tempfile.mkdtemp(prefix="opgen-loopback-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, sources in LIBRARIES.items():
        build(folder, name, sources)
    return folder


@cache
def runner() -> Path:
    """The runner for boards without Python, compiled once in a run of the tests."""
    compile_with = compiler("c++", "g++", "clang++")
    folder = Path(tempfile.mkdtemp(prefix="opgen-runner-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    source = HERE.parents[1] / "opgen" / "devices" / "runner.cpp"
    options = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"]
    made = str(folder / "runner")
    subprocess.run([compile_with, *options, str(source), "-o", made, "-ldl"], check=True)
    return folder / "runner"


def build(folder: Path, name: str, sources: list[str]) -> None:
    """Compile one library."""
    options = ["-std=c11", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
    files = [str(HERE / source) for source in sources]
    output = ["-D_GNU_SOURCE", "-o", str(folder / name)]
    subprocess.run([compiler(), *options, *output, *files, "-lm"], check=True)
