"""The wheel: installed in an empty environment, it works from any folder. Slow: runs where
OPGEN_SLOW=1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("OPGEN_SLOW") != "1", reason="builds and installs a wheel; set OPGEN_SLOW=1"
    ),
]


def run(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", folder, ROOT, cwd=folder
    )
    (found,) = folder.glob("opgen-*.whl")
    return found


def test_the_wheel_holds_what_the_program_reads(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("specs", "cases"):
        files = {
            path.relative_to(ROOT)
            for path in (ROOT / folder).rglob("*")
            if path.suffix in (".yaml", ".lock")
        }
        assert {f"opgen/{path.as_posix()}" for path in files} <= names
    assert {"opgen/py.typed", "opgen/bundle/FORMAT.md"} <= names
    assert not any(
        name.startswith(("tests/", "specs/", "cases/")) or name.endswith((".pyc", ".h5"))
        for name in names
    )


def test_an_installed_opgen_works_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    bin_folder = tmp_path / "venv" / "bin"
    run(bin_folder / "pip", "install", "--quiet", wheel, cwd=tmp_path)
    assert "aclnnGroupNormBackward" in run(bin_folder / "opgen", "ops", cwd=tmp_path)
    run(bin_folder / "opgen", "generate", "reflection_pad2d_backward", "-o", "pad.h5", cwd=tmp_path)
    assert "aclnnReflectionPad2dBackward" in run(
        bin_folder / "opgen", "inspect", "pad.h5", cwd=tmp_path
    )
