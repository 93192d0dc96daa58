"""What another tool's case leaves unsaid, said by the page: shapes, dtypes and formats that its
equalities define.

``gradInput.shape == self.shape`` holds a call against the page, and also says what a missing
gradInput is; so does a list of a single dtype. Works on whole columns and knows no operator. What
nothing defines stays open, and the case is named with that reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from opgen.calls.table import from_calls
from opgen.calls.vocabulary import vocabulary
from opgen.model import Call, TensorDesc
from opgen.spec.language.term import Reference, View
from opgen.spec.language.value import Value
from opgen.spec.rules import true_where
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView

_FACTS = ("rank", "shape", "dtype", "format")
UNDEFINED = "UNDEFINED"
"""What stands for a dtype or a format that is open."""


@dataclass
class PartialCall:
    """A call of a page that may lack whole outputs, and single facts of its tensors: ``open`` are
    the references still to be found.

    A tensor of which anything is open has UNDEFINED for its dtype or format, and is null in
    ``call`` where its shape is. ``ranks`` are those that are known before their shapes.
    """

    spec: Spec
    call: Call
    open: set[Reference] = field(default_factory=set)
    ranks: dict[str, int] = field(default_factory=dict)

    def lacks(self, *names: str) -> None:
        """Nothing is known of some tensors."""
        self.open |= {(name, fact) for name in names for fact in _FACTS}

    def learn(self, name: str, fact: str, value: Any) -> bool:
        """Take over a fact of a tensor, of one that is null its shape first; whether it is new."""
        desc = self.call.args[name]
        if (name, fact) not in self.open or (desc is None and fact in ("dtype", "format")):
            return False
        self.open.discard((name, fact))
        if fact == "rank":
            self.ranks[name] = value
        else:
            self.open.discard((name, "rank"))
            known = desc if isinstance(desc, TensorDesc) else _nothing(())
            args = {**self.call.args, name: replace(known, **{fact: value})}
            self.call = replace(self.call, args=args)
        return True

    @property
    def with_ranks(self) -> Call:
        """The call with tensors of the known ranks where their shapes are open."""
        placed = {
            name: _nothing((1,) * rank)
            for name, rank in self.ranks.items()
            if self.call.args[name] is None
        }
        return replace(self.call, args={**self.call.args, **placed})

    @property
    def unknown(self) -> str:
        """Why this is no whole call; an empty text where nothing is open."""
        for name in self.spec.kinds:
            facts = [fact for fact in _FACTS[1:] if (name, fact) in self.open]
            if facts:
                return (
                    f"{name} is missing, and the page does not say its {' or '.join(facts)} for"
                    " these inputs; write it into the file"
                )
        return ""


def without_outputs(spec: Spec, call: Call) -> PartialCall:
    """A call of which only the inputs are known, and of tensors no format."""
    names = [p.name for p in spec.outputs if p not in spec.inputs]
    tensors = {
        name: TensorDesc(desc.shape, desc.dtype, UNDEFINED)
        for name, desc in call.args.items()
        if isinstance(desc, TensorDesc)
    }
    args = {**call.args, **tensors, **dict.fromkeys(names)}
    partial = PartialCall(spec, replace(call, args=args), {(name, "format") for name in tensors})
    partial.lacks(*names)
    return partial


def _nothing(shape: tuple[int, ...]) -> TensorDesc:
    return TensorDesc(shape, UNDEFINED, UNDEFINED)


def complete(spec: Spec, calls: Sequence[PartialCall]) -> None:
    """Find what is open in calls of one page, in place. A format that no equality defines is the
    first that the page lists for the tensor, else ND.
    """
    waiting = [call for call in calls if call.open]
    if waiting:
        _leave_out(spec, waiting)
        while _read_facts(spec, waiting):
            pass
        _read_facts(spec, waiting, choose=("format",))
        for partial in waiting:
            for name, fact in sorted(partial.open):
                if fact == "format":
                    partial.learn(name, fact, "ND")


def _view(spec: Spec, calls: list[Call]) -> View:
    return _WithEquals(spec, TableView(spec, from_calls(spec.api, spec.kinds, calls)))


@dataclass(frozen=True)
class _WithEquals:
    """Columns in which an extent that no tensor gives is what the page says it equals: with
    ``inH == Hin``, an item of an array says what the height of a missing output is.
    """

    spec: Spec
    view: TableView

    def get(self, reference: Reference) -> Value:
        value = self.view.get(reference)
        if reference[0] not in self.spec.scope.occurrences or np.all(value.bound):
            return value
        name, what = reference
        others = [guard.require.right[0] for guard in self.spec.equalities.get(reference, ())]
        others += [
            guard.require.left
            for guards in self.spec.equalities.values()
            for guard in guards
            if guard.when is None and guard.require.right[0].text == name and not what
        ]
        for other in others:
            equal = other.value(self.view)
            data = np.where(value.bound, value.data, equal.data)
            value = Value(data, np.asarray(value.bound) | equal.bound)
        return value


def _leave_out(spec: Spec, waiting: list[PartialCall]) -> None:
    """Missing outputs that the mask switches off stay null, where the page admits a null pointer
    for them.
    """
    view, rows = _view(spec, [partial.call for partial in waiting]), len(waiting)
    for p in spec.outputs:
        if p.mask is None:
            continue
        rule, asked = spec.rule.get(f"{p.name}.null"), p.mask.read(view)
        off = asked.bound & ~np.asarray(asked.data, dtype=bool)
        admitted = True if rule is None else ~rule.broken(view, rows)
        for row in np.flatnonzero(np.broadcast_to(off & admitted, rows)):
            if (p.name, "shape") in waiting[row].open:
                waiting[row].open -= {(p.name, fact) for fact in _FACTS}


def _read_facts(spec: Spec, waiting: list[PartialCall], choose: Sequence[str] = ()) -> bool:
    """Read open facts off those that are known; whether anything was learnt. Those to ``choose``
    are the first of a list.
    """
    rows, facts = len(waiting), []
    known = _view(spec, [partial.call for partial in waiting])
    # only a condition may ask for the rank of an open tensor
    ranked = _view(spec, [partial.with_ranks for partial in waiting])
    references = {reference for partial in waiting for reference in partial.open}
    for name, fact in sorted(references, key=lambda reference: reference[1] != "shape"):
        guards = [
            *spec.equalities.get((name, fact), ()),
            *(
                guard
                for guard in spec.memberships.get((name, fact), ())
                if len(guard.require.right) == 1 or fact in choose
            ),
        ]
        for guard in guards:
            needs = set(guard.require.right[0].refs)
            needs |= set(guard.when.refs if guard.when else ()) - {(name, "rank")}
            value = guard.require.right[0].value(known)
            there = np.asarray(value.bound, dtype=bool) & true_where(guard.when, ranked, rows)
            facts += [
                (waiting[row], name, str(fact), _in_row(value, row, str(fact)))
                for row in np.flatnonzero(there).tolist()
                if not needs & waiting[row].open
            ]
    return sum(partial.learn(name, fact, value) for partial, name, fact, value in facts) > 0


def _in_row(value: Value, row: int, fact: str) -> tuple[int, ...] | int | str:
    """One row of a column, as a call has it."""
    if fact == "shape":
        rank, extents = value.data
        size = int(np.asarray(rank).reshape(-1)[row if np.ndim(rank) else 0])
        return tuple(int(v) for v in extents[row if len(extents) > 1 else 0][:size])
    number = int(np.asarray(value.data).reshape(-1)[row if np.ndim(value.data) else 0])
    return number if fact == "rank" else vocabulary().names[fact][number]
