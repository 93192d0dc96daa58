"""What comes of another tool's file: calls, and by name everything that did not become one.

A reader yields an :class:`ImportedCase` per case; :func:`gather` checks it, completes it, and says
what became of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from opgen.calls.call_json import CallFault, make_call, to_json
from opgen.interop.completion import PartialCall, complete
from opgen.interop.names import Unreadable
from opgen.model import FileError, Problem
from opgen.spec.catalog import Catalog

LONGEST_REASON = 300
"""Characters of the reason why a case cannot be read, at most."""


@dataclass
class ImportedCase:
    """One case as a reader understood it.

    ``args`` is in the form of a call, without the outputs that the file does not name; a tensor
    without ``format`` has its format open. ``notes`` say what was chosen or left behind, ``origin``
    where the case came from. ``skip`` is a reason to leave out a case that can be read, ``fault``
    why this one cannot.
    """

    id: str
    line: int | None = None
    api: str = ""
    products: Sequence[str] = ()
    args: dict[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    origin: dict[str, object] = field(default_factory=dict)
    skip: str = ""
    fault: str = ""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Where a part of the case is read: what cannot be becomes its fault."""
        try:
            yield
        except (CallFault, Unreadable) as reason:
            self.fault = str(reason)

    def problem(self, file: str, reason: str) -> Problem:
        """A reason, under the name of this case."""
        return Problem(file, self.line, f"case {self.id}", reason)


@dataclass
class Imported:
    """The calls of a file, as lines of a call file; what could not be read, and what was left out
    on purpose.

    ``ignored``: key of the file -> how many cases had one that a call cannot carry.
    """

    file: str
    ignored: Counter[str]
    cases: int = 0
    lines: list[str] = field(default_factory=list)
    unreadable: list[Problem] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)
    noted: int = 0


def gather(
    file: str, cases: Iterable[ImportedCase], catalog: Catalog, ignored: Counter[str]
) -> Imported:
    """Calls of the cases that can be read, in their order; the others by name, with the reason.
    Raises FileError where there is no case.
    """
    result = Imported(file, ignored)
    places: dict[str, str] = {}
    calls: dict[str, tuple[ImportedCase, PartialCall]] = {}
    for case in cases:
        result.cases += 1
        if not (case.skip or case.fault):
            with case.reading():
                calls |= _calls(case, catalog, places)
        if case.skip:
            result.left_out.append(case.problem(file, case.skip))
        elif case.fault:
            result.unreadable.append(case.problem(file, _cut(case.fault)))
    if not result.cases:
        raise FileError.of(file, "", "holds no case")
    for spec in catalog.specs:
        complete(spec, [call for _, call in calls.values() if call.spec is spec])
    for id, (case, partial) in calls.items():
        if not partial.unknown:
            result.lines.append(_line(id, case, partial))
            result.noted += bool(case.notes)
        elif not case.fault:
            case.fault = partial.unknown
            result.unreadable.append(case.problem(file, case.fault))
    return result


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else f"{text[: LONGEST_REASON - 3]}..."


def _calls(
    case: ImportedCase, catalog: Catalog, places: dict[str, str]
) -> dict[str, tuple[ImportedCase, PartialCall]]:
    """The calls of a case by their ids, one per product; ``places`` are those of all ids so far."""
    if not case.products:
        raise Unreadable("names no product; say for which with --product")
    calls = {}
    for product in case.products:
        id = case.id if len(case.products) == 1 else f"{case.id}-{product}"
        if id in places:
            raise Unreadable(f"the id {id} stands in {places[id]} already; ids must differ")
        calls[id] = case, _partial(case, product, catalog)
    places |= dict.fromkeys(calls, f"line {case.line}" if case.line else "the file")
    return calls


def _partial(case: ImportedCase, product: str, catalog: Catalog) -> PartialCall:
    """A case as a call for a product, open where the file says nothing."""
    spec = catalog.by_page[case.api, product]
    missing = [name for name in spec.kinds if name not in case.args]
    for name in missing:
        if spec.parameters[name].kind != "output":
            raise Unreadable(f"{name} is missing; {case.api} takes {', '.join(spec.kinds)}")
    unformatted = [
        name
        for name, value in case.args.items()
        if isinstance(value, dict) and "format" not in value
    ]
    args = case.args | dict.fromkeys(missing)
    args |= {name: {**args[name], "format": "UNDEFINED"} for name in unformatted}  # type: ignore[dict-item]
    partial = PartialCall(spec, make_call(case.api, product, args, {case.api: spec.kinds}))
    partial.lacks(*missing)
    partial.open |= {(name, "format") for name in unformatted}
    return partial


def _line(id: str, case: ImportedCase, partial: PartialCall) -> str:
    """A call as a line of a call file."""
    call = partial.call
    line = {"id": id, "op": call.api, "product": call.product, "args": to_json(call)}
    notes = {"notes": case.notes} if case.notes else {}
    return json.dumps(line | {"origin": case.origin} | notes)
