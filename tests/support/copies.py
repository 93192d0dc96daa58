"""Copies of opgen to change: a checkout, and what an installation makes of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support import unmeasured

ROOT = Path(__file__).resolve().parents[2]


def checkout(folder: Path) -> Path:
    """A copy of the package, of the specs and of the cases, side by side."""
    for name in ("opgen", "specs", "cases"):
        _copy(name, folder)
    return folder


def installation(folder: Path) -> Path:
    """A copy of the package that has the specs and the cases inside."""
    _copy("opgen", folder)
    for name in ("specs", "cases"):
        _copy(name, folder / "opgen")
    return folder


def opgen(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What the command of a copy says."""
    return python(copy, "-m", "opgen", *arguments)


def python(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What Python says that imports a copy."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env={**unmeasured.ENVIRONMENT, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _copy(name: str, folder: Path) -> None:
    """With what was compiled, but for pytest or just now by another process."""
    others = shutil.ignore_patterns("*-pytest-*", "*.pyc.*")
    shutil.copytree(ROOT / name, folder / name, ignore=others)
