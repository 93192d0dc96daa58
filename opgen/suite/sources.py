"""What cases and their data are made from, as digests: specs, plans, errata, and the programs that
compute.

Locks compare them to know what must be computed again; headers of bundles hold them, so that parts
of a suite are joined, and an unfinished file is gone on with, only where both were made from the
same.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from opgen.files.resources import specs_folder
from opgen.oracle.erratafile import errata
from opgen.spec.spec import Spec

DIGEST = 10
"""Hexadecimal digits of a digest."""
DATA = ("numerics", "generation", "model.py")
"""Where inputs, goldens and bounds are made of cases."""
CASES = ("suite", "oracle", "spec", "calls", "files")
"""Where it is decided which cases there are and what is expected of them."""

_PACKAGE = Path(__file__).parents[1]


def of_spec(spec: Spec) -> str:
    """A digest of a page's spec and of the tables that specs share."""
    return of_files([specs_folder() / Path(spec.file).name, specs_folder() / "tables.yaml"])


def of_errata(spec: Spec) -> str:
    """A digest of the errata of an operator, whatever their file is called; of nothing where it has
    none.
    """
    known = errata().get(spec.api)
    return of_files(
        [specs_folder() / "errata" / Path(known.file).name] if known is not None else []
    )


@cache
def of_kernel(op: str) -> str:
    """A digest of the source of an operator's golden kernel and of all that it imports of the
    package of kernels.
    """
    return of_files(sorted(_imported(_PACKAGE / "golden", op)))


@cache
def of_data() -> str:
    """A digest of the source of everything that fills inputs and bounds goldens."""
    return of_files(_programs(DATA))


@cache
def of_cases() -> str:
    """A digest of the source that decides which cases there are and what is expected of them."""
    return of_files(_programs(CASES))


def of_files(paths: Iterable[Path]) -> str:
    """A digest of the names and bytes of files, in their order."""
    digest = hashlib.blake2b()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:DIGEST]


def _programs(names: Iterable[str]) -> list[Path]:
    """The source files of some packages and modules of opgen, in a fixed order."""
    places = [_PACKAGE / name for name in sorted(names)]
    return [
        path
        for place in places
        for path in ([place] if place.is_file() else sorted(place.rglob("*.py")))
    ]


def _imported(folder: Path, module: str) -> set[Path]:
    """The files of a module in the package of kernels, and of all modules there that it imports,
    and so on.
    """
    found: set[Path] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        place = folder.joinpath(*name.split(".")) if name else folder
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path not in found and path.is_file():
                found.add(path)
                todo += _imports(path.read_text(encoding="utf-8"))
    return found


def _imports(source: str) -> Iterator[str]:
    """What a file of the package of kernels may import of it: names below ``opgen.golden``, which
    need not be modules.
    """
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:  # which is said where the kernel is needed
        return
    for node in nodes:
        names = (
            [one.name for one in node.names]
            if isinstance(node, (ast.Import, ast.ImportFrom))
            else []
        )
        module = f"{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
        relative = isinstance(node, ast.ImportFrom) and node.level
        for name in names:
            whole = f"opgen.golden.{module}{name}" if relative else f"{module}{name}"
            parts = whole.split(".")
            if parts[:2] == ["opgen", "golden"]:
                yield from (".".join(parts[2:end]) for end in range(2, len(parts) + 1))
