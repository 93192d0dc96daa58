"""The words of opgen: each that a report uses has an entry."""

from __future__ import annotations

import pytest

from opgen.comparison.standards import CRITERIA
from opgen.comparison.statuses import VERDICTS
from opgen.model import BUCKETS, KINDS, TIERS
from opgen.quality.mutant_results import OUTCOMES
from opgen.report.words import MANUAL, words


@pytest.mark.parametrize(
    "word",
    [*VERDICTS, *BUCKETS, *KINDS, *OUTCOMES, "tier", "bound", "golden", "any_error", *CRITERIA],
)
def test_every_word_of_a_report_has_an_entry(word: str) -> None:
    assert words()[word].meaning.endswith(".")


def test_every_entry_is_read_once_and_in_a_section() -> None:
    lines = [
        line for line in MANUAL.read_text(encoding="utf-8").splitlines() if line.startswith("* ")
    ]
    assert sum(line.partition(":")[0].count("**") // 2 for line in lines) == len(words()) > 60
    assert all(entry.section and len(entry.meaning.split()) > 2 for entry in words().values())


def test_tiers_are_named_where_they_are_explained() -> None:
    assert all(f"`{tier}`" in words()["tier"].meaning for tier in TIERS)
