"""What comes of another tool's file: calls, and by name everything that did not become one.

A reader yields an :class:`ImportedCase` per case; :func:`gather` reads it, completes it, and says
what became of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from opgen.calls.call_json import CallFault, make_call, to_json
from opgen.calls.kinds import KINDS, member, prototype
from opgen.interop.completion import UNDEFINED, PartialCall, complete
from opgen.interop.names import Unreadable
from opgen.model import FileError, Problem
from opgen.spec.catalog import Catalog
from opgen.spec.spec import Spec

LONGEST_REASON = 300
"""Characters of the reason why a case cannot be read, at most."""


class NotImported(Exception):
    """Why a case that can be read is no call all the same."""


@dataclass
class ImportedCase:
    """One case of a file, and what ``read`` understands of it, which raises :class:`Unreadable` or
    :class:`NotImported`.

    ``args`` is in the form of a call, without the outputs that the file does not name; a tensor
    without ``format`` has its format open. ``notes`` say what was chosen or left behind,
    ``ignored`` are the keys that a call cannot carry, ``origin`` is where the case came from.
    """

    id: str
    read: Callable[[ImportedCase], None]
    line: int | None = None
    products: Sequence[str] = ()
    api: str = ""
    args: dict[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    origin: dict[str, object] = field(default_factory=dict)

    def take(self, name: str, value: object) -> None:
        """An argument of the call; raises :class:`Unreadable` where it is there already."""
        if name in self.args:
            raise Unreadable(f"{name} is there already")
        self.args[name] = value


@dataclass
class Imported:
    """The calls of a file, as lines of a call file; what could not be read, and what was left out
    on purpose.

    ``ignored``: key of the file -> how many cases had one that a call cannot carry.
    """

    file: str
    ignored: Counter[str] = field(default_factory=Counter)
    cases: int = 0
    lines: list[str] = field(default_factory=list)
    unreadable: list[Problem] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)
    noted: int = 0


def gather(file: str, cases: Iterable[ImportedCase], catalog: Catalog) -> Imported:
    """Calls of the cases that can be read, in their order; the others by name, with the reason.
    Raises FileError where there is no case.
    """
    result = Imported(file)
    calls: dict[str, tuple[ImportedCase, PartialCall]] = {}
    for case in cases:
        result.cases += 1
        try:
            case.read(case)
            calls |= _calls(case, catalog, calls)
        except NotImported as reason:
            result.left_out.append(_problem(file, case, reason))
        except (CallFault, Unreadable) as reason:
            result.unreadable.append(_problem(file, case, reason))
        result.ignored.update(case.ignored)
    if not result.cases:
        raise FileError.of(file, "", "holds no case")
    for spec in catalog.pages({call.spec.api for _, call in calls.values()}):
        complete(spec, [call for _, call in calls.values() if call.spec is spec])
    open_cases = {}
    for id, (case, partial) in calls.items():
        if partial.unknown:
            open_cases[case.id] = _problem(file, case, partial.unknown)
        else:
            result.lines.append(_line(id, case, partial))
            result.noted += bool(case.notes)
    result.unreadable += open_cases.values()
    return result


def _problem(file: str, case: ImportedCase, reason: object) -> Problem:
    text = str(reason)
    if len(text) > LONGEST_REASON:
        text = f"{text[: LONGEST_REASON - 3]}..."
    return Problem(file, case.line, f"case {case.id}", text)


def _calls(
    case: ImportedCase, catalog: Catalog, known: dict[str, tuple[ImportedCase, PartialCall]]
) -> dict[str, tuple[ImportedCase, PartialCall]]:
    """The calls of a case by their ids, one per product; none may be ``known``."""
    if not case.products:
        raise Unreadable("names no product; say for which with --product")
    calls = {}
    for product in case.products:
        id = case.id if len(case.products) == 1 else f"{case.id}-{product}"
        if id in known:
            line = known[id][0].line
            place = f"line {line}" if line else "the file"
            raise Unreadable(f"the id {id} stands in {place} already; ids must differ")
        calls[id] = case, _partial(case, product, catalog)
    return calls


def _partial(case: ImportedCase, product: str, catalog: Catalog) -> PartialCall:
    """A case as a call for a product, open where the file says nothing."""
    spec = catalog.by_page[case.api, product]
    known = prototype(spec.kinds)
    missing = list[str]()
    described, args = dict[str, dict[str, object]](), dict.fromkeys(known) | case.args
    for name in [name for name in known if name not in case.args]:
        number = _number(spec, case, name)
        if spec.parameters[name].kind == "output":
            missing.append(name)
        elif spec.parameters[name].kind == "output_list" and number is not None:
            missing += [member(name, i) for i in range(number)]
            args[name] = [None] * number
        else:
            raise Unreadable(f"{name} is missing; {case.api} takes {', '.join(known)}")
    for name, value in case.args.items():
        family = KINDS[spec.kinds[name]].family if name in known else ""
        if family == "tensor" and isinstance(value, dict):
            described[name] = value
            args[name] = {"format": UNDEFINED, **value}
        elif family == "list" and isinstance(value, list):
            described |= {member(name, i): desc for i, desc in enumerate(value) if desc}
            args[name] = [desc and {"format": UNDEFINED, **desc} for desc in value]
    partial = PartialCall(spec, make_call(case.api, product, args, {case.api: spec.kinds}))
    partial.lacks(*missing)
    partial.open |= {(name, "format") for name, desc in described.items() if "format" not in desc}
    return partial


def _number(spec: Spec, case: ImportedCase, name: str) -> int | None:
    """How many tensors a list has that the file does not name: as many as another list, if the page
    says so.
    """
    for guard in spec.equalities.get((name, "len"), ()):
        ((other, what), *_) = guard.require.right[0].refs
        if what == "len" and isinstance(listed := case.args.get(other), list):
            return len(listed)
    return None


def _line(id: str, case: ImportedCase, partial: PartialCall) -> str:
    """A call as a line of a call file."""
    call = partial.call
    line = {"id": id, "op": call.api, "product": call.product, "args": to_json(call)}
    notes = {"notes": case.notes} if case.notes else {}
    return json.dumps(line | {"origin": case.origin} | notes)
