"""Why a pass proves nothing: a wrong device would have passed as well."""

from __future__ import annotations

from opgen.comparison.comparing import Comparison
from opgen.numerics.bounds import CONCLUSIVE


def why_inconclusive(given: Comparison, row: int) -> str:
    """Why a pass of a case proves nothing, by its suite or by its numbers; empty where it proves
    something.
    """
    bundle = given.bundle
    why: str = bundle.strings[bundle.tables["cases"]["inconclusive"][row]]
    if why or row not in given.compared:
        return why
    table = given.table
    some = [i for i in given.of_case[row] if table["elements"][i]]
    if not (table["nonzero"][some].any() or (given.unwritten[some] == 0).all()):
        return "every golden is zero, so a device that writes nothing would pass"
    for i in some:
        elements, unbounded = int(table["elements"][i]), int(table["unbounded"][i])
        if 2 * unbounded > elements:
            return f"{given.name(i)}: {unbounded} of {elements} elements have no finite bound"
        if table["nonzero"][i] and not table["telling"][i]:
            return f"{given.name(i)}: no bound is below {CONCLUSIVE:g} of its golden"
    return ""
