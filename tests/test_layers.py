"""Imports point down only: read from the source, so that no path of execution is missed."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "opgen"
FILES = sorted(ROOT.rglob("*.py"))

KNOWS = {
    "__main__": "cli",
    "cli": (
        "minimization report devices lint quality lock generation suite comparison learning oracle"
        " interop spec calls bundle files model __init__"
    ),
    "pytest_plugin": "comparison report model __init__",
    "minimization": "devices generation suite comparison oracle spec calls bundle numerics model",
    "report": "quality lock comparison learning oracle bundle numerics model",
    "devices": "quality spec calls bundle numerics model",
    "lint": "generation suite oracle spec calls files model",
    "quality": ("suite comparison oracle spec calls bundle golden numerics model"),
    "lock": "generation suite bundle files numerics model",
    "generation": "suite calls bundle golden numerics model",
    "suite": "oracle spec calls files numerics model",
    "comparison": "oracle spec calls bundle files golden numerics model",
    "learning": "oracle spec calls model",
    "oracle": "spec calls files model",
    "interop": "spec calls bundle files model",
    "spec": "calls files model",
    "bundle": "calls numerics model",
    "calls": "files model",
    "files": "model",
    "golden": "numerics",
    "numerics": "",
    "model": "",
    "__init__": "",
}
"""From the top to the bottom: what each room at the top of opgen imports. It imports nothing that
stands above it."""

INSIDE = {
    "suite": "enumeration planning covering",
    "spec": "drafting pages language",
    "quality": "mutants",
    "bundle": "results read write format",
}
"""Rooms with folders of their own: each folder imports none that stands before it, and nothing of
the room itself."""

MOST_ROOMS, MOST_ARROWS = 24, 112

STRANGERS = {
    "oracle": {"suite", "generation"},  # the oracle never generates
    "suite.planning": {
        "oracle"
    },  # the maker never labels by itself: its calls meet the oracle in the enumeration
    "suite.covering": {"oracle", "spec", "calls", "model"},  # covering arrays know no operator
    "comparison": {
        "suite",
        "generation",
    },  # a device is judged by what stands in the bundle, however that was made
    "generation": {
        "devices",
        "comparison",
    },  # what is expected does not depend on what was answered
}
"""Who must not know of whom, not even through others."""

SHARED = {"spec", "spec.language", "calls", "files", "model"}
"""What oracle and maker share: the spec, and calls as a table."""

ONLY_IN = {
    "h5py": {"bundle"},
    "click": {"cli"},
    "rich": {"cli", "report"},
    "ctypes": {"devices"},
    "torch": {"devices"},
    "yaml": {"files"},
    "distributed": {"generation.cluster"},
    "jinja2": {"report"},
}

LIGHT = {"opgen.files.resources", "opgen.report.terminal"}
"""What commands may import at their top, besides the nouns."""


@cache
def imported(path: Path) -> list[tuple[str, bool]]:
    """Full names of what a file imports, wherever in it; and whether at its top level, where
    importing it costs time.
    """
    return list(_imported(path))


def _imported(path: Path) -> Iterator[tuple[str, bool]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    later = {id(inner) for outer in ast.walk(tree) if _later(outer) for inner in ast.walk(outer)}
    for node in ast.walk(tree):
        top = id(node) not in later
        if isinstance(node, ast.Import):
            yield from ((alias.name, top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where an arrow points"
            package = str(node.module)
            yield from (
                (f"{package}.{alias.name}" if _is_module(package, alias.name) else package, top)
                for alias in node.names
            )


def _later(node: ast.AST) -> bool:
    """A function, or a block for type checkers: what is imported in it costs nothing at first."""
    return isinstance(node, ast.FunctionDef) or (
        isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    )


def _is_module(package: str, name: str) -> bool:
    place = ROOT.parent.joinpath(*package.split("."), name)
    return place.is_dir() or place.with_suffix(".py").is_file()


def module(path: Path) -> str:
    """A file's name below opgen: ``bundle.reader``, ``bundle``, ``model``; opgen's own file is
    ``__init__``.
    """
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def room(name: str) -> str:
    """The room at the top of opgen that a module of opgen is in; the package itself is
    ``__init__``.
    """
    return name.split(".")[1] if "." in name else "__init__"


@cache
def arrows() -> dict[str, set[str]]:
    """File -> the files of opgen that it imports, by their modules' names."""
    return {
        module(path): {
            name.partition(".")[2] or "__init__"
            for name, _ in imported(path)
            if name.split(".")[0] == "opgen"
        }
        for path in FILES
    }


def folder(name: str) -> str:
    """The folder of a file, inside its room: ``suite.planning`` for ``suite.planning.plan``; a file
    at the top is its own.
    """
    place = ROOT.joinpath(*name.split("."))
    return name if place.is_dir() or "." not in name else name.rpartition(".")[0]


def _joined(place: Callable[[str], str]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for file, others in arrows().items():
        graph.setdefault(place(file), set()).update(
            {place(other) for other in others} - {place(file)}
        )
    return graph


@cache
def rooms() -> dict[str, set[str]]:
    """Room -> the rooms that it imports."""
    return _joined(lambda name: name.split(".")[0])


@cache
def folders() -> dict[str, set[str]]:
    """The same of folders, of which some lie in a room."""
    return _joined(folder)


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
    assert {name for name in arrows() if name in reached(name, arrows())} == set()


def test_the_house_is_small() -> None:
    assert len(rooms()) <= MOST_ROOMS
    assert sum(map(len, rooms().values())) <= MOST_ARROWS


@pytest.mark.parametrize("name", INSIDE)
def test_folders_of_a_room_import_none_above_them(name: str) -> None:
    inner = [f"{name}.{one}" for one in INSIDE[name].split()]
    assert {one for one in folders() if one.startswith(f"{name}.")} == set(inner)
    for i, one in enumerate(inner):
        assert not folders()[one] & {name, *inner[:i]}


@pytest.mark.parametrize("name", STRANGERS)
def test_strangers(name: str) -> None:
    known = reached(name, folders())
    assert {one for one in known if {one, one.split(".")[0]} & STRANGERS[name]} == set()


def test_oracle_and_maker_share_the_spec_and_the_table() -> None:
    assert (
        reached("oracle", folders())
        == SHARED
        == reached("suite.planning", folders()) - {"suite.covering", "numerics"}
    )


@pytest.mark.parametrize("package", ONLY_IN)
def test_packages_stay_in_their_rooms(package: str) -> None:
    users = {
        module(path)
        for path in FILES
        for name, _ in imported(path)
        if name.split(".")[0] == package
    }
    assert {user for user in users if not {user, user.split(".")[0]} & ONLY_IN[package]} == set()


def test_commands_import_nothing_heavy_at_their_top() -> None:
    light = {"click", *sys.stdlib_module_names} - {
        "asyncio",
        "concurrent",
        "multiprocessing",
        "subprocess",
    }
    for path in sorted((ROOT / "cli").glob("*.py")):
        tops = {name for name, top in imported(path) if top}
        heavy = {
            name
            for name in tops
            if name.split(".")[0] not in light
            and name not in LIGHT
            and room(name) not in ("cli", "model")
        }
        assert heavy == set(), (
            f"{path.name} imports {', '.join(sorted(heavy))} at its top; do it inside the function"
        )


def test_the_nouns_know_no_numbers() -> None:
    nouns = [path for path in FILES if path.is_relative_to(ROOT / "model")]
    assert len(nouns) > 4
    assert not {name for path in nouns for name, _ in imported(path)} & {
        "numpy",
        "h5py",
        "yaml",
        "click",
    }


def test_packages_say_what_they_are_for() -> None:
    packages = {
        path.parent: path for path in FILES if path.name == "__init__.py" and path.parent != ROOT
    }
    assert all(
        ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in packages.values()
    )
    manual = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)/` \|", manual, re.MULTILINE)) == sorted(
        one.name for one in packages if one.parent == ROOT
    ), "CONTRIBUTING.md lists the packages"
