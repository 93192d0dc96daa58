"""Which judged calls are invalid, by each source."""

from __future__ import annotations

import pytest

from opgen.calls.jsonl import parse_call
from opgen.lint.new_files import new_file
from opgen.model import Expectation, LibraryAnswer
from opgen.oracle.callfiles import JudgedCall
from opgen.spec.catalog import catalog


@pytest.mark.parametrize(
    ("page", "library", "refused"),
    [
        ((0,), (0,), [False, False, False]),
        ((0,), (161002,), [True, False, True]),
        ((161002,), (0,), [True, True, False]),
        ((0, "any_error"), None, [False, False, False]),
    ],
)
def test_a_call_is_refused_where_no_source_that_is_asked_admits_it(page, library, refused):
    """By both, by the page, by the library."""
    line = new_file("calls", "reflection_pad2d_backward").splitlines()[0]
    known = LibraryAnswer("r", library, "read") if library else None
    judged = JudgedCall(parse_call(line, catalog().kinds), Expectation(page, "valid", ()), known)
    assert [judged.refused(truth) for truth in ("both", "page", "library")] == refused
