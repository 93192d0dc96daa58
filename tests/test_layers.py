"""Imports point down only: read from the source, so that no path of execution is missed."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "opgen"
FILES = sorted(ROOT.rglob("*.py"))

ORDER = (
    "cli", "report", "diff", "devices", "refresh", "engine", "suite", "enumerator", "choices", "plan", "recipes", "numerics", "bundle",
    "golden", "covering", "library", "oracle", "binding", "spec", "rules", "terms", "words", "yamlfile", "model",
)  # fmt: skip
"""From the top to the bottom. No room knows of one above it, directly or through others."""

APART = {
    "golden": set(),
    "covering": set(),
    "numerics": set(),
    "bundle": {"model", "__init__"},
    "model": set(),
}
"""Rooms that know of nothing else in opgen but these."""

JUDGE = ("oracle", "library", "judging")
MAKER = {"choices", "draft", "breaker", "plan", "covering", "enumerator", "suite", "engine"}

ONLY_IN = {
    "h5py": {"bundle"}, "click": {"cli"}, "rich": {"cli", "report"}, "ctypes": {"devices"}, "torch": {"devices"}, "yaml": {"yamlfile"},
    "distributed": {"cluster"}, "jinja2": {"report"}, "matplotlib": {"report"},
}  # fmt: skip


def imported(path: Path) -> Iterator[tuple[str, bool]]:
    """Full names of what a file imports, wherever in it; and whether at its top level, where importing it costs time."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    later = {id(inner) for outer in ast.walk(tree) if _later(outer) for inner in ast.walk(outer)}
    for node in ast.walk(tree):
        top = id(node) not in later
        if isinstance(node, ast.Import):
            yield from ((alias.name, top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where an arrow points"
            names = [f"opgen.{alias.name}" for alias in node.names] if node.module == "opgen" else [str(node.module)]
            yield from ((name, top) for name in names)


def _later(node: ast.AST) -> bool:
    """A function, or a block for type checkers: what is imported in it costs nothing at first."""
    return isinstance(node, ast.FunctionDef) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))


def room(name: str) -> str:
    """The room of a module of opgen: its first part below opgen; the package itself is ``__init__``."""
    part = name.split(".")[1] if "." in name else "__init__"
    return part if (ROOT / part).is_dir() or (ROOT / f"{part}.py").is_file() else "__init__"


@cache
def arrows() -> dict[str, set[str]]:
    """Room -> the rooms that it imports."""
    found: dict[str, set[str]] = {}
    for path in FILES:
        here = path.relative_to(ROOT).parts[0].removesuffix(".py")
        to = found.setdefault(here, set())
        to |= {room(name) for name, _ in imported(path) if name.split(".")[0] == "opgen"} - {here}
    return found


def reached(start: str) -> set[str]:
    """Everything that a room knows of, directly or through others."""
    seen: set[str] = set()
    todo = [start]
    while todo:
        for other in arrows().get(todo.pop(), set()) - seen:
            seen.add(other)
            todo.append(other)
    return seen


def test_no_room_knows_of_itself_through_others() -> None:
    assert [name for name in arrows() if name in reached(name)] == []


@pytest.mark.parametrize("name", ORDER)
def test_arrows_point_down(name: str) -> None:
    above = set(ORDER[: ORDER.index(name)])
    assert reached(name) & above == set()


@pytest.mark.parametrize("name", APART)
def test_rooms_that_stand_apart(name: str) -> None:
    assert arrows()[name] <= APART[name]


@pytest.mark.parametrize("name", JUDGE)
def test_the_judge_does_not_know_the_maker(name: str) -> None:
    assert reached(name) & MAKER == set()


@pytest.mark.parametrize("package", ONLY_IN)
def test_packages_stay_in_their_rooms(package: str) -> None:
    users = {path for path in FILES for name, _ in imported(path) if name.split(".")[0] == package}
    assert {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in users} <= ONLY_IN[package]


def test_commands_import_nothing_heavy_at_their_top() -> None:
    light = {"click", *sys.stdlib_module_names} - {"asyncio", "concurrent", "multiprocessing", "subprocess"}
    for path in sorted((ROOT / "cli").glob("*.py")):
        tops = {name for name, top in imported(path) if top}
        heavy = {name for name in tops if name.split(".")[0] not in light and room(name) not in ("cli", "model", "resources")}
        assert heavy == set(), f"{path.name} imports {', '.join(sorted(heavy))} at its top; do it inside the function"


def test_the_nouns_know_no_numbers() -> None:
    assert not {name for name, _ in imported(ROOT / "model.py")} & {"numpy", "h5py", "yaml", "click"}
