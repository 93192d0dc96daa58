"""``python tests/support/oldest.py`` prints the oldest versions that pyproject.toml allows, as
constraints for pip. The README's commands name the version of torch, and linters are taken as they
come.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
ANY_VERSION = ("torch", "dev")
"""Extras whose packages are taken as they come."""


def oldest(project: Path = PROJECT) -> Iterator[str]:
    """Constraints, a line each.

    >>> "numpy==2.0" in set(oldest())
    True
    """
    said = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    extras = [of for name, of in said["optional-dependencies"].items() if name not in ANY_VERSION]
    for requirement in chain(said["dependencies"], *extras):
        if not requirement.startswith("opgen["):
            name, version = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement).groups()
            yield f"{name}=={version}"


if __name__ == "__main__":
    print("\n".join(oldest()))
