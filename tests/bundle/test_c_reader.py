"""A bundle is what its format says: a reader in C, and the one in the manual, find the numbers that
opgen finds.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.generation import engine
from opgen.spec.catalog import catalog
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.plan import plan_for

HERE = Path(__file__).parent
MANUAL = HERE.parents[1] / "opgen" / "bundle" / "FORMAT.md"
pytestmark = pytest.mark.skipif(
    shutil.which("h5cc") is None, reason="no h5cc; Debian has it in libhdf5-dev"
)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("c") / "suite.h5"
    pages = [
        (spec, plan_for(spec.op))
        for spec in catalog().specs
        if spec.op in ("reflection_pad2d_backward", "group_norm_backward")
    ]
    engine.write(plan_suite(pages, "smoke"), path, {"seed": 0}, seed=0)
    return path


def compiled(source: Path, folder: Path) -> Path:
    program = folder / source.stem
    subprocess.run(
        ["h5cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(source)],
        check=True,
        cwd=folder,
    )
    return program


def expected(path: Path) -> dict[tuple[str, str, str], tuple[int, float, float]]:
    """(case, tensor, role) -> elements, first value, sum in the order of storage."""
    found = {}
    with opgen.open(path) as opened:
        for case in opened:
            for role, tensors in (
                ("input", case.storage),
                ("golden", case.golden),
                ("bound", case.bound),
            ):
                for name in tensors:
                    values = np.ascontiguousarray(tensors[name]).reshape(-1)
                    parts = (
                        values.astype(np.complex128).view(np.float64)
                        if np.iscomplexobj(values)
                        else values.astype(np.float64)
                    )
                    total = 0.0
                    for value in parts.tolist():
                        total += value
                    found[case.id, name, role] = (
                        values.size,
                        float(parts[0]) if parts.size else 0.0,
                        total,
                    )
    return found


def test_every_tensor_reads_the_same_in_c(bundle, tmp_path):
    program = compiled(HERE / "reader.c", tmp_path)
    lines = subprocess.run(
        [str(program), str(bundle)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    read = sorted(
        (int(n), repr(float(first)), repr(float(total)))
        for _, _, n, first, total in (line.split() for line in lines)
    )
    wanted = sorted((n, repr(first), repr(total)) for n, first, total in expected(bundle).values())
    assert len(read) == len(wanted) > 100
    assert read == wanted
    assert {line.split()[1] for line in lines} >= {
        "BFLOAT16",
        "FLOAT16",
        "FLOAT",
        "DOUBLE",
        "COMPLEX64",
        "COMPLEX128",
    }


def test_another_number_is_seen(bundle, tmp_path):
    program = compiled(HERE / "reader.c", tmp_path)
    content = bytearray(bundle.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4096] = bytes(b ^ 0x55 for b in content[middle : middle + 4096])
    (tmp_path / "changed.h5").write_bytes(content)
    one, other = (
        subprocess.run([str(program), str(p)], capture_output=True, text=True).stdout
        for p in (bundle, tmp_path / "changed.h5")
    )
    assert one != other


def test_the_reader_of_the_manual_compiles_and_finds_every_tensor(bundle, tmp_path):
    block = re.search(r"```c\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    (tmp_path / "manual.c").write_text(block[1])
    subprocess.run(
        ["h5cc", "-std=gnu11", "-o", str(tmp_path / "manual"), "manual.c"], check=True, cwd=tmp_path
    )
    shown = subprocess.run(
        [str(tmp_path / "manual"), str(bundle)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    sizes = sorted(int(line.split()[1]) for line in shown)
    assert sizes == sorted(n for n, _, _ in expected(bundle).values() if n)


def test_a_missing_file_is_said(tmp_path):
    program = compiled(HERE / "reader.c", tmp_path)
    assert subprocess.run([str(program), "nothing.h5"], capture_output=True).returncode == 1
