"""Plans: what the reader refuses and in which words, and what does not fit a spec."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path

import pytest

from opgen.files.resources import cases_folder
from opgen.model import TIERS, FileError
from opgen.quality.mutants import find
from opgen.spec.catalog import catalog
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.plan import load_plan, plan_for
from opgen.suite.planning.plan_check import check_plan, checked_plan, fitting_plan, shipped_plan
from opgen.suite.selection import Request
from tests.support import copies

SHIPPED = cases_folder() / "reflection_pad2d_backward.yaml"

GOOD = """
op: aclnnReflectionPad2dBackward
roles: {gradOutput: gradient}
factors: 1
axes:
  product: {values: [ascend910b], why: one}
  dtype: [FLOAT, FLOAT16]
  horizontal: {sets: [padLeft, padRight], values: [[0, 1], [2, 1]], why: two, smoke: [[2, 1]]}
  size: {sets: grow, values: [3, 1]}
let: {H: "max(padTop, padBottom) + grow", W: "max(padLeft, padRight) + grow", N: "2", C: "3"}
vacuous:
  - {when: padLeft == 0 and padRight == 0, why: nothing is reflected}
tiers:
  smoke: {strength: 1, elements: 100}
  standard: {strength: 2, groups: [{axes: [dtype, size], strength: 2}]}
handwritten:
  - id: one
    why: because
    args: {gradOutput: null, self: null, padding: null, gradInput: null}
"""

FORM = [  # (what is written instead of what, message)
    ("op: aclnnReflectionPad2dBackward", "", "the key 'op' is missing"),
    ("axes:", "axis:", "axis: no such key (did you mean 'axes'?)"),
    ("tiers:", "levels:", "the key 'tiers' is missing"),
    (
        "gradOutput: gradient",
        "gradOutput: gradeint",
        "no such role 'gradeint' (did you mean 'gradient'?)",
    ),
    (
        (
            'let: {H: "max(padTop, padBottom) + grow", W: "max(padLeft, padRight) + grow", N: "2",'
            ' C: "3"}'
        ),
        "let: [H]",
        "let: expects a mapping of name to term, not ['H']",
    ),
    (
        "op: aclnnReflectionPad2dBackward",
        "op: [aclnnReflectionPad2dBackward]",
        "op: expects a text, not ['aclnnReflectionPad2dBackward']",
    ),
    ('let: {H: "max', 'let: {7: "1", H: "max', "let.7: expects a name, not 7"),
    (
        'N: "2"',
        "N: 2.5",
        "let.N: expects a term, or a list of {when: condition, is: term}, not 2.5",
    ),
    ('N: "2"', 'N: [{if: transposed, is: "2"}]', "let.N.0.if: no such key; known: when, is"),
    ('N: "2"', "N: [{when: transposed}]", "let.N.0: the key 'is' is missing"),
    (
        "sets: [padLeft, padRight]",
        "sets: [padLeft, 3]",
        "axes.horizontal.sets: expects a name or a list of names, not ['padLeft', 3]",
    ),
    (
        "factors: 1",
        "factors: true",
        "expects how many tensors one term multiplies, 1 to 16, not True",
    ),
    ("factors: 1", "factors: 0", "expects how many tensors one term multiplies, 1 to 16, not 0"),
    (
        "factors: 1",
        "factors: 9999999999999999999999",
        "expects how many tensors one term multiplies, 1 to 16, not 9999999999999999999999",
    ),
    ("dtype: [FLOAT, FLOAT16]", "dtype: FLOAT", "or the word default, not 'FLOAT'"),
    ("dtype: [FLOAT, FLOAT16]", "dtype: {values: []}", "expects a list of values to try, not []"),
    (
        "dtype: [FLOAT, FLOAT16]",
        "dtype: [FLOAT, FLOAT]",
        "axes.dtype: 'FLOAT' appears twice; keep one",
    ),
    ("dtype: [FLOAT, FLOAT16]", "dtype: {value: [FLOAT]}", "no such key (did you mean 'values'?)"),
    (
        "[[0, 1], [2, 1]]",
        "[[0, 1], [2]]",
        "expects lists of 2 values, one for each of padLeft, padRight; not [2]",
    ),
    (
        "smoke: [[2, 1]]",
        "smoke: [[2, 2]]",
        "[2, 2] is none of the axis's values (did you mean '[2, 1]'?)",
    ),
    ("smoke: {strength", "smoek: {strength", "no such tier 'smoek' (did you mean 'smoke'?)"),
    ("strength: 1", "strenght: 1", "no such key (did you mean 'strength'?)"),
    ("strength: 1", "strength: many", "expects a whole number from 0 to 4, not 'many'"),
    (
        "strength: 1",
        "strength: 5",
        "tiers.smoke.strength: expects a whole number from 0 to 4, not 5",
    ),
    ("strength: 1", "strength: true", "expects a whole number from 0 to 4, not True"),
    (
        "elements: 100",
        "elements: -1",
        "expects a whole number from 0 to 2^53, not -1",
    ),
    (
        "elements: 100",
        f"cases: {10**30}",
        f"tiers.smoke.cases: expects a whole number from 0 to 2^53, not {10**30}",
    ),
    (
        "size], strength: 2",
        "size], strenght: 2",
        "groups.0.strenght: no such key (did you mean 'strength'?)",
    ),
    (
        "axes: [dtype, size]",
        "axes: [dtype, sise]",
        "groups.0.axes.sise: no such axis (did you mean 'size'?)",
    ),
    (
        "axes: [dtype, size]",
        "axes: [dtype, {size: 1}]",
        "expects a list of axes, not ['dtype', {'size': 1}]",
    ),
    (
        "axes: [dtype, size], strength: 2",
        "axes: 2",
        "groups.0.axes: expects a list of axes, not 2",
    ),
    (
        "size], strength: 2",
        "size], strength: true",
        "groups.0.strength: expects how many axes are combined at a time, 1 to 4, not True",
    ),
    (
        "size], strength: 2",
        "size], strength: 3",
        "groups.0.strength: expects at most 2 of 2 axes at a time, not 3",
    ),
    (
        "handwritten:\n  - id: one",
        "handwritten:\n  - one\n  - id: one",
        "handwritten.0: expects a mapping with some of id, why, products, args, recipe, tiers,",
    ),
    (
        "handwritten:\n  - id: one",
        "handwritten:\n    id: one",
        "handwritten: expects a list of handwritten calls, not {'id': 'one',",
    ),
    (
        "vacuous:\n  - {when",
        "vacuous:\n    {when",
        "vacuous: expects a list of conditions under which a pass proves nothing, not {'when'",
    ),
    ("    why: because\n", "", "the key 'why' is missing"),
    (
        "    why: because\n",
        "    why: because\n    recipe: grit\n",
        "no such recipe 'grit' (did you mean 'grid'?)",
    ),
    (
        "    why: because\n",
        "    why: because\n    recipe: {grid: 1}\n",
        "handwritten.0.recipe: no such recipe {'grid': 1}",
    ),
    (
        "    why: because\n",
        "    why: because\n    products: 9\n",
        "expects a list of products, not 9",
    ),
    (
        "    why: because\n",
        "    why: because\n    products: []\n",
        "expects a list of products, not []",
    ),
    (
        "    why: because\n",
        "    why: because\n    products: [ascend910x]\n",
        "products.0: no such product 'ascend910x' (did you mean 'asc",
    ),
    (
        "    why: because\n",
        "    why: because\n    products: [[ascend910]]\n",
        "products.0: no such product ['ascend910']",
    ),
    (
        "    why: because\n",
        "    why: because\n    products: [ascend910, ascend910]\n",
        "products: 'ascend910' appears twice; keep one",
    ),
    (
        "    why: because\n",
        "    why: because\n    tiers: [smok]\n",
        "tiers.0: no such tier 'smok' (did you mean 'smoke'?)",
    ),
    (
        "    why: because\n",
        "    why: because\n    tiers: smoke\n",
        "expects a list of tiers, not 'smoke'",
    ),
    ("    why: because\n", "    why: because\n    tiers: []\n", "expects a list of tiers, not []"),
    ("    why: because\n", "    why: 3\n", "handwritten.0.why: expects a text, not 3"),
    ("  - id: one", "  - id: [one]", "handwritten.0.id: expects a text, not ['one']"),
    (
        "args: {gradOutput: null, self: null, padding: null, gradInput: null}",
        "args: [null]",
        "args: expects a mapping of arguments, not [None]",
    ),
    (
        "    why: because\n",
        "    why: because\n    data: {self: [0.5]}\n",
        "data.self: expects a flat list of whole numbers, inf and -inf, not [0.5]",
    ),
    (
        "    why: because\n",
        "    why: because\n  - id: one\n    why: twice\n    args: {}\n  - id: two\n    why: so\n",
        "is the id of two handwritten cases",
    ),
    ("why: nothing is reflected", "because: so", "vacuous.0: the key 'why' is missing"),
    ("why: nothing is reflected", "why: [so]", "vacuous.0.why: expects a text, not ['so']"),
    ("why: nothing is reflected", "why: so, rules: []", "expects a list of rule ids, not []"),
    (
        "why: nothing is reflected",
        "why: so, rules: [3]",
        "vacuous.0.rules.0: expects a rule id, not 3",
    ),
    (
        "values: [ascend910b], why: one",
        "values: [ascend910b], why: [one]",
        "axes.product.why: expects a text, not ['one']",
    ),
    ("why: nothing is reflected", "why: so, rules: pad", "expects a list of rule ids, not 'pad'"),
    ("factors: 1", "factors: 1\nfactors: 2", "twice"),
]

FIT = [
    (
        "gradOutput: gradient",
        "gradOutptu: gradient",
        "roles.gradOutptu: no such input (did you mean 'gradOutput'?)",
    ),
    ("gradOutput: gradient", "gradInput: gradient", "roles.gradInput: no such input"),
    (
        "why: nothing is reflected",
        "why: so, rules: [padding.length, padding.lenght]",
        "has a rule 'padding.lenght' (did you mean 'padding.length'?)",
    ),
    ("padding: null, gradInput", "padding: [0.5], gradInput", "one: "),
    ("padding: null, gradInput", "pading: null, gradInput", "one: "),
    (
        "    why: because\n",
        "    why: because\n    data: {self: [1]}\n",
        "one: 'self' is not an input tensor of this call",
    ),
    ("ascend910b]", "ascend910c]", "no such product 'ascend910c' (did you mean 'ascend910'?)"),
    ("[FLOAT, FLOAT16]", "[FLOAT, FLOAT61]", "no such dtype 'FLOAT61' (did you mean 'FLOAT16'?)"),
    (
        "sets: [padLeft, padRight]",
        "sets: [padLeft, padding.size]",
        "'padding.size' is not a name of specs/reflection_pad2d_backward.yaml",
    ),
    (
        "sets: [padLeft, padRight]",
        "sets: [padLeft, 3 + 4]",
        "'3 + 4': is not a name of the rule language",
    ),
    ("[[0, 1],", "[[0, lefty],", "no such name 'lefty'"),
    ("[[0, 1],", "[[0, true],", "True is not of kind int"),
    ('+ grow", W', '+ grov", W', "no such name 'grov' (did you mean 'grow'?)"),
    (
        "when: padLeft == 0",
        "when: padLeftt == 0",
        "no such name 'padLeftt' (did you mean 'padLeft'?)",
    ),
    ("when: padLeft == 0", "when: grow == 0", "no such name 'grow'"),
]

CALL = (
    '{"id": "one", "op": "aclnnReflectionPad2dBackward", "product": "ascend910b", '
    '"args": {"gradOutput": null, "self": null, "padding": null, "gradInput": null}}\n'
)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def spec():
    return next(spec for spec in catalog().specs if spec.op == "reflection_pad2d_backward")


def test_a_good_plan_is_read(tmp_path: Path) -> None:
    plan = load_plan(written(tmp_path, GOOD))
    compiled = CompiledPlan(spec(), plan, "standard")
    assert compiled.shape == (1, 2, 2, 2)
    assert plan.tiers["smoke"].elements == 100
    assert CompiledPlan(spec(), plan, "smoke").shape == (1, 2, 1, 2)
    assert plan.handwritten[0].tiers == TIERS[:3]
    assert plan.vacuous[0].why == "nothing is reflected"


def test_handwritten_data_may_be_infinite(tmp_path: Path) -> None:
    data = '    why: because\n    data: {self: [1, "inf", "-inf"]}\n'
    plan = load_plan(written(tmp_path, GOOD.replace("    why: because\n", data)))
    assert plan.handwritten[0].data == {"self": (1, inf, -inf)}
    with pytest.raises(FileError, match="a flat list of whole numbers, inf and -inf, not"):
        load_plan(written(tmp_path, GOOD.replace("    why: because\n", data.replace("inf", "nan"))))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("elements: 2**28", 2**28),
        ("bytes: 10 GiB", 10 * 2**30),
        ("bytes: 500MB", 500 * 10**6),
        ("bytes: 2**31", 2**31),
        ("elements: 10 GiB", None),
        ("bytes: 10 Gib", None),
        ("bytes: 9000000 TiB", None),
        ("elements: 2**54", None),
        ("bytes: -1 MB", None),
    ],
)
def test_sizes_are_written_as_powers_and_with_units(
    tmp_path: Path, text: str, meant: int | None
) -> None:
    path, key = written(tmp_path, GOOD.replace("elements: 100", text)), text.partition(":")[0]
    if meant is not None:
        assert getattr(load_plan(path).tiers["smoke"], key) == meant
        return
    with pytest.raises(FileError, match=f"smoke.{key}: expects a whole number from 0 to 2\\^53"):
        load_plan(path)


@pytest.mark.parametrize(
    ("old", "new", "message"), FORM, ids=[message[:40] for *_, message in FORM]
)
def test_what_is_no_plan_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(FileError) as caught:
        load_plan(written(tmp_path, GOOD.replace(old, new)), "plan.yaml")
    told = str(caught.value)
    assert message in told
    assert "plan.yaml:" in told


def test_a_value_of_a_wrong_length_is_all_that_is_said_of_it(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        load_plan(
            written(tmp_path, GOOD.replace("[[0, 1], [2, 1]]", "[[0, 1, 2], [1], [2, 1]]")),
            "plan.yaml",
        )
    assert [one.text.partition(";")[2] for one in caught.value.problems] == [
        " not [0, 1, 2]",
        " not [1]",
    ]


@pytest.mark.parametrize("section", ["axes", "tiers"])
@pytest.mark.parametrize("value", ["{}", "null", "[]", "''", "0"])
def test_a_plan_without_axes_or_tiers_is_refused(tmp_path: Path, section: str, value: str) -> None:
    lines = GOOD.splitlines()
    start = lines.index(f"{section}:")
    end = next(i for i in range(start + 1, len(lines)) if not lines[i].startswith(" "))
    with pytest.raises(FileError, match=f"plan.yaml:{start + 1}: {section}: expects a mapping"):
        load_plan(
            written(tmp_path, "\n".join([*lines[:start], f"{section}: {value}", *lines[end:]])),
            "plan.yaml",
        )


@pytest.mark.parametrize("text", ["[op, axes]", "op", ""])
def test_what_is_no_mapping_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        FileError, match="^plan.yaml(:1)?: expects a mapping with some of op, extends, axes, "
    ) as caught:
        load_plan(written(tmp_path, text), "plan.yaml")
    assert len(caught.value.problems) == 1


def test_an_empty_plan_is_told_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        load_plan(written(tmp_path, "{}"), "plan.yaml")
    assert [problem.text for problem in caught.value.problems] == [
        "the key 'axes' is missing (or write extends: default)",
        "the key 'op' is missing",
        "the key 'tiers' is missing (or write extends: default)",
    ]


@pytest.mark.parametrize(("old", "new", "message"), FIT, ids=[message[:40] for *_, message in FIT])
def test_names_that_do_not_fit_the_spec_are_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in GOOD
    plan = load_plan(written(tmp_path, GOOD.replace(old, new)), "plan.yaml")
    with pytest.raises(FileError) as caught:
        check_plan(plan, [spec()])
    told = str(caught.value)
    assert message in told
    assert told.startswith("plan.yaml:")


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    bad = (
        GOOD.replace("factors: 1", "factors: 0")
        .replace("[[0, 1], [2, 1]]", "[[0, 1], [2]]")
        .replace("elements: 100", "elements: -1")
    )
    with pytest.raises(FileError) as caught:
        load_plan(written(tmp_path, bad))
    assert len(caught.value.problems) >= 3


def test_what_does_not_fit_is_told_at_once_whatever_the_tier(tmp_path: Path) -> None:
    bad = GOOD.replace("gradOutput: gradient", "gradInput: gradient").replace(
        "smoke: [[2, 1]]", "smoke: [[0, 1]]"
    )
    bad = bad.replace("[[0, 1], [2, 1]]", "[[0, 1], [2, lefty]]")
    bad = bad.replace("why: nothing is reflected", "why: so, rules: [pad]").replace(
        "padding: null, gradInput", "gradInput"
    )
    with pytest.raises(FileError) as caught:
        check_plan(load_plan(written(tmp_path, bad)), [spec()])
    assert [problem.where for problem in caught.value.problems] == [
        "roles.gradInput",
        "axes.horizontal.values",
        "vacuous.0.rules",
        "one",
    ]


# what is written instead, and where the problems are told: of form, and of what fits no page
SEVERAL = [
    (
        {
            "factors: 1": "factors: 1\nfoo: [1]",
            "[FLOAT, FLOAT16]": "[FLAOT]",
            "strength: 1": "strength: 9",
            "    why: because\n": "    recipe: nope\n",
            "{gradOutput: null, self: null, padding: null, gradInput: null}": "{gradOutput: null}",
        },
        [
            "foo",
            "axes.dtype.values",
            "tiers.smoke.strength",
            "handwritten.0",
            "handwritten.0.recipe",
            "one",
        ],
    ),
    (
        {"handwritten:\n": "handwritten:\n  - {id: one, why: so, args: {gradOutput: null}}\n"},
        ["one", "one"],
    ),
    (
        {"[[0, 1], [2, 1]]": "[[0, 1], [2, grow, 3], [lefty, 1], [2, 1]]"},
        ["axes.horizontal.values"] * 2,
    ),
    (
        {"when: padLeft == 0 and padRight == 0, ": "", "ascend910b]": "ascend910c]"},
        ["axes.product.values", "vacuous.0"],
    ),
    (
        {"    args: {gradOutput: null, self: null, padding: null, gradInput: null}\n": ""},
        ["handwritten.0"],
    ),
    (
        {
            "    why: because\n": (
                "    why: because\n    products: [[ascend910]]\n    tiers: [{}]\n"
            ),
            "self: null": "self: 3",
        },
        ["one", "handwritten.0.products.0", "handwritten.0.tiers.0"],
    ),
    (
        {
            "op: aclnnReflectionPad2dBackward": "op: aclnnReflectionPad2dBackwrd",
            "factors: 1": "factors: 0",
        },
        ["op", "factors"],
    ),
    ({"axes:\n": "axis:\n"}, ["", "axis"]),
    ({"let: {": "lets: {"}, ["lets"]),
    ({"sets: [padLeft, padRight]": "sets: [padLeft, 3]"}, ["axes.horizontal.sets"]),
    ({"size: {sets: grow, values: [3, 1]}": "size: 3"}, ["axes.size"]),
    (
        {"[dtype, size], strength: 2": "[dtype, {size: 1}], strength: 2"},
        ["tiers.standard.groups.0.axes"],
    ),
    (
        {"handwritten:\n": "handwritten:\n  - one\n", "self: null": "self: 3"},
        ["handwritten.0", "one"],
    ),
    (
        {"    why: because\n": "    why: because\n    data: {self: [0.5]}\n"},
        ["handwritten.0.data.self"],
    ),
    ({"let: {H: ": "let: {7: "}, ["let.7"]),
]


@pytest.mark.parametrize(("changes", "places"), SEVERAL)
def test_problems_of_form_hide_no_others_and_cause_none(
    tmp_path: Path, changes: dict[str, str], places: list[str]
) -> None:
    bad = GOOD
    for old, new in changes.items():
        assert old in bad
        bad = bad.replace(old, new)
    with pytest.raises(FileError) as caught:
        checked_plan(written(tmp_path, bad), catalog())
    assert sorted(problem.where for problem in caught.value.problems) == sorted(places), (
        caught.value
    )


@pytest.mark.parametrize("op", sorted(catalog().operators))
def test_every_shipped_plan_fits(op: str) -> None:
    check_plan(plan_for(op), [spec for spec in catalog().specs if spec.op == op])


def test_a_shipped_plan_is_read_once() -> None:
    one, other = "aclnnReflectionPad1dBackward", "aclnnReflectionPad2dBackward"
    assert shipped_plan(one) is shipped_plan(one) is not shipped_plan(other)


WRONG = [
    (
        "sets: [padLeft, padRight]",
        "sets: [padLeft, padRihgt]",
        "nothing reads 'padRihgt' (did you mean 'padRight'?)",
    ),
    (
        "gradOutput: gradient",
        "gradOuput: gradient",
        "roles.gradOuput: no such input (did you mean 'gradOutput'?)",
    ),
    (
        "op: aclnnReflectionPad2dBackward",
        "op: group_norm_backward",
        "op: is group_norm_backward; the plan of this name is that of",
    ),
    (
        "op: aclnnReflectionPad2dBackward",
        "op: fold",
        "op: is fold; the plan of this name is that of aclnnReflectionPad2dBackward",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_a_shipped_plan_that_does_not_fit_is_refused_wherever_it_is_used(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    copy = copies.checkout(tmp_path)
    pad = copy / "cases" / "reflection_pad2d_backward.yaml"
    pad.write_text(GOOD, encoding="utf-8")
    assert fitting_plan([spec()], pad.parent).op == "aclnnReflectionPad2dBackward"
    pad.write_text(GOOD.replace(old, new), encoding="utf-8")
    calls = tmp_path / "calls.jsonl"
    calls.write_text(CALL, encoding="utf-8")
    for asked in (("cases", "reflection_pad2d_backward"), ("cases", "--calls", str(calls))):
        told = copies.opgen(copy, *asked)
        assert told.returncode == 2 and message in told.stderr
        assert told.stderr.startswith("cases/reflection_pad2d_backward.yaml:")


@pytest.mark.parametrize("op", sorted(catalog().operators))
def test_every_shipped_plan_says_why(op: str) -> None:
    plan = plan_for(op)
    assert {"smoke", "standard", "full"} <= set(plan.tiers)
    assert all(pin.why for pin in plan.handwritten)
    told = [axis for axis in plan.axes if len(axis.values) > 2]
    assert all(axis.why for axis in told), [axis.name for axis in told if not axis.why]


def test_an_operator_without_a_plan_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="has no plan, and no spec to make one"):
        plan_for("fold", tmp_path)


@pytest.mark.parametrize(
    ("ask", "listed"),
    [
        (lambda: find("padding_swaped"), "opgen explain mutants lists them"),
        (lambda: Request(calls="x.jsonl", recipe="girth").suite(), "known: grid, integers, "),
        (lambda: Request(plan="smok").suite(), "tiers are smoke, standard, full, crash"),
        (lambda: Request(plan=f"{SHIPPED}::smok").suite(), "it has smoke, standard, full"),
    ],
    ids=["mutant", "recipe", "tier", "tier of a file"],
)
def test_an_unknown_name_gives_the_list(ask: Callable[[], object], listed: str) -> None:
    with pytest.raises(FileError) as error:
        ask()
    assert listed in str(error.value)
