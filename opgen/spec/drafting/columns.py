"""What the columns of a table say of a parameter: its role, and lists of what it may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opgen.calls.kinds import KINDS
from opgen.spec.drafting import cells
from opgen.spec.drafting.facts import DraftedParameter, Facts
from opgen.spec.pages.page import Column, PageParameter

LISTS: Mapping[Column, Callable[[str], Sequence[object] | None]] = {
    "dtype": cells.dtypes,
    "format": cells.formats,
    "rank": cells.ranks,
}
"""Columns of lists -> how a cell is read; the key of a parameter is called as its column."""


def set_role(facts: Facts, parameter: DraftedParameter, described: PageParameter) -> None:
    """What the table calls an output alone, or both, is that, whatever the prototype says; any
    other difference is left to a person. What it calls optional may be null.
    """
    role, line = described.text("role"), described.line
    told = "输入" in role, "输出" in role
    if "可选" in role and parameter.is_pointer:
        facts.set(parameter.name, "null", True, described.cells["role"][0].line)
    if parameter.is_tensor and told == (False, True) and parameter.kind == "tensor":
        parameter.kind = "output"
        facts.todo(line, f"the prototype calls '{parameter.name}' an input")
    if parameter.is_tensor and all(told):
        parameter.kind = "inout"
    kind = KINDS[parameter.kind]
    if parameter.is_tensor and told not in ((kind.read, kind.written), (False, False)):
        facts.disputed.add(parameter.name)
        facts.todo(
            line,
            f"the table and the prototype differ on whether '{parameter.name}' is written",
        )


def set_list(
    facts: Facts, parameter: DraftedParameter, column: Column, described: PageParameter
) -> bool:
    """Whether a cell is blank or a list, which is the value of a key then."""
    text, sentences = described.text(column), described.cells.get(column, ())
    tensors = parameter.family in ("tensor", "list")
    listed = tensors or (column, parameter.kind) == ("dtype", "scalar")
    values = LISTS[column](text) if listed else None
    untyped = not tensors and column == "dtype" and values is None
    if text in cells.BLANK or untyped or (not parameter.is_tensor and text == "1"):
        return True
    if values is None or any(sentence.products for sentence in sentences):
        return False
    return facts.set(parameter.name, column, values, sentences[0].line)
