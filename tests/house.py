"""How large and how plain the house is: ``python -m tests.house`` prints figures and limits.

It exits 1 where a figure is beyond its limit. Everything is read from the source, as text.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests import test_layers as layers

TESTS = Path(__file__).parent
PUBLIC = {"capture", "diff", "generate", "judge", "minimize", "open", "run"}
"""What a user calls as ``opgen.NAME``: a module of that name would stand in its place. The files of
commands are called as their commands, and nobody imports them."""
VAGUE = ("found", "one", "at")
"""Names of locals and arguments that do not say what they hold."""


GOAL = 14_000
"""Statements that would do, without the kernels, of which each operator has one. What is above it
is mostly one check and one message for each fault of a file that somebody else wrote, one formula
for each mutant, and forms of kernels that are faster."""


class Figure(NamedTuple):
    """A measured number, the largest that it may be, and what it should become."""

    name: str
    value: int
    limit: int
    goal: int | None = None


def trees() -> dict[str, ast.Module]:
    """Module -> its syntax tree."""
    return {
        layers.module(path): ast.parse(path.read_text(encoding="utf-8")) for path in layers.FILES
    }


def statements(tree: ast.Module) -> int:
    """Statements of a module, without docstrings and imports."""
    return sum(
        isinstance(node, ast.stmt)
        and not isinstance(node, ast.Import | ast.ImportFrom)
        and not (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        for node in ast.walk(tree)
    )


def classes_in_several(modules: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Class names that several modules define, and those modules."""
    where: dict[str, list[str]] = defaultdict(list)
    for name, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and name not in where[node.name]:
                where[node.name].append(name)
    return {name: places for name, places in sorted(where.items()) if len(places) > 1}


def names(modules: dict[str, ast.Module]) -> Counter[str]:
    """How often each name of a variable or an argument occurs."""
    count: Counter[str] = Counter()
    for tree in modules.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                count[node.id] += 1
            elif isinstance(node, ast.arg):
                count[node.arg] += 1
    return count


def lines(paths: Iterator[Path], pattern: str) -> int:
    """Lines of some files in which a pattern occurs."""
    texts = (path.read_text(encoding="utf-8") for path in paths)
    return sum(bool(re.search(pattern, line)) for text in texts for line in text.splitlines())


def figures() -> list[Figure]:
    """Everything that is measured, in the order in which it is printed."""
    modules = trees()
    order = list(layers.KNOWS)
    rooms = layers.rooms()
    upward = sum(
        other not in order[order.index(room) + 1 :] for room in rooms for other in rooms[room]
    )
    circles = sum(name in layers.reached(name, layers.arrows()) for name in layers.arrows())
    taken = [
        name for name in modules if name.split(".")[-1] in PUBLIC and name.split(".")[0] != "cli"
    ]
    long = [len(path.read_text(encoding="utf-8").splitlines()) for path in layers.FILES]
    count, sizes = names(modules), {name: statements(tree) for name, tree in modules.items()}
    kernels = [size for name, size in sizes.items() if re.match(r"golden\.[a-z]", name)]
    return [
        Figure("rooms", len(rooms), layers.MOST_ROOMS),
        Figure("arrows between rooms", sum(map(len, rooms.values())), layers.MOST_ARROWS),
        Figure("arrows that point up", upward, 0),
        Figure("files in a circle of imports", circles, 0),
        Figure("modules named like a public function", len(taken), 0),
        Figure("modules of more than 250 lines", sum(size > 250 for size in long), 0),
        Figure("files at the top of tests/", len(list(TESTS.glob("*.py"))), 15),
        Figure("class names in several modules", len(classes_in_several(modules)), 3),
        *(Figure(f"variables called '{name}'", count[name], 149) for name in VAGUE),
        Figure("statements outside of kernels", sum(sizes.values()) - sum(kernels), 27_117, GOAL),
        Figure("statements of a kernel, in the median", int(median(kernels)), 40),
        Figure(
            "patches by setattr in tests",
            lines(TESTS.rglob("*.py"), r"\b\w*patch\w*\.(setattr|object)\b"),
            29,
        ),
        Figure("lines with Any", lines(iter(layers.FILES), r"\bAny\b"), 300),
    ]


def main() -> int:
    measured = figures()
    for name, value, limit, goal in measured:
        remark = "  NO" if value > limit else "" if goal is None else f"  goal {goal:,}"
        print(f"{name:<38}{value:>8,}  at most {limit:>7,}{remark}")
    return int(any(figure.value > figure.limit for figure in measured))


if __name__ == "__main__":
    sys.exit(main())
