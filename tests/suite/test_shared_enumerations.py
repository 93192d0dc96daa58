"""What processes of the tests share: the calls of a page are those that it would enumerate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from opgen.suite import planned_suite
from opgen.suite.enumeration.enumerator import Enumeration, enumerate_calls
from opgen.suite.planned_suite import plan_suite
from tests.support import enumerations
from tests.support.suites import page, plan

NAME = "reflection_pad2d_backward"


def same(one: Enumeration, other: Enumeration) -> bool:
    return (
        one.judged.table.calls() == other.judged.table.calls()
        and np.array_equal(one.judged.broken, other.judged.broken)
        and np.array_equal(one.nearest_valid, other.nearest_valid)
        and np.array_equal(one.report.levels, other.report.levels)
        and one.report.unreached == other.report.unreached
        and list(one.purposes) == list(other.purposes)
        and list(one.recipe) == list(other.recipe)
        and list(one.kind) == list(other.kind)
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(enumerations.FOLDER, str(tmp_path))
    return tmp_path


def test_what_is_read_is_what_would_be_enumerated(folder: Path) -> None:
    spec, shipped = page(NAME), plan(NAME)
    made = enumerate_calls(spec, shipped, "smoke", (), 3)
    first, again = (enumerations.shared(spec, shipped, "smoke", 3) for _ in range(2))
    assert [path.name for path in folder.iterdir()] == [f"{NAME}-smoke-3"]
    assert first is not again and same(made, first) and same(made, again)
    assert again.judged.spec is spec and (again.judged.valid == made.judged.valid).all()
    other = enumerations.shared(spec, shipped, "smoke", 4)
    assert not same(made, other)


def test_another_page_or_plan_is_neither_read_nor_written(folder: Path) -> None:
    (folder / f"{NAME}-smoke").write_bytes(b"what no one should read")
    spec, shipped = page(NAME), plan(NAME)
    fewer = replace(shipped, tiers={"smoke": replace(shipped.tiers["smoke"], invalid=0)})
    assert len(enumerations.shared(replace(spec), shipped, "smoke").judged.table)
    assert len(enumerations.shared(spec, fewer, "smoke").judged.table)
    assert [path.name for path in folder.iterdir()] == [f"{NAME}-smoke"]


def test_what_processes_share_is_what_suites_are_made_of(folder: Path) -> None:
    with enumerations.enumerated_once():
        assert planned_suite.enumerate_calls is not enumerate_calls
        made = plan_suite([(page(NAME), plan(NAME))], "smoke", random_state=5)
    assert (folder / f"{NAME}-smoke-5").exists()
    assert made.cases.id == plan_suite([(page(NAME), plan(NAME))], "smoke", random_state=5).cases.id
