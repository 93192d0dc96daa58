"""What a suite is: its meaning counts, and not how files and programs are written."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from opgen.generation.header import header
from opgen.model import Case
from opgen.suite import identity
from opgen.suite.selection import Request
from opgen.suite.shard import shard
from opgen.suite.suite import Suite
from tests.support import copies
from tests.support.case_tables import tabulate
from tests.support.suites import SLOW, page

REQUEST = Request(("reflection_pad2d_backward",), products=("ascend910b",))
EDITS = ("# edited\n", "\n\n") if SLOW else ("# edited\n\n\n",)
"""What says nothing: a comment and empty lines, each by itself where the tests take their time."""

DIGESTS = """
import sys
from opgen.spec.catalog import catalog
from opgen.suite import identity
digest = getattr(identity, f"{sys.argv[1]}_digest")
for page in ("group_norm_backward", "reflection_pad2d_backward"):
    (spec,) = (spec for spec in catalog().of(catalog().operators[page]) if spec.name == page)
    print(digest(spec))
"""


@pytest.fixture(scope="module")
def suite() -> Suite:
    return REQUEST.suite()


@pytest.mark.parametrize("text", EDITS)
@pytest.mark.parametrize(
    ("file", "digest"),
    [
        ("group_norm_backward.yaml", "spec"),
        ("tables.yaml", "spec"),
        ("errata/library.yaml", "errata"),
    ],
)
def test_what_is_said_counts_and_not_how_a_file_is_written(
    file: str, digest: str, text: str, tmp_path: Path
) -> None:
    """Whatever a file of errata is called."""
    folder = copies.checkout(tmp_path) / "specs"
    shutil.move(folder / "errata" / "group_norm_backward.yaml", folder / "errata" / "library.yaml")

    def now() -> list[str]:
        """Of a page that the file is about, and of another."""
        told = copies.python(tmp_path, "-c", DIGESTS, digest)
        assert not told.stderr
        return told.stdout.split()

    path = folder / file
    before = now()
    path.write_text(text + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert now() == before
    said = path.read_text(encoding="utf-8")
    for old, new in ((".txt", "-2.txt"), ("2026-08", "2026-09"), ("status:", "status:\n  7: x")):
        said = said.replace(old, new)
    path.write_text(said, encoding="utf-8")
    after = now()
    assert after[0] != before[0]
    assert (after[1] != before[1]) == (file == "tables.yaml")


@pytest.mark.parametrize("field", [name for name in Case._fields if name != "call"])
def test_every_word_of_a_case_counts(suite: Suite, field: str) -> None:
    """Its call is in its id."""
    cases = list(suite.cases)
    case = next(case for case in cases if case.phase == 2)
    other = next(
        value
        for value in [getattr(each, field) for each in cases] + ["other"]
        if value != getattr(case, field)
    )
    cases[cases.index(case)] = case._replace(**{field: other})
    table = tabulate(cases)
    assert replace(suite, cases=table).identity.cases != suite.identity.cases


def test_a_part_is_of_the_suite_that_it_was_cut_from(suite: Suite) -> None:
    parts = [shard(suite, f"{i}/3") for i in (1, 2, 3)]
    assert {part.identity for part in parts} == {suite.identity}
    assert suite.subset([0]).identity != suite.identity
    assert suite.identity.operators == ("reflection_pad2d_backward",)
    assert set(suite.identity.recipes) == {case.recipe for case in suite.cases if case.phase == 2}


def test_a_header_says_which_suite_and_which_versions(suite: Suite) -> None:
    told = header(REQUEST, suite, 0)
    assert told["suite"] == suite.identity.cases
    assert isinstance(told["versions"], dict)
    assert set(told["versions"]) == {
        "kernel reflection_pad2d_backward",
        *(f"recipe {name}" for name in suite.identity.recipes),
        *("streams", "rounding", "exact", "bounds", "computing"),
    }
    assert told["specs"] == {
        "reflection_pad2d_backward": identity.spec_digest(page("reflection_pad2d_backward"))
    }
