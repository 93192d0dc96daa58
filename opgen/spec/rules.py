"""Rules: what a page says about one parameter, or about several, as relations that columns can be
compared with.

There is one mechanism for all rules: guarded relations. A key of a parameter is a short way to
write some (:mod:`opgen.spec.parameter_keys`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain

import numpy as np

from opgen.calls import bigint
from opgen.calls.factorize import by_key
from opgen.model import Bucket
from opgen.spec.language.term import FixedView, Reference, Relation, Term, View
from opgen.spec.language.three_valued import is_false
from opgen.spec.language.value import Value, is_true


@dataclass(frozen=True)
class Guard:
    """One relation, the condition under which it must hold, and its own lines of the page where the
    rule's are not all its lines.
    """

    when: Term | None
    require: Relation
    at: tuple[int, ...] = ()

    def broken(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where it applies, everything it names is bound, and its relation does not
        hold.
        """
        return self._where(is_false, view, rows)

    def applies(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where it applies and everything it names is bound."""
        return self._where(lambda held: np.asarray(held.bound), view, rows)

    @property
    def unconditional(self) -> Guard:
        """The same relation, asked for everywhere."""
        return replace(self, when=None)

    def exempts(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where its relation does not hold, and does not have to."""
        return np.asarray(self.unconditional.broken(view, rows) & ~self.broken(view, rows))

    def allows(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where its relation holds, unless its condition is known not to; one that
        names something unbound may hold.
        """
        held = bigint.broadcast(is_true(self.require.read(view)), rows)
        return held if self.when is None else np.asarray(held & ~is_false(self.when.read(view)))

    def _where(self, what: Callable[[Value], np.ndarray], view: View, rows: int) -> np.ndarray:
        """(rows,) bool: what is asked of the relation, where the condition holds; where it holds
        nowhere, nothing is read.
        """
        asked = None if self.when is None else true_where(self.when, view, rows)
        if asked is not None and not np.count_nonzero(asked):
            return asked
        answer = what(self.require.read(view))
        return bigint.broadcast(answer, rows) if asked is None else np.asarray(asked & answer)


@dataclass(frozen=True)
class Rule:
    """A constraint: ``id``, the page's lines, its guarded relations, and what the page says happens
    when it is broken.

    ``code`` and ``clause`` are ``None`` where the page names none. ``likely`` is the code that the
    page suggests and does not promise: it is shown, never asked for. ``note`` is our reading, in
    our words.

    ``first``: of a rule without a code, the rules with one that read the same, or the keys with one
    of what equals what it limits by another rule. Where such a rule is broken, and the equality
    holds, this rule has nothing to add.
    """

    id: str
    at: tuple[int, ...]
    guards: tuple[Guard, ...]
    bucket: Bucket
    code: int | None
    clause: str | None
    note: str = ""
    parameter: str | None = None
    key: str | None = None
    likely: int | None = None
    first: tuple[tuple[Rule, Rule | None], ...] = ()

    @cached_property
    def compared(self) -> frozenset[Reference]:
        """What its relations read."""
        return frozenset(ref for guard in self.guards for ref in guard.require.refs)

    def broken(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where it is violated, unless a rule of ``first`` says it all."""
        broken = self.violated(view, rows)
        for rule, equality in self.first if np.count_nonzero(broken) else ():
            told = rule.violated(view, rows)
            if equality is not None:
                told = told & equality.applies(view, rows) & ~equality.violated(view, rows)
            broken = broken & ~told
        return broken

    def violated(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where a guard applies, everything it names is bound, and its relation does
        not hold.
        """
        return _anywhere([guard.broken(view, rows) for guard in self.guards], rows)

    def applies(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where at least one guard applies and everything it names is bound."""
        return _anywhere([guard.applies(view, rows) for guard in self.guards], rows)

    def allows(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where a guard that applies, or may once all is bound, is met, and none that
        applies is broken.
        """
        met = _anywhere([guard.allows(view, rows) for guard in self.guards], rows)
        return np.asarray(met & ~self.broken(view, rows))

    @property
    def forbids(self) -> bool:
        """Whether the page forbids a call that breaks it; it does not where it is silent or
        contradicts itself.
        """
        return self.bucket in ("unsupported_product", "stated", "unstated")

    @property
    def refs(self) -> tuple[Reference, ...]:
        """Every reference of every guard, conditions included."""
        every = (
            guard.require.refs + (() if guard.when is None else guard.when.refs)
            for guard in self.guards
        )
        return tuple(dict.fromkeys(chain.from_iterable(every)))

    @property
    def text(self) -> str:
        """The rule on one line, as a person would write it: comparisons with the same condition
        together.
        """
        together = by_key(
            ("" if guard.when is None else readable(guard.when.text), readable(guard.require.text))
            for guard in self.guards
        )
        return "; ".join(
            " and ".join(texts) + (f" when {when}" if when else "")
            for when, texts in together.items()
        )


def readable(text: str) -> str:
    """A term without what only the parser needs: quotes, and the comma that ends a list.

    >>> readable("x.dtype in ('FLOAT', 'DOUBLE',)")
    'x.dtype in (FLOAT, DOUBLE)'
    """
    return text.replace("'", "").replace(",)", ")")


def true_where(when: Term | None, view: View, rows: int) -> np.ndarray:
    """(rows,) bool: where a condition is bound and true; everywhere for ``None``."""
    if when is None:
        return np.ones(rows, dtype=bool)
    if not isinstance(view, FixedView) or not when.text:
        return bigint.broadcast(is_true(when.read(view)), rows)
    held = view.held.get(when.text)
    if held is None:
        held = view.held[when.text] = bigint.broadcast(is_true(when.read(view)), rows)
        held.flags.writeable = False
    return held


def _anywhere(columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """(rows,) bool: where one of the columns holds."""
    return reduce(np.logical_or, columns) if columns else np.zeros(rows, dtype=bool)
