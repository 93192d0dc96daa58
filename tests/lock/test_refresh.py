"""Locks: written, read, held against; drift is found, named and explained."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from opgen.cli import main
from opgen.files.resources import cases_folder, specs_folder
from opgen.generation import engine
from opgen.lock import refresh
from opgen.lock.computed import apart, sums_of
from opgen.lock.entries import keys_of
from opgen.lock.lockfile import Lock, LockEntry, read_lock
from opgen.lock.refresh import Change
from opgen.model import FileError
from opgen.numerics.arrays import reals
from opgen.report.refresh import MOST, as_data, as_markdown, detail, facts
from opgen.spec.catalog import catalog
from opgen.suite.batch import Batch
from opgen.suite.identity import spec_digest
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.plan import plan_for
from tests.support import copies


@pytest.fixture(scope="module")
def pages():
    return [
        (spec, plan_for(spec.op))
        for spec in catalog().specs
        if spec.op == "reflection_pad2d_backward"
    ]


@pytest.fixture(scope="module")
def fresh(pages):
    return refresh.refresh(pages, "smoke", Lock())


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return copies.installation(tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="module")
def without_kernel(tmp_path_factory):
    """A checkout that can compute nothing."""
    copy = copies.checkout(tmp_path_factory.mktemp("without"))
    (copy / "opgen" / "golden" / "reflection_pad2d_backward.py").unlink()
    told = refreshed(copy, "--lock", str(copy / "none.lock")).stderr
    assert "opgen/golden/reflection_pad2d_backward.py: is missing" in told
    return copy


def refreshed(copy: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return copies.opgen(copy, "refresh", "reflection_pad2d_backward", *args)


def changed(lock: Lock, page: str, one: str, **values: str) -> Lock:
    entries = dict(lock.entries[page])
    entries[one] = replace(entries[one], **values)
    return Lock(dict(lock.sources), {**lock.entries, page: entries})


def a_case_with_data(lock: Lock) -> tuple[str, str]:
    page = next(iter(lock.entries))
    return page, next(one for one, entry in lock.entries[page].items() if entry.key != "-")


def test_a_first_refresh_adds_every_case(fresh):
    assert {(change.what, change.why) for change in fresh.changes} == {("added", ("page",))}
    assert len(fresh.changes) == fresh.cases == sum(map(len, fresh.lock.entries.values()))
    assert fresh.computed > 10


def test_nothing_to_do_computes_nothing(fresh, pages):
    again = refresh.refresh(pages, "smoke", fresh.lock, checked=fresh.marks)
    assert (again.changes, again.computed, again.cases) == ([], 0, fresh.cases)


@pytest.mark.parametrize("by", ["this code", "another code"])
def test_lines_are_trusted_that_this_code_computed(fresh, pages, by):
    """By their keys, where a plan has changed; what another code computed is computed again."""
    other = [(spec, replace(plan, digest="0" * 64)) for spec, plan in pages]
    known = fresh.marks if by == "this code" else {mark[::-1] for mark in fresh.marks}
    again = refresh.refresh(other, "smoke", fresh.lock, checked=known)
    assert again.changes == []
    assert again.computed == (0 if by == "this code" else fresh.computed)


@pytest.mark.parametrize("known", [True, False])
def test_the_lock_of_one_tier_is_held_against_another(fresh, pages, known):
    """By a lock that says which tier it holds, and by an older one that does not."""
    sources = {
        page: {what: one for what, one in of.items() if known or what != "tier"}
        for page, of in fresh.lock.sources.items()
    }
    old = Lock(sources, fresh.lock.entries)
    found = refresh.refresh(pages, "standard", old)
    assert found.cases > fresh.cases and {
        change.why for change in found.changes if change.what == "added"
    } == {("tier",)}
    assert found.lock.entries == refresh.refresh(pages, "standard", Lock()).lock.entries
    same = refresh.refresh(pages, "smoke", old, checked=fresh.marks)
    assert (same.changes, same.computed, same.lock) == ([], 0, fresh.lock)


@pytest.mark.parametrize("damage", ["a case lost", "all cases lost", "an expectation", "a golden"])
def test_a_lock_that_somebody_altered_is_held_against_everything(fresh, pages, tmp_path, damage):
    """As a merge may leave it: what is the same by its keys is computed all the same, and the lock
    is whole afterwards.
    """
    path = tmp_path / "x.lock"
    fresh.lock.write(path)
    page, one = a_case_with_data(fresh.lock)
    entry = fresh.lock.entries[page][one]
    lines = path.read_text(encoding="utf-8").splitlines()
    other = (
        replace(entry, expectation="stated:0:")
        if damage == "an expectation"
        else replace(entry, goldens="0" * 10)
    )
    kept = [
        line
        for line in lines
        if (
            line.startswith(("page", "opgen")) if damage == "all cases lost" else line != entry.line
        )
    ]
    path.write_text(
        "\n".join(
            kept
            if damage.endswith("lost")
            else [other.line if line == entry.line else line for line in lines]
        )
        + "\n"
    )
    old = read_lock(path)
    assert page in old.altered
    again = refresh.refresh(pages, "smoke", old)
    assert {(change.case, change.why) for change in again.changes} >= {(one, ("lock",))}
    assert damage == "all cases lost" or {change.case for change in again.changes} == {one}
    again.lock.write(path)
    assert read_lock(path).entries == fresh.lock.entries and not read_lock(path).altered


def test_what_is_altered_is_seen_where_some_operators_are_asked_for_and_stays_known(
    fresh, tmp_path
):
    page, one = a_case_with_data(fresh.lock)
    path = tmp_path / "x.lock"
    fresh.lock.write(path)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(one)), encoding="utf-8")
    told = run("--lock", str(path), "--check")
    assert told.exit_code == 1 and one in told.stdout
    assert (
        CliRunner().invoke(main, ["refresh", "group_norm_backward", "--lock", str(path)]).exit_code
        == 0
    )
    assert (
        set(read_lock(path).altered) == {page} and "group_norm_backward" in read_lock(path).sources
    )
    assert run("--lock", str(path)).exit_code == 0
    assert read_lock(path).entries[page] == fresh.lock.entries[page] and not read_lock(path).altered


def test_what_another_refresh_writes_meanwhile_of_another_operator_is_kept(
    fresh, tmp_path, monkeypatch
):
    path, theirs = tmp_path / "x.lock", fresh.lock.some({"reflection_pad2d_backward"})

    def slow(*given, **more):
        theirs.write(path)
        return plan_suite(*given, **more)

    monkeypatch.setattr(refresh, "plan_suite", slow)
    assert (
        CliRunner()
        .invoke(main, ["refresh", "reflection_pad1d_backward", "--lock", str(path)])
        .exit_code
        == 0
    )
    both = read_lock(path)
    assert set(both.sources) == {"reflection_pad1d_backward", "reflection_pad2d_backward"}
    assert both.some(theirs.sources) == theirs


def test_a_lock_survives_its_file(fresh, tmp_path):
    path = tmp_path / "x.lock"
    fresh.lock.write(path)
    found = read_lock(path)
    assert (found.sources, found.entries) == (fresh.lock.sources, fresh.lock.entries)
    assert not path.with_name("x.lock.partial").exists()


@pytest.mark.parametrize("one", [one.name for one in fields(Batch)])
def test_a_key_covers_all_that_data_are_computed_from(pages, one):
    """Every field of a batch but where it stands, so that one added later cannot be forgotten."""
    batch = plan_suite(pages, "smoke").batches[0]
    keys = keys_of(batch, 0)
    assert len(set(keys)) == len(batch.ids) and keys != keys_of(batch, 1)
    changed = {
        "op": "group_norm_backward",
        "rows": batch.rows + 1,
        "ids": ("other", *batch.ids[1:]),
        "elements": batch.elements + 1,
        "tensors": dict([*batch.tensors.items()][1:]),
        "inputs": batch.inputs[1:],
        "names": {**batch.names, "padLeft": 99},
        "wanted": (),
        "exact": batch.exact ^ {"gradInput"},
        "compute": "HFLOAT32",
        "optional": not batch.optional,
        "recipe": "zeros",
        "roles": {**batch.roles, "self": "scale"},
        "gradient": "self",
        "factors": batch.factors + 1,
        "given": {"self": np.zeros(3)},
        "turned": {"gradInput": (0, 2, 3, 1)},
    }[one]
    assert (keys_of(replace(batch, **{one: changed}), 0)[0] == keys[0]) == (one == "rows")


@pytest.mark.parametrize("drawn", [{"roles": {"self": "scale"}}, {"factors": 9}])
def test_a_plan_that_draws_other_data_is_computed_again(drawn):
    """Roles and factors, which stand in no call."""
    (spec,), plan = catalog().of("aclnnSiluBackward"), plan_for("silu_backward")
    first = refresh.refresh([(spec, plan)], "smoke", Lock())
    other = [(spec, replace(plan, digest="0" * 64, **drawn))]
    found = refresh.refresh(other, "smoke", first.lock, checked=first.marks)
    assert found.computed and {"data", "golden"} <= {change.what for change in found.changes}
    assert found.lock.entries == refresh.refresh(other, "smoke", Lock()).lock.entries


@pytest.mark.parametrize(
    ("field", "what"), [("inputs", "data"), ("goldens", "golden"), ("bounds", "bound")]
)
def test_a_drifted_digest_is_found_although_its_key_says_that_nothing_changed(
    fresh, pages, field, what
):
    page, one = a_case_with_data(fresh.lock)
    old = changed(fresh.lock, page, one, **{field: "0123456789"})
    found = refresh.refresh(pages, "smoke", old, checked=fresh.marks)
    assert [(c.case, c.what, c.why) for c in found.changes] == [(one, what, ("code",))]
    (told,) = facts(found)
    assert told.startswith(f"{page}: 1 case changed, and no version did: ")
    assert list(facts(replace(found, changes=[replace(found.changes[0], why=("kernel",))]))) == []
    (of_page,) = [entries for name, entries in fresh.lock.entries.items() if name == page]
    assert found.computed == sum(entry.key != "-" for entry in of_page.values())


def test_a_changed_expectation_says_from_what_to_what(fresh, pages):
    page, one = a_case_with_data(fresh.lock)
    found = refresh.refresh(
        pages, "smoke", changed(fresh.lock, page, one, expectation="stated:161002:pad")
    )
    assert [(c.case, c.what, c.before) for c in found.changes] == [
        (one, "expectation", "stated:161002:pad")
    ]
    assert found.changes[0].after.startswith("valid:0:")


def test_removed_and_added_cases_are_named(fresh, pages):
    page, one = a_case_with_data(fresh.lock)
    old = changed(fresh.lock, page, one)
    old.entries[page]["was-here"] = LockEntry("was-here", "-", "-", "-", "-", "valid:0:")
    del old.entries[page][one]
    found = refresh.refresh(pages, "smoke", old)
    assert [(c.case, c.what) for c in found.changes] == [("was-here", "removed"), (one, "added")]
    assert "was-here" in as_markdown(found)
    assert as_data(found)["changes"][0]["what"] == "removed"


@pytest.mark.parametrize("steps", [1, 3])
def test_a_changed_golden_is_measured(fresh, pages, steps):
    """By the old lock alone, about: one element is off by some units in the last place, in the
    real part where there are two.
    """
    off = {}

    def some_ulp_off(batch, seed):
        arrays = engine.compute(batch, seed)
        moved = arrays["gradInput", "golden"].copy()
        part = reals(moved.reshape(len(moved), -1))
        part[:, :1] += steps * np.spacing(np.maximum(np.abs(part[:, :1]), part.dtype.type(1)))
        for case, *pair in zip(batch.ids, arrays["gradInput", "golden"], moved, strict=True):
            old, new = (reals(array.reshape(-1)).astype(np.float64) for array in pair)
            old, new = (np.where(np.isfinite(old), array, 0.0) for array in (old, new))
            off[case] = np.abs(new - old).sum() / (max(abs(old).sum(), abs(new).sum()) or 1)
        return {**arrays, ("gradInput", "golden"): moved}

    found = refresh.refresh(pages, "smoke", fresh.lock, everything=True, compute=some_ulp_off)
    assert {c.what for c in found.changes} == {"golden"} and len(found.changes) > 10
    for change in found.changes:
        assert change.apart == pytest.approx(off[change.case], rel=0.01)
    assert 0 < np.median([*off.values()]) < 1e-6


def test_sums_are_correctly_rounded_and_their_signs_depend_on_places_alone():
    random = np.random.default_rng(0)
    values = random.standard_normal(999) * 2.0 ** random.integers(-60, 60, 999)
    size, *signed = map(float, sums_of({"x": values}).split(":")[1:])
    assert size == float(sum(map(Fraction, np.abs(values).tolist())))
    signs = []
    for place in range(999):
        alone = np.zeros((27, 37))
        alone.flat[place] = 1.0
        signs.append([float(one) for one in sums_of({"x": alone}).split(":")[2:]])
    exact = [Fraction(value) for value in values.tolist()]
    for total, of in zip(signed, np.transpose(signs), strict=True):
        assert total == float(sum(x * int(s) for x, s in zip(exact, of, strict=True)))
    assert {tuple(of) for of in signs} == {(a, b) for a in (1.0, -1.0) for b in (1.0, -1.0)}
    assert sums_of({"x": values.reshape(27, 37)}) == sums_of({"x": values})


def test_sums_of_what_has_none_or_no_end():
    most = np.finfo(np.float64).max
    assert sums_of({}) == "-"
    assert sums_of({"b": np.zeros((0, 3)), "a": np.array([np.nan, np.inf, 2.0])}).startswith(
        "a:2.0:"
    )
    assert sums_of({"a": np.full(9, most)}).startswith("a:inf:")
    assert sums_of({"a": np.array([3 - 4j])}).startswith("a:7.0:")


@pytest.mark.parametrize(
    ("before", "after", "off"),
    [
        ("a:4.0:2.0:-2.0", "a:4.0:2.0:-2.0", 0.0),
        ("a:4.0:2.0:-2.0", "a:4.0:3.0:-2.0", 0.25),
        ("a:4.0:2.0:-2.0", "a:5.0:2.0:-4.5", 0.5),
        ("a:4.0:2.0:-2.0,b:8.0:1.0:1.0", "a:4.0:2.0:-1.0,b:8.0:5.0:1.0", 0.5),
        ("a:0.0:0.0:0.0", "a:0.0:0.0:0.0", 0.0),
        ("a:0.0:0.0:0.0", "a:3.0:3.0:-3.0", 1.0),
        ("a:4.0:2.0:-2.0", "b:4.0:2.0:-2.0", None),
        ("-", "a:4.0:2.0:-2.0", None),
        ("a:4.0:2.0:-2.0", "-", None),
    ],
)
def test_how_far_goldens_are_apart(before, after, off):
    assert apart(before, after) == off


def test_a_lock_of_the_first_version_is_read_and_written_anew(fresh, pages, tmp_path):
    """Of its goldens nothing is known but digests."""
    page, one = a_case_with_data(fresh.lock)
    old = changed(fresh.lock, page, one, goldens="0" * 10)
    old.entries = {
        name: {case: replace(entry, sums="-") for case, entry in entries.items()}
        for name, entries in old.entries.items()
    }
    text = old.text.replace("opgen lock 2", "opgen lock 1")
    lines = [line for line in text.splitlines()[1:] if not line.startswith("page ")]
    assert {len(line.split(" ")) for line in lines} == {6}
    path = tmp_path / "old.lock"
    path.write_text(text)
    assert read_lock(path) == old
    (change,) = refresh.refresh(pages, "smoke", read_lock(path)).changes
    assert (change.case, change.apart) == (one, None) and detail(change).startswith("0000000000 ->")
    assert run("--lock", str(path)).exit_code == 0 and read_lock(path) == fresh.lock
    assert path.read_text().startswith("opgen lock 2\n")


WHY = {
    "inputs": {
        "data": ("data",),
        "seed": ("seed",),
        "kernel": ("kernel",),
        "plan": ("plan",),
        "spec kernel": ("spec", "kernel"),
    },
    "goldens": {
        "kernel": ("kernel",),
        "": ("code",),
        "spec kernel errata": ("spec", "kernel"),
        "data kernel": ("kernel", "data"),
        "seed": ("seed",),
    },
    "bounds": {"kernel": ("kernel",), "data errata seed": ("data", "seed"), "": ("code",)},
    "expectation": {
        "spec": ("spec",),
        "errata kernel": ("errata",),
        "plan": ("plan",),
        "": ("code",),
    },
}
"""What of a case changed -> what its page was made from then and is not now -> what is said to be
why."""


@pytest.mark.parametrize(
    ("what", "differs"), [(what, differs) for what, some in WHY.items() for differs in some]
)
def test_a_change_is_laid_to_what_it_can_come_from(fresh, pages, what, differs):
    page, one = a_case_with_data(fresh.lock)
    now = fresh.lock.sources[page]
    assert set(now) == {"spec", "plan", "tier", "errata", "kernel", "data", "seed"}
    old = changed(fresh.lock, page, one, **{what: "0123456789"})
    old.sources[page] = {
        name: "?" if name in differs.split() else value for name, value in now.items()
    }
    found = refresh.refresh(pages, "smoke", old, everything=True)
    assert [(c.case, c.why, c.before) for c in found.changes] == [
        (one, WHY[what][differs], "0123456789")
    ]


RECIPE = """
from dataclasses import replace
RECIPES = MappingProxyType({{**RECIPES, "{0}": replace(RECIPES["{0}"], version=9)}})
"""


@pytest.mark.parametrize(
    ("file", "edit", "name", "raised"),
    [
        ("golden/reflection_pad2d_backward.py", "VERSION = 9\n", "kernel", {"grid", "one_hot"}),
        ("golden/group_norm_backward.py", "VERSION = 9\n", "", set()),
        ("numerics/bounds.py", "VERSION = 9\n", "data", {"grid", "one_hot"}),
        ("numerics/recipes.py", RECIPE.format("one_hot"), "data", {"one_hot"}),
        ("numerics/recipes.py", RECIPE.format("subnormals"), "data", set()),
    ],
)
def test_a_raised_version_changes_the_keys_of_what_it_stands_for(
    fresh, pages, tmp_path, file, edit, name, raised
):
    """And the change is laid to it, whatever comes of it."""
    copy, old, new = copies.checkout(tmp_path), tmp_path / "old.lock", tmp_path / "new.lock"
    with open(copy / "opgen" / file, "a", encoding="utf-8") as source:
        source.write(edit)
    fresh.lock.write(old)
    told = refreshed(copy, "--lock", str(old), "-o", str(new))
    assert told.returncode == 0, told.stderr
    again = read_lock(new)
    recipes = {case.id: case.recipe for case in plan_suite(pages, "smoke").cases}
    assert again.sources.keys() == fresh.lock.sources.keys()
    differ = {
        id
        for page, before in fresh.lock.entries.items()
        for id in before
        if before[id].key != again.entries[page][id].key
    }
    assert {recipes[id] for id in differ} & {"grid", "one_hot"} == raised
    assert f" {fresh.computed} computed, 0 changes against " in told.stderr
    for page, then in fresh.lock.sources.items():
        now = again.sources[page]
        assert {what for what in now if now[what] != then[what]} == {name} - {""}


def test_a_lock_holds_what_any_id_and_any_release_say(fresh, tmp_path):
    page, one = a_case_with_data(fresh.lock)
    entry = fresh.lock.entries[page][one]
    words = [f"a{blank}b 100%25 {blank}" for blank in " \t\n\r\v\f\x1c\x85\u2028\u3000"]
    odd = {
        word: replace(entry, id=word, expectation=f"valid:0:|CANN {word}:161002") for word in words
    }
    Lock({page: fresh.lock.sources[page]}, {page: odd}).write(tmp_path / "odd.lock")
    found = read_lock(tmp_path / "odd.lock")
    assert found.entries == {page: odd} and not found.altered


def test_a_page_that_is_gone_takes_its_cases_along(fresh, pages):
    old = Lock(
        {**fresh.lock.sources, "gone": {"spec": "1"}},
        {**fresh.lock.entries, "gone": {one: LockEntry(one, *"----", "valid:0:") for one in "ba"}},
    )
    found = refresh.refresh(pages, "smoke", old, checked=fresh.marks)
    assert [(c.case, c.what, c.why) for c in found.changes] == [
        ("a", "removed", ("page",)),
        ("b", "removed", ("page",)),
    ]
    assert found.lock.sources == fresh.lock.sources and found.computed == 0


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["refresh", "reflection_pad2d_backward", *args])


def test_the_command_says_what_drifted_in_every_form_and_exits_1(fresh, tmp_path):
    path, markdown = tmp_path / "old.lock", tmp_path / "refresh.md"
    page, one = a_case_with_data(fresh.lock)
    old = changed(fresh.lock, page, one, expectation="stated:161002:pad")
    for number in range(MOST + 3):
        old.entries[page][f"gone-{number:02}"] = LockEntry(
            f"gone-{number:02}", "-", "-", "-", "-", "valid:0:"
        )
    old.write(path)
    before = path.read_bytes()
    shown = run("--lock", str(path), "--check", "--summary", str(markdown))
    assert shown.exit_code == 1 and path.read_bytes() == before
    assert f"{MOST + 4} changes against {path}" in shown.stderr
    assert shown.stderr.rstrip().endswith(f"--lock {path}")
    table = " ".join(shown.stdout.split())
    assert (
        "removed gone-00" in table and "removed and 3 more" in table and f"gone-{MOST}" not in table
    )
    assert re.search(r"stated:161002:pad -> (code )?valid:0:", table), "the column why may cut in"
    told = markdown.read_text(encoding="utf-8")
    assert (
        f"| removed | {MOST + 3} |" in told
        and "- and 3 more" in told
        and f"- `{one}` `stated:161002:pad -> valid:0:" in told
    )
    data = json.loads(run("--lock", str(path), "--check", "--json", "--quiet").stdout)
    gone = {(f"gone-{number:02}", "removed") for number in range(MOST + 3)}
    assert {(c["case"], c["what"]) for c in data["changes"]} == {(one, "expectation")} | gone


@pytest.mark.parametrize("lost", ["a case with data", "a case with a status alone", "the page"])
def test_a_lock_that_lost_lines_and_was_mended_fails_the_check(fresh, tmp_path, lost):
    """Its own digest is right: only the cases that the plan makes say what is missing."""
    path = tmp_path / "short.lock"
    page, entries = next(iter(fresh.lock.entries.items()))
    with_data = lost == "a case with data"
    gone = next(case for case, entry in entries.items() if (entry.key != "-") == with_data)
    kept = {case: entry for case, entry in entries.items() if case != gone}
    others = fresh.lock.some(set(fresh.lock.sources) - {page})
    short = Lock({page: fresh.lock.sources[page]}, {page: kept}).beside(others)
    (others if lost == "the page" else short).write(path)
    assert not read_lock(path).altered
    shown = run("--lock", str(path), "--check", "--json")
    changes = {(change["case"], change["what"]) for change in json.loads(shown.stdout)["changes"]}
    assert shown.exit_code == 1
    assert changes == {(case, "added") for case in (entries if lost == "the page" else [gone])}


def test_the_command_writes_the_lock_that_it_was_asked_for_and_keeps_pages_that_it_was_not(
    fresh, tmp_path
):
    path, other = tmp_path / "old.lock", tmp_path / "new.lock"
    stranger = LockEntry("case", "-", "-", "-", "-", "valid:0:")
    Lock(
        {**fresh.lock.sources, "stranger": {"spec": "0" * 10}},
        {**fresh.lock.entries, "stranger": {"case": stranger}},
    ).write(path)
    before = path.read_bytes()
    assert run("--lock", str(path), "-o", str(other)).exit_code == 0
    assert path.read_bytes() == before == other.read_bytes()


@pytest.mark.parametrize(
    ("option", "output", "said"),
    [
        ("-o", "nowhere/x.lock", "nowhere/x.lock: there is no folder"),
        ("-o", "", "is a folder"),
        ("-o", "call.jsonl", "call.jsonl:1: is not a lock of this version"),
        ("--summary", "nowhere/x.md", "nowhere/x.md: there is no folder"),
    ],
)
def test_where_nothing_can_be_written_nothing_is_computed(
    without_kernel, tmp_path, option, output, said
):
    (tmp_path / "call.jsonl").write_text("{}")
    asked = without_kernel, "--lock", str(tmp_path / "old.lock"), option
    shown = refreshed(*asked, str(tmp_path / output))
    assert shown.returncode == 2 and said in shown.stderr
    assert "opgen/golden/reflection_pad2d_backward.py: is missing" not in shown.stderr
    assert (
        sorted(os.listdir(tmp_path)) == ["call.jsonl"]
        and (tmp_path / "call.jsonl").read_text() == "{}"
    )


def test_no_lock_to_check_is_bad_usage(tmp_path):
    shown = run("--lock", str(tmp_path / "none.lock"), "--check")
    assert (
        shown.exit_code == 2
        and "there is no lock to check; opgen refresh writes one" in shown.stderr
    )


def test_to_check_and_to_write_are_two_things(tmp_path):
    shown = run("--check", "-o", str(tmp_path / "new.lock"))
    assert shown.exit_code == 2 and "--check and --output: give only one of them" in shown.stderr


def test_a_lock_with_a_byte_order_mark_is_read(fresh, tmp_path):
    path = tmp_path / "x.lock"
    fresh.lock.write(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_lock(path).entries == fresh.lock.entries


@pytest.mark.parametrize("folder", [specs_folder(), cases_folder()])
def test_the_lock_of_a_checkout_is_not_held_against_another_copy(fresh, tmp_path, folder):
    """A copy that was installed before a spec was edited would find nothing changed."""
    path, file = tmp_path / "cases" / "x.lock", next(folder.glob("*.yaml"))
    other = tmp_path / folder.name / file.name
    for one in (path, other):
        one.parent.mkdir(exist_ok=True)
    fresh.lock.write(path)
    other.write_bytes(file.read_bytes())
    assert run("--lock", str(path), "--check").exit_code == 0
    other.write_bytes(file.read_bytes() + b"# edited\n")
    shown = run("--lock", str(path), "--check")
    assert (
        shown.exit_code == 2
        and f"{other}: is not what is in use" in shown.stderr
        and "pip install -e ." in shown.stderr
    )
    before = path.read_bytes()
    assert run("--lock", str(path)).exit_code == 2 and path.read_bytes() == before
    assert run(
        "--plan",
        str(cases_folder() / "reflection_pad2d_backward.yaml"),
        "--lock",
        str(path),
        "--check",
    ).exit_code == (
        2 if folder == specs_folder() else 0
    )  # a plan that is named is the one that is meant


def test_the_lock_of_an_installed_copy_is_left_alone(installed, tmp_path):
    """Nobody would find a new one there; it may be checked, and written elsewhere."""
    shown = refreshed(installed)
    assert (
        shown.returncode == 2
        and "name the lock of your checkout with --lock cases/smoke" in shown.stderr
    )
    assert refreshed(installed, "--check").returncode == 0
    assert refreshed(installed, "-o", str(tmp_path / "x.lock")).returncode == 0
    shipped = installed / "opgen" / "cases" / "smoke"
    assert read_lock(shipped) == read_lock(cases_folder() / "smoke")


@pytest.mark.parametrize("tier", ["", "::smoke"])
def test_the_lock_of_a_plan_of_ones_own_lies_beside_it(fresh, installed, tmp_path, tier):
    """Also of an installed copy; only of the plans that belong to that copy it does not."""
    shipped = installed / "opgen" / "cases" / "reflection_pad2d_backward.yaml"
    own = tmp_path / "mine.yaml"
    own.write_bytes(shipped.read_bytes())
    told = refreshed(installed, "--plan", f"{own}{tier}", "--check")
    assert (
        told.returncode == 2
        and f"{own.with_suffix('.lock')}: there is no lock to check" in told.stderr
    )
    assert refreshed(installed, "--plan", f"{own}{tier}").returncode == 0
    assert read_lock(own.with_suffix(".lock")).entries == fresh.lock.entries
    assert refreshed(installed, "--plan", f"{own}{tier}", "--check").returncode == 0
    told = refreshed(installed, "--plan", str(shipped))
    assert "belongs to the installed copy" in told.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Change("one", "golden", ("code",), "a", "b", 3.21e-8), "by about 3e-08 of its magnitude"),
        (Change("one", "golden", ("code",), "a", "b", 0.0), "by about 0 of its magnitude"),
        (Change("one", "golden", ("code",), "a", "b"), "a -> b"),
        (Change("one", "expectation", (), "valid:0:", "stated:1:x"), "valid:0: -> stated:1:x"),
        (Change("one", "removed", ()), ""),
    ],
)
def test_a_change_in_words(change: Change, said: str):
    assert detail(change) == said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a lock of this version"),
        ("opgen lock 9\n", "is not a lock of this version"),
        ("", ":1: is not a lock of this version"),
        ("opgen lock 1\nx y\n", ":2: expects 'page NAME ...' or"),
        ("opgen lock 1\nx - - - - valid:0:\n", ":2: expects 'page NAME ...' or"),
        ("opgen lock 1\npage p\nx - - - valid:0:\n", ":3: expects 'page NAME ...' or"),
        ("opgen lock 1\npage p\nx - - - - valid:0: more\n", ":3: expects NAME:SUM:SUM:SUM"),
        ("opgen lock 2\npage p\nx - - - - valid:0: a:1.0:2.0\n", ":3: expects NAME:SUM:SUM:SUM"),
        ("opgen lock 2\npage p\nx - - - - valid:0: a:1:2:3 b\n", ":3: expects 'page NAME ...' or"),
        ("opgen lock 1\npage p\nx - - - 012345678 valid:0:\n", ":3: expects digests of 10"),
        ("opgen lock 1\npage p\nx - - 01234567890 - valid:0:\n", ":3: expects digests of 10"),
        ("opgen lock 1\npage p\nx -- - - - valid:0:\n", ":3: expects digests of 10"),
        ("opgen lock 1\npage p spec=1\na b c d e valid:0:\n", ":3: expects digests of 10"),
        (
            "opgen lock 1\npage p\nx - - - - valid:0:\nx - - - - valid:0:\n",
            ":4: the case x appears twice",
        ),
        (
            "opgen lock 1\npage p\nx - - - - valid:0:\npage p\ny - - - - valid:0:\n",
            ":4: the page p appears twice",
        ),
        (
            "opgen lock 1\npage p\n<<<<<<< HEAD\n=======\n>>>>>>> other\n",
            ":5: is a merge conflict. Remove the file",
        ),
    ],
)
def test_a_bad_lock_is_refused_with_its_line(tmp_path, text, message):
    path = Path(tmp_path / "bad.lock")
    path.write_text(text)
    with pytest.raises(FileError) as error:
        read_lock(path)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "text", ["", "opgen lock 9\n", "opgen lock 1\n<<<<<<< HEAD\n", "opgen lock 1\npage p\npage p\n"]
)
def test_what_is_said_of_a_lock_past_repair_helps(fresh, tmp_path, text):
    path = tmp_path / "bad.lock"
    path.write_text(text)
    told = run("--lock", str(path))
    assert (
        told.exit_code == 2
        and "Remove the file, and opgen refresh writes it anew" in told.stderr
        and path.read_text() == text
    )
    path.unlink()
    assert run("--lock", str(path)).exit_code == 0 and read_lock(path) == fresh.lock


def test_a_lock_that_cannot_be_read_says_why(tmp_path):
    path = tmp_path / "bad.lock"
    with pytest.raises(FileError, match="bad.lock: cannot be read: No such file or directory"):
        read_lock(path)
    path.write_bytes(b"opgen lock 1\n\xff\n")
    with pytest.raises(FileError, match="bad.lock: not UTF-8: byte 13 is 0xff"):
        read_lock(path)


def test_locks_are_put_beside_each_other_and_taken_apart_by_page(tmp_path):
    """A page is that of the first lock that knows it, with all that is said of it."""
    mine = Lock({"a": {"spec": "1"}, "b": {"spec": "2"}}, {"a": {}, "b": {}}, {"b": "3" * 10})
    other = Lock(
        {"b": {"spec": "4"}, "c": {"spec": "5"}},
        {"b": {"x": LockEntry("x", *"-----")}, "c": {}},
        {"b": "6" * 10, "c": "7" * 10},
    )
    assert mine.beside(other) == Lock(
        {"a": {"spec": "1"}, "b": {"spec": "2"}, "c": {"spec": "5"}},
        {"a": {}, "b": {}, "c": {}},
        {"b": "3" * 10, "c": "7" * 10},
    )
    assert (
        other.some(["c", "a"]) == Lock({"c": {"spec": "5"}}, {"c": {}}, {"c": "7" * 10})
        and Lock().beside(mine) == mine
    )


def a_lock_of(*pages: str) -> Lock:
    entry = LockEntry("x", *["-"] * 4, "valid:0:")
    return Lock({page: {"spec": "1"} for page in pages}, {page: {"x": entry} for page in pages})


def written(file: Path) -> tuple[int, int]:
    return file.stat().st_ino, file.stat().st_mtime_ns


def test_a_folder_has_a_file_for_each_operator_and_only_what_changed_is_written(tmp_path):
    lock = a_lock_of("a_backward", "b_backward.one", "b_backward.two")
    lock.write(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "a_backward.lock",
        "b_backward.lock",
    ]
    assert read_lock(tmp_path) == lock
    assert set(read_lock(tmp_path / "b_backward.lock").sources) == {
        "b_backward.one",
        "b_backward.two",
    }
    before = written(tmp_path / "a_backward.lock")
    lock.entries["b_backward.two"] = {}
    lock.write(tmp_path)
    assert written(tmp_path / "a_backward.lock") == before and read_lock(tmp_path) == lock
    a_lock_of("a_backward").write(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["a_backward.lock"]


def test_what_is_wrong_in_several_files_of_a_folder_is_said_at_once(tmp_path):
    lock = a_lock_of("a_backward", "b_backward")
    lock.write(tmp_path)
    (tmp_path / "a_backward.lock").write_text("no lock\n", encoding="utf-8")
    (tmp_path / "c_backward.lock").write_text(lock.some({"b_backward"}).text, encoding="utf-8")
    with pytest.raises(FileError) as refused:
        read_lock(tmp_path)
    said = [str(problem) for problem in refused.value.problems]
    assert len(said) == 2 and "a_backward.lock:1: is not a lock" in said[0]
    assert "c_backward.lock:2: the page b_backward appears twice" in said[1]


def test_a_change_of_one_operator_touches_one_file(tmp_path):
    """By the command, of a checkout; and a tier without a lock gets a folder."""
    copy = copies.checkout(tmp_path)
    folder = copy / "cases" / "smoke"
    lost, *others = sorted(folder.glob("reflection_pad*.lock"))
    kept = list(map(written, others))
    text = lost.read_bytes()
    lost.unlink()
    assert copies.opgen(copy, "refresh", lost.stem, "-q").returncode == 0
    assert lost.read_bytes() == text and list(map(written, others)) == kept
    shutil.rmtree(folder)
    assert copies.opgen(copy, "refresh", lost.stem, "-q").returncode == 0
    assert [file.name for file in folder.iterdir()] == [lost.name] and lost.read_bytes() == text


def test_the_rules_of_an_entry_are_those_of_its_page():
    for text, rules in (
        ("valid:0:", {""}),
        ("stated:161002:pad", {"pad"}),
        ("unstated:any_error/0:a,b.c|2026-08:0/161002", {"a", "b.c"}),
    ):
        assert LockEntry("x", *"----", text).rules == rules


def test_a_check_names_the_lines_of_the_rules_that_count_otherwise(fresh, pages, tmp_path):
    """A lock that knows of a break less, and one that knows of a rule that is gone."""
    page, broken = next(
        (page, entry)
        for page, held in fresh.lock.entries.items()
        for entry in held.values()
        if len(entry.rules - {""}) == 1
    )
    (rule,) = broken.rules
    path = tmp_path / "old.lock"
    changed(fresh.lock, page, broken.id, expectation="stated:161002:gone").write(path)
    shown = run("--lock", str(path), "--check")
    name = f"specs/{page}.yaml"
    found = re.search(rf"^{re.escape(name)}:(\d+): {re.escape(rule)}: 1 case ", shown.stderr, re.M)
    assert found is not None, shown.stderr
    written = (specs_folder() / f"{page}.yaml").read_text(encoding="utf-8").splitlines()
    assert written[int(found[1]) - 1].lstrip().startswith(f"{rule.split('.')[0]}:")
    assert f"{name}: gone: 1 case " in shown.stderr


def test_a_product_that_no_page_names_changes_no_lock(tmp_path):
    """Of no operator: neither what it expects nor, in the head, what it was made from."""
    copy = copies.checkout(tmp_path)
    tables, folder = copy / "specs" / "tables.yaml", copy / "cases" / "smoke"
    text = tables.read_text(encoding="utf-8")
    newest = re.search(r"\n  ascend950:.*", text)[0]
    added = newest.replace("950", "960").replace("2026-08", "2026-09")
    tables.write_text(text.replace(newest, newest + added), encoding="utf-8")
    locks = [folder / f"{op}.lock" for op in ("ada_layer_norm_backward", "group_norm_backward")]
    before = list(map(written, locks))
    assert copies.opgen(copy, "refresh", *(lock.stem for lock in locks), "-q").returncode == 0
    assert list(map(written, locks)) == before
    assert copies.opgen(copy, "check").returncode == 0
    digests = "import json; from opgen.suite.identity import spec_digest as digest;"
    digests += "from opgen.spec.catalog import catalog;"
    digests += "print(json.dumps({spec.name: digest(spec) for spec in catalog().specs}))"
    told = json.loads(copies.python(copy, "-c", digests).stdout)
    assert told == {spec.name: spec_digest(spec) for spec in catalog().specs}
