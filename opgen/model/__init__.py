"""The nouns of opgen: what a call, a case and an expectation are.

Frozen dataclasses, no input or output, no numpy. Everything that scales with the number of cases
works on the columns of :mod:`opgen.calls.table`; these are the rows that people and files see.
"""

from __future__ import annotations

from opgen.model.call import AclScalar, Argument, Call, TensorDesc, row_major
from opgen.model.case import (
    BUCKETS,
    CALL_PLANS,
    CRASHES,
    GUARD,
    KINDS,
    LONGEST_ID,
    TIERS,
    TIME_LIMIT,
    TRUTHS,
    UNDATED,
    USUAL,
    Break,
    Bucket,
    Case,
    Expectation,
    Kind,
    LibraryAnswer,
    Truth,
    Verdict,
)
from opgen.model.problem import FileError, Problem, collecting
from opgen.model.status import (
    ANY_ERROR,
    CRASH,
    NOT_RUN,
    OVERRUN,
    STATUS_WORDS,
    TIMEOUT,
    UNUSABLE,
    Code,
    admits,
    of_a_check,
    written,
)
from opgen.model.text import did_you_mean, natural, size, unkept

__all__ = [
    "ANY_ERROR",
    "AclScalar",
    "Argument",
    "BUCKETS",
    "Break",
    "Bucket",
    "CRASH",
    "CRASHES",
    "Call",
    "Case",
    "Code",
    "Expectation",
    "FileError",
    "GUARD",
    "KINDS",
    "Kind",
    "LONGEST_ID",
    "LibraryAnswer",
    "NOT_RUN",
    "OVERRUN",
    "Problem",
    "STATUS_WORDS",
    "TIERS",
    "TIMEOUT",
    "TIME_LIMIT",
    "TRUTHS",
    "TensorDesc",
    "Truth",
    "UNDATED",
    "UNUSABLE",
    "CALL_PLANS",
    "USUAL",
    "Verdict",
    "admits",
    "collecting",
    "did_you_mean",
    "natural",
    "of_a_check",
    "row_major",
    "size",
    "unkept",
    "written",
]
