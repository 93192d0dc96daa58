"""Constants of the rule language: numbers, truths and words, in the kind of what they are compared
with.
"""

from __future__ import annotations

import ast
from fractions import Fraction
from math import isfinite

import numpy as np

from opgen.calls import bigint
from opgen.calls.kinds import REAL
from opgen.calls.reals import rounded
from opgen.calls.vocabulary import dtype_hint, vocabulary
from opgen.model import did_you_mean
from opgen.spec.language.term import Term, TermError, failure, held
from opgen.spec.language.value import Value, constant_value

_WORD_KINDS = ("product", "dtype", "format")


def constant(node: ast.expr, value: object, like: str) -> Term:
    """A constant; raises :class:`TermError`. Beside a term of the kind ``like`` a decimal is the
    number of that type that is nearest, as C has it, and beside any other exact.
    """
    if isinstance(value, bool):
        return held(node, "bool", constant_value(value))
    if isinstance(value, int):
        return held(node, "int", constant_value(value))
    if isinstance(value, float) and isfinite(value):
        if like in REAL:
            return _real(node, value, like)
        exact = Fraction(repr(value))
        return held(node, "int", Value(bigint.as_column(exact.numerator), over=exact.denominator))
    if not isinstance(value, str):
        raise failure(node, "only numbers, True, False and quoted words")
    if like == "string":
        return held(value, like, Value(np.asarray(value)))
    if like not in _WORD_KINDS:
        return held(value, "word", constant_value(0))
    index = vocabulary().index[like]
    if value not in index:
        hint = dtype_hint if like == "dtype" else did_you_mean
        raise TermError(f"no such {like} '{value}'{hint(value, index)}")
    return held(value, like, Value(np.asarray(index[value])))


def _real(node: ast.expr, value: float, kind: str) -> Term:
    number = rounded(value, REAL[kind])
    if not isfinite(number):
        raise TermError(f"{value} does not fit a {kind}")
    return held(node, kind, constant_value(number))
