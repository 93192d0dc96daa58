"""Pages that were checked before are not enumerated again, and everything else is. What the same
code computed is not computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest
from click.testing import CliRunner

from opgen.cli import main
from opgen.lock import check_cache
from opgen.lock.lockfile import Lock, read_lock
from opgen.lock.refresh import refresh
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.suite.planning.plan import Plan, plan_for
from opgen.suite.suite import Suite

Page: TypeAlias = tuple[Spec, Plan]
OP = "silu_backward"


@pytest.fixture(scope="module")
def pages():
    names = OP, "tanh_backward"
    return [(spec, plan_for(spec.op)) for spec in catalog().specs if spec.op in names]


@pytest.fixture(scope="module")
def fresh(pages):
    return refresh(pages, "smoke", Lock())


def enumerated(pages: Sequence[Page], lock: Lock, **options) -> list[str]:
    """The operators that are enumerated, of a refresh that finds no change."""
    seen: list[str] = []

    def each(work: Callable[[Page], Suite], tasks: Sequence[Page]) -> list[Suite]:
        seen.extend(spec.op for spec, _ in tasks)
        return [work(task) for task in tasks]

    assert not refresh(pages, "smoke", lock, each=each, **options).changes
    return sorted(seen)


def test_what_was_checked_is_not_enumerated_and_stays(fresh, pages):
    again = refresh(pages, "smoke", fresh.lock, checked=fresh.marks, each=lambda work, tasks: [])
    assert (again.lock, again.changes, again.computed) == (fresh.lock, [], 0)
    assert again.cases == fresh.cases > 20 and again.marks == fresh.marks


def test_marks_stand_for_lines_sources_and_code(fresh, pages):
    both = sorted({spec.op for spec, _ in pages})
    assert enumerated(pages, fresh.lock) == both
    assert enumerated(pages, fresh.lock, checked=fresh.marks) == []
    assert enumerated(pages, fresh.lock, checked=fresh.marks, everything=True) == both
    page = next(iter(fresh.lock.entries))
    altered = Lock(fresh.lock.sources, fresh.lock.entries, {page: "another"})
    assert enumerated(pages, altered, checked=fresh.marks) == [page.partition(".")[0]]
    spec, plan = pages[0]
    new_spec, new_plan = replace(spec, digest="another"), replace(plan, digest="another")
    for first in (new_spec, plan), (spec, new_plan):
        changed = [first, *pages[1:]]
        assert enumerated(changed, fresh.lock, checked=fresh.marks) == [spec.op]


@pytest.mark.parametrize("field", ["key", "inputs", "goldens", "bounds", "expectation"])
def test_a_line_that_changed_has_another_mark(fresh, field):
    page, entries = next(iter(fresh.lock.entries.items()))
    case, entry = next((case, entry) for case, entry in entries.items() if entry.key != "-")
    other = replace(entry, **{field: "0123456789"})
    lock = Lock(fresh.lock.sources, {**fresh.lock.entries, page: {**entries, case: other}})
    assert len(replace(fresh, lock=lock).marks & fresh.marks) == len(fresh.marks) - 2


def test_code_is_all_source_by_name(tmp_path: Path):
    package = tmp_path / "package"
    (package / "room").mkdir(parents=True)
    module = package / "room" / "module.py"
    module.write_text("a = 1\n")
    seen = {check_cache.code(package)}
    for change in (
        lambda: module.write_text("a = 1  # one\n"),
        lambda: module.rename(package / "module.py"),
        (package / "other.py").touch,
    ):
        change()
        check_cache.code.cache_clear()
        seen.add(check_cache.code(package))
    check_cache.code.cache_clear()
    assert len(seen) == 4


def test_marks_are_kept_and_the_oldest_forgotten(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert check_cache.remembered() == ()
    check_cache.remember(["b", "a"])
    check_cache.remember(["c", "b"])
    assert check_cache.remembered() == ("a", "b", "c")
    check_cache.remember([f"{number:04}" for number in range(check_cache.MOST - 1)])
    assert check_cache.remembered()[:2] == ("c", "0000")
    (tmp_path / "cache" / "opgen" / "checked").write_bytes(b"\xff")
    assert check_cache.remembered() == ()


def test_where_nothing_can_be_kept_everything_is_checked(monkeypatch, tmp_path: Path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    check_cache.remember(["a"])
    assert check_cache.remembered() == ()


def test_the_command_remembers_what_it_checked_and_finds_what_changed_since(
    monkeypatch, fresh, tmp_path: Path
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "smoke.lock"
    fresh.lock.some({OP}).write(path)
    command = ["refresh", OP, "--lock", str(path), "--check"]
    entries = fresh.lock.entries[OP].values()
    assert not check_cache.remembered()
    for computed in sum(entry.key != "-" for entry in entries), 0:
        done = CliRunner().invoke(main, command)
        said = f"{len(entries)} cases, {computed} computed, 0 changes against {path}\n"
        assert (done.exit_code, done.stderr) == (0, said)
        assert check_cache.remembered() and fresh.marks.issuperset(check_cache.remembered())
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:3], *lines[4:]]), encoding="utf-8")
    assert read_lock(path).altered
    assert CliRunner().invoke(main, command).exit_code == 1
