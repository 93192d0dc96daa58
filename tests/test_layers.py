"""Imports point down only: read from the source, so that no path of execution is missed."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from opgen.suites import sources

ROOT = Path(__file__).resolve().parents[1] / "opgen"
FILES = sorted(ROOT.rglob("*.py"))

KNOWS = {
    "__main__": "cli",
    "cli": "report repro adequacy maintenance interop diff verdict devices mutants "
           "computation bundle suites judge page calls resources terminal model __init__",
    "pytest_plugin": "verdict devices model __init__",
    "report": "adequacy maintenance verdict bundle numbers judge textfile terminal model",
    "repro": "diff verdict devices computation bundle suites planning numbers judge page language calls model",
    "adequacy": "diff verdict mutants computation bundle golden suites enumeration "
                "covering planning numbers judge page language calls model __init__",
    "maintenance": "computation bundle suites planning numbers judge page calls yamlfile textfile resources model",
    "interop": "bundle page language calls yamlfile model",
    "diff": "verdict bundle calls model",
    "verdict": "bundle golden numbers judge page calls yamlfile model",
    "devices": "mutants bundle numbers page calls model __init__",
    "mutants": "bundle golden suites enumeration planning numbers judge page language calls yamlfile model",
    "computation": "bundle golden suites numbers calls model",
    "bundle": "numbers model __init__",
    "golden": "",
    "suites": "enumeration planning numbers judge page language calls yamlfile resources model",
    "enumeration": "covering planning judge page language calls model",
    "planning": "covering numbers page language calls yamlfile resources model",
    "covering": "numbers",
    "numbers": "",
    "judge": "page language calls yamlfile resources model",
    "page": "language calls yamlfile resources model",
    "language": "calls yamlfile",
    "calls": "yamlfile resources model",
    "yamlfile": "textfile model",
    "textfile": "model",
    "resources": "",
    "terminal": "",
    "model": "",
    "__init__": "",
}
"""From the top to the bottom: what each room at the top of opgen imports. It imports nothing that stands above it."""

MAKER = {"planning", "covering", "enumeration", "suites", "computation"}

STRANGERS = {
    "judge": MAKER,  # the oracle never generates
    "planning": {"judge"},  # the maker never labels by itself: its calls meet the judge in enumeration
    "diff": MAKER,  # a device is judged by what stands in the bundle, however that was made
    "computation": {"devices", "diff", "verdict"},  # what is expected does not depend on what was answered
}
"""Who must not know of whom, not even through others."""

SHARED = {"page", "language", "calls", "yamlfile", "textfile", "resources", "model"}
"""What judge and maker share: the page, and calls as a table."""

ONLY_IN = {
    "h5py": {"bundle"}, "click": {"cli"}, "rich": {"cli", "report", "terminal"}, "ctypes": {"devices"}, "torch": {"devices"},
    "yaml": {"yamlfile"}, "distributed": {"computation.cluster"}, "jinja2": {"report"}, "matplotlib": {"report"},
}  # fmt: skip

TOGETHER = {"bundle.batches", "bundle.case", "bundle.reader"}
"""The files that import each other in a circle, and that only for type checkers."""


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
            package = str(node.module)
            yield from ((f"{package}.{alias.name}" if _is_module(package, alias.name) else package, top) for alias in node.names)


def _later(node: ast.AST) -> bool:
    """A function, or a block for type checkers: what is imported in it costs nothing at first."""
    return isinstance(node, ast.FunctionDef) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))


def _is_module(package: str, name: str) -> bool:
    place = ROOT.parent.joinpath(*package.split("."), name)
    return place.is_dir() or place.with_suffix(".py").is_file()


def module(path: Path) -> str:
    """A file's name below opgen: ``bundle.reader``, ``bundle``, ``model``; opgen's own file is ``__init__``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def room(name: str) -> str:
    """The room at the top of opgen that a module of opgen is in; the package itself is ``__init__``."""
    return name.split(".")[1] if "." in name else "__init__"


@cache
def arrows() -> dict[str, set[str]]:
    """File -> the files of opgen that it imports, by their modules' names."""
    return {
        module(path): {name.partition(".")[2] or "__init__" for name, _ in imported(path) if name.split(".")[0] == "opgen"}
        for path in FILES
    }


@cache
def rooms() -> dict[str, set[str]]:
    """Room -> the rooms that it imports."""
    found: dict[str, set[str]] = {}
    for file, others in arrows().items():
        here = file.split(".")[0]
        found.setdefault(here, set()).update({other.split(".")[0] for other in others} - {here})
    return found


def reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    """Everything that is known at ``start``, directly or through others."""
    seen: set[str] = set()
    todo = [start]
    while todo:
        for other in graph.get(todo.pop(), set()) - seen:
            seen.add(other)
            todo.append(other)
    return seen


def test_every_room_has_its_place() -> None:
    assert set(KNOWS) == set(rooms())


@pytest.mark.parametrize("name", KNOWS)
def test_a_room_knows_what_the_table_says(name: str) -> None:
    assert rooms()[name] == set(KNOWS[name].split())


@pytest.mark.parametrize("name", KNOWS)
def test_arrows_point_down(name: str) -> None:
    order = list(KNOWS)
    assert set(KNOWS[name].split()) <= set(order[order.index(name) + 1 :])


def test_no_file_knows_of_itself_through_others() -> None:
    assert {name for name in arrows() if name in reached(name, arrows())} == TOGETHER


@pytest.mark.parametrize("name", STRANGERS)
def test_strangers(name: str) -> None:
    assert reached(name, rooms()) & STRANGERS[name] == set()


def test_judge_and_maker_share_the_page_and_the_table() -> None:
    assert reached("judge", rooms()) == SHARED == reached("planning", rooms()) - {"covering", "numbers"}


def test_a_lock_looks_at_everything_that_makes_cases() -> None:
    makes = {"computation", *reached("computation", rooms())}
    apart = {"golden", "bundle", "__init__"}  # the kernels have a digest of their own; a bundle holds what was made
    assert {name.removesuffix(".py") for name in (*sources.DATA, *sources.CASES)} == makes - apart


@pytest.mark.parametrize("package", ONLY_IN)
def test_packages_stay_in_their_rooms(package: str) -> None:
    users = {module(path) for path in FILES for name, _ in imported(path) if name.split(".")[0] == package}
    assert {user for user in users if not {user, user.split(".")[0]} & ONLY_IN[package]} == set()


def test_commands_import_nothing_heavy_at_their_top() -> None:
    light = {"click", *sys.stdlib_module_names} - {"asyncio", "concurrent", "multiprocessing", "subprocess"}
    for path in sorted((ROOT / "cli").glob("*.py")):
        tops = {name for name, top in imported(path) if top}
        heavy = {name for name in tops if name.split(".")[0] not in light and room(name) not in ("cli", "model", "resources", "terminal")}
        assert heavy == set(), f"{path.name} imports {', '.join(sorted(heavy))} at its top; do it inside the function"


def test_the_nouns_know_no_numbers() -> None:
    assert not {name for name, _ in imported(ROOT / "model.py")} & {"numpy", "h5py", "yaml", "click"}


def test_packages_say_what_they_are_for() -> None:
    packages = {path.parent.name: path for path in FILES if path.name == "__init__.py" and path.parent != ROOT}
    assert all(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in packages.values())
    manual = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)/` \|", manual, re.MULTILINE)) == sorted(packages), "CONTRIBUTING.md lists the packages"
