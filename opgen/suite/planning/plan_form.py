"""What stands in a plan: the form of each section, from which follows how it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, get_args

from opgen.calls.vocabulary import vocabulary
from opgen.files.compound_forms import distinct, either, listed, one_or_more, otherwise, table, then
from opgen.files.forms import Form, plain_list, plain_mapping, text, whole, word
from opgen.files.records import key, keys, record
from opgen.files.yamlfile import Document, Location
from opgen.model import TIERS, USUAL, did_you_mean
from opgen.numerics.input_tensor import Role
from opgen.numerics.recipes import DEFAULT, RECIPES
from opgen.spec.catalog import catalog
from opgen.spec.form_values import NUMBER, TERM, Words
from opgen.suite.planning.tier_form import GroupForm, Tier

T = TypeVar("T")
MOST_FACTORS = 16
"""Tensors that one term may multiply; group norm multiplies four."""
ROLES: tuple[Role, ...] = get_args(Role)

WORDS = text("a text", r"\S")
VALUES: Form[Sequence[object]] = distinct(plain_list("a list of values to try", 1))
SOME: Form[Sequence[object]] = plain_list("some of the axis's values", 1)
DATA = listed(
    Form[float](
        "a whole number, inf or -inf",
        lambda: {"anyOf": [{"type": "integer"}, {"enum": ["inf", "-inf"]}]},
        lambda value: type(value) is int or value in ("inf", "-inf"),
        lambda document, where, value: value if type(value) is int else float(value),
    ),
    "a flat list of whole numbers, inf and -inf",
    uniform=True,
)
TIER = word("tier", lambda: TIERS)


# axes ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Axis:
    """Names that are set together, and the values to try; ``values[i]`` holds one value per name in
    ``sets``.
    """

    name: str
    sets: Words
    values: tuple[tuple[object, ...], ...]
    why: str
    narrowed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def of_tier(self, tier: str) -> tuple[tuple[object, ...], ...]:
        """The values that a tier tries: all, or those it narrows the axis to."""
        return tuple(self.values[i] for i in self.narrowed.get(tier, range(len(self.values))))


@dataclass(frozen=True)
class AxisForm:
    """An axis as it is written; a tier's name narrows it to some of its values."""

    sets: Words = key(one_or_more(text("a name"), "a name or a list of names", 1), ())
    values: Sequence[object] = key(VALUES, ())
    why: str = key(text("a text"), "")
    smoke: Sequence[object] | None = key(SOME, None)
    standard: Sequence[object] | None = key(SOME, None)
    full: Sequence[object] | None = key(SOME, None)
    crash: Sequence[object] | None = key(SOME, None)


def _axis(document: Document, where: Location, form: AxisForm) -> Axis:
    name, values = str(where[-1]), list(form.values)
    written = document.data["axes"][where[-1]]
    if isinstance(written, dict) and "values" not in written:
        document.problem(where, "the key 'values' is missing")
    sets, levels, narrowed = form.sets or (name,), [], {}
    for value in values:
        level = [value] if len(sets) == 1 else value
        if isinstance(level, list) and len(level) == len(sets):
            levels.append(tuple(level))
        else:
            expected = f"lists of {len(sets)} values, one for each of {', '.join(sets)}"
            document.problem((*where, "values"), f"expects {expected}; not {value!r}")
    for tier in TIERS:
        chosen = getattr(form, tier)
        if chosen is not None:
            others = [value for value in chosen if value not in values]
            for value in others:
                hint = did_you_mean(value, values)
                document.problem((*where, tier), f"{value!r} is none of the axis's values{hint}")
            if not others and len(levels) == len(values):
                narrowed[tier] = tuple(values.index(value) for value in chosen)
    return Axis(name, sets, tuple(levels), form.why, narrowed)


def _without(blank: T) -> Form[T]:
    """The word ``default`` where the default plan has nothing of that name."""

    def told(document: Document, where: Location, word: str) -> T:
        document.problem(where, f"the default plan has no {where[-1]!r}")
        return blank

    return then(text("the word default", r"^default$"), told)


AXIS = either(
    "a list of values to try, a mapping with values, or the word default",
    then(VALUES, lambda document, where, values: AxisForm(values=values)),
    either("an axis", record(AxisForm), _without(AxisForm())),
)


# lets ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Definition:
    """What a name is, and when."""

    when: str | None = key(TERM, None)
    is_: str | int = key(NUMBER, "", required=True)


LET: Form[tuple[Definition, ...]] = either(
    "a term, or a list of {when: condition, is: term}",
    then(NUMBER, lambda document, where, term: (Definition(is_=term),)),
    listed(record(Definition), "a list of {when: condition, is: term}"),
)


# what is said one by one --------------------------------------------------------------------------
@dataclass(frozen=True)
class Vacuous:
    """A condition under which a pass proves nothing, and why: of every case, or of those at the
    limit of some ``rules``.
    """

    when: str = key(WORDS, "", required=True)
    why: str = key(WORDS, "", required=True)
    rules: Words = key(listed(text("a rule id"), "a list of rule ids", 1), ())


@dataclass(frozen=True)
class Handwritten:
    """A call written by hand, and why it is worth keeping. ``data`` are given values of some
    inputs, row-major; the recipe draws the others.
    """

    id: str = key(WORDS, "", required=True)
    why: str = key(WORDS, "", required=True)
    products: Words = key(
        distinct(listed(word("product", lambda: vocabulary().products), "a list of products", 1)),
        (),
    )
    args: Mapping[str, object] | None = key(
        plain_mapping("a mapping of arguments"), None, required=True
    )
    recipe: str = key(word("recipe", lambda: RECIPES), DEFAULT)
    tiers: Words = key(
        then(
            distinct(listed(TIER, "a list of tiers", 1)),
            lambda document, where, tiers: tiers or USUAL,
        ),
        USUAL,
    )
    data: Mapping[str, tuple[float, ...]] = key(
        table(text("an input"), DATA, "a mapping of input to a flat list of numbers"), {}
    )


# the file -----------------------------------------------------------------------------------------
OPERATOR: Form[str] = Form(
    "a text",
    lambda: {"enum": [*catalog().operators, *catalog().kinds]},
    WORDS.fits,
    WORDS.inside,
)


@dataclass(frozen=True)
class PlanForm:
    """Everything chosen for one operator. ``roles`` say what each tensor is to the data recipes;
    ``factors`` how many tensors one term of a sum multiplies. What a plan that ``extends`` the
    default one does not say, it has of that.
    """

    op: str = key(OPERATOR, "", required=True)
    extends: str = key(word("plan to extend", lambda: ("default",)), "")
    axes: tuple[Axis, ...] = key(
        then(
            table(
                text("a name"),
                then(otherwise(AXIS, AxisForm()), _axis),
                "a mapping of name to values to try",
                1,
            ),
            lambda document, where, axes: tuple(axes.values()),
        ),
        (),
    )
    let: Mapping[str, tuple[Definition, ...]] = key(
        table(text("a name"), LET, "a mapping of name to term"), {}
    )
    roles: Mapping[str, str] = key(
        table(text("a name"), word("role", lambda: ROLES), "a mapping of input to role"), {}
    )
    factors: int = key(
        whole(f"how many tensors one term multiplies, 1 to {MOST_FACTORS}", 1, MOST_FACTORS), 2
    )
    vacuous: tuple[Vacuous, ...] = key(
        listed(
            otherwise(record(Vacuous), Vacuous()),
            "a list of conditions under which a pass proves nothing",
        ),
        (),
    )
    tiers: Mapping[str, Tier] = key(
        either(
            "a mapping of tier to how hard to try, or the word default",
            table(TIER, record(Tier), "a mapping of tier to how hard to try", 1),
            _without({}),
        ),
        {},
    )
    handwritten: tuple[Handwritten, ...] = key(
        listed(otherwise(record(Handwritten), Handwritten()), "a list of handwritten calls"), ()
    )


PLAN = record(PlanForm)
TOP, GROUP_KEYS, TIER_KEYS, VACUOUS_KEYS, HANDWRITTEN_KEYS = map(
    keys, (PlanForm, GroupForm, Tier, Vacuous, Handwritten)
)
"""The keys of a plan file, and of what stands in it."""
