"""Entries that people wrote are found again where what is learnt gives their answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from opgen.calls.table import from_calls
from opgen.learning.statuses import Returned
from opgen.oracle.errata_folder import errata
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from tests.learning import planted
from tests.learning.rediscovered import main, matches

PAD = "aclnnReflectionPad2dBackward"


def page() -> Returned:
    spec = next(one for one in catalog().specs if one.name == "reflection_pad2d_backward")
    named = planted.calls(PAD)
    table = from_calls(PAD, spec.kinds, [one.call for one in named])
    rows = len(named)
    ids = tuple(one.id for one in named)
    firm = np.ones(rows, dtype=bool)
    return Returned(judge(spec, table), ids, np.zeros(rows, dtype=np.int64), firm, ("",) * rows)


def test_errata_find_themselves_again_and_without_an_entry_not_that_one() -> None:
    calls, written = page(), errata()[PAD]
    again = {match.entry: match for match in matches(calls, written, written)}
    assert "null_pointers" in again
    assert all(match.found and match.admitted == match.calls >= 3 for match in again.values())
    own = written.pages[calls.spec.name]
    stages = tuple(stage for stage in own.stages if stage.id != "null_pointers")
    less = replace(written, pages={calls.spec.name: replace(own, stages=stages)})
    missed = {match.entry: match for match in matches(calls, written, less)}
    assert not missed["null_pointers"].found
    assert missed["null_pointers"].alike == 0


def test_four_of_five_entries_that_people_wrote_are_found_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main([str(planted.SAMPLE)])
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert int(last[0]) >= 0.8 * int(last[2]) > 50, last
