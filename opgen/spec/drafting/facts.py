"""The facts of a draft while a page is read: keys of parameters, rules about several, their places,
and what is left to decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from opgen.calls.kinds import KINDS, Family

Value: TypeAlias = object
Letters: TypeAlias = dict[int, "list[int | str] | dict[str, list[int | str]]"]
"""Rank -> the letter or extent of each axis, or the same in each format."""


class Clause(NamedTuple):
    """Where the page answers a breach: a status code, the number of the clause, 0 where the page
    numbers none, and its line.
    """

    code: int
    number: int
    line: int


class Combined(NamedTuple):
    """Dtypes that two tensors may have together, for some products, all where it names none."""

    products: tuple[str, ...]
    one: str
    other: str
    line: int


ATTRIBUTES = ("dtype", "format", "rank", "shape")
"""What two tensors may have to share."""


@dataclass
class Key:
    """The value of a key of a parameter, and the lines that say so."""

    value: Value
    at: list[int]


@dataclass
class DraftedParameter:
    """A parameter: its kind, its line, and its keys."""

    name: str
    kind: str
    line: int
    keys: dict[str, Key] = field(default_factory=dict)

    @property
    def family(self) -> Family:
        """What it has in common with parameters of other kinds."""
        return KINDS[self.kind].family

    @property
    def is_pointer(self) -> bool:
        """Whether it may be null."""
        return KINDS[self.kind].c_type.endswith("*")

    @property
    def is_written(self) -> bool:
        """Whether it is an output."""
        return KINDS[self.kind].written

    @property
    def is_tensor(self) -> bool:
        """Whether it has dtype, format and shape."""
        return self.family == "tensor"


@dataclass
class DraftedRule:
    """A fact about several parameters; ``about``: these, and the attribute that they share."""

    require: str
    at: list[int]
    about: tuple[str, ...] = ()
    attribute: str = ""
    when: str = ""


@dataclass
class Facts:
    """What was read so far. ``places``: rule id -> where the page puts it; ``undecided``: line ->
    what there is to decide, in our words -> the parameters in it; ``disputed``: rules, and
    parameters for their kind, that the page contradicts elsewhere;
    ``shape_lines``: those of sentences in the column of shapes; ``shapes_left``: parameters of
    whose shapes a sentence is undecided; ``combined``: two tensors -> the dtypes that they may have
    together; ``made``: an axis that the page writes as a product -> its letter; ``promoted``: pairs
    of tensors whose dtypes need only promote; ``chosen``: a letter, the
    word for an axis or a parameter -> condition -> the number that the letter is, a mark where the
    axis is the first, or the shapes of the parameter.
    """

    parameters: dict[str, DraftedParameter]
    rules: dict[str, DraftedRule] = field(default_factory=dict)
    places: dict[str, Clause] = field(default_factory=dict)
    undecided: dict[int, dict[str, set[str]]] = field(default_factory=dict)
    disputed: set[str] = field(default_factory=set)
    shape_lines: set[int] = field(default_factory=set)
    shapes_left: set[str] = field(default_factory=set)
    combined: dict[tuple[str, str], list[Combined]] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    promoted: set[frozenset[str]] = field(default_factory=set)
    chosen: dict[str, dict[str, str]] = field(default_factory=dict)

    def todo(self, line: int, what: str, names: Iterable[str] = ()) -> None:
        """Leave a line to a person; ``names``: the parameters that stand in it."""
        self.undecided.setdefault(line, {}).setdefault(what, set()).update(names)

    def left(self) -> dict[int, str]:
        """Line -> what there is to decide, in the order of the page."""

        def said(what: str, names: set[str]) -> str:
            return what + (f" names {', '.join(self.in_order(names))}" if names else "")

        return {
            line: "; ".join(said(what, names) for what, names in sorted(told.items()))
            for line, told in sorted(self.undecided.items())
        }

    def tensors(self, names: Iterable[str]) -> bool:
        """Whether all of these are tensors."""
        return all(self.parameters[name].is_tensor for name in names)

    def of_family(self, family: Family) -> list[DraftedParameter]:
        """The parameters of a family."""
        return [p for p in self.parameters.values() if p.family == family]

    def set(self, name: str, key: str, value: Value, line: int) -> bool:
        """Whether a key of a parameter may have this value: it has none yet, or the same."""
        known = self.parameters[name].keys.setdefault(key, Key(value, []))
        if known.value == value and line not in known.at:
            known.at.append(line)
        return known.value == value

    def cite(self, rule: str, line: int) -> bool:
        """Whether a rule has lines, of which this is one from now on."""
        name, _, key = rule.partition(".")
        known = self.rules.get(rule) or (key and self.parameters[name].keys.get(key))
        if not known:
            return False
        known.at += [line] if line not in known.at else []
        return True

    def same(self, attribute: str, one: str, other: str, line: int, when: str = "") -> None:
        """``one`` has the attribute of ``other``: a rule, unless it follows from others. A plan
        makes what an equality of shapes has on its left, so an output stands there.
        """
        known = self.sharing(attribute, self.parameters).values()
        joined = {frozenset(rule.about): rule for rule in known if rule.when == when}
        direct = joined.get(frozenset((one, other)))
        if direct:
            direct.at += [line] if line not in direct.at else []
        elif other not in reached(one, joined):
            own = one if self.parameters[one].is_tensor else f"{one}[each]"
            sides = [f"{own}.{attribute}", f"{other}.{attribute}"]
            made = [self.parameters[name].is_written for name in (one, other)]
            turned = attribute == "shape" and made == [False, True]
            require = " == ".join(sides[::-1] if turned else sides)
            self.relate(require, line, (one, other), attribute, when)

    def in_order(self, names: Iterable[str]) -> list[str]:
        """These parameters as the prototype has them."""
        wanted = set(names)
        return [name for name in self.parameters if name in wanted]

    def relate(
        self, require: str, line: int, about: tuple[str, ...], attribute: str, when: str = ""
    ) -> str:
        """The id of a rule about several parameters, which now cites this line too."""
        for name, rule in self.rules.items():
            if (rule.require, rule.when) == (require, when):
                rule.at += [line] if line not in rule.at else []
                return name
        name = self._name(f"{snake(about[0])}_{attribute}", about, when)
        self.rules[name] = DraftedRule(require, [line], about, attribute, when)
        return name

    def _name(self, name: str, about: tuple[str, ...], when: str) -> str:
        names = [name, f"{name}_of_{snake(about[-1])}"]
        names += [f"{name}_{i}" for i in range(2, 99)]
        return next(one for one in names if one not in self.rules)

    def sharing(self, attribute: str, names: Iterable[str]) -> dict[str, DraftedRule]:
        """The rules by which two of these share an attribute."""
        wanted = set(names)
        return {
            name: rule
            for name, rule in self.rules.items()
            if rule.attribute == attribute and len(rule.about) == 2 and set(rule.about) <= wanted
        }


def reached(start: str, pairs: Iterable[frozenset[str]]) -> set[str]:
    """All that these pairs join with ``start``, which is among them."""
    result = {start}
    while more := set().union(*(pair for pair in pairs if pair & result)) - result:
        result |= more
    return result


def snake(name: str) -> str:
    """A name of the vendor's as specs spell it.

    >>> names = "AvgPool2dBackward", "GridSampler2DBackward", "GeluBackwardV2", "NLLLossGrad", "N"
    >>> for name in names:
    ...     print(snake(name))
    avg_pool2d_backward
    grid_sampler2d_backward
    gelu_backward_v2
    nll_loss_grad
    n
    """
    name = re.sub(r"(\d)D(?=[A-Z]|$)", r"\1d", name)
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return name.lower()


def products_term(products: Iterable[str]) -> str:
    """The condition that a call is for one of these products; none where there are none."""
    told = [*map(repr, products)]
    several = f"product in ({', '.join(told)})"
    return several if len(told) > 1 else " ".join(f"product == {product}" for product in told)


def per_product(value: Value) -> Mapping[str, list[str]]:
    """A dtype key as product (or any) -> dtypes."""
    return value if isinstance(value, dict) else {"any": list(value)}  # type: ignore[call-overload]
