"""Suites: ids that stay, equal calls that are one case, twins, batches, what is inconclusive."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from itertools import compress, product
from math import prod

import pytest

from opgen.calls.call_json import to_json
from opgen.calls.jsonl import NamedCall
from opgen.generation import engine
from opgen.model import FileError, Problem, TensorDesc
from opgen.numerics.formats import DTYPES
from opgen.numerics.recipes import RECIPES
from opgen.suite.batch import BATCH_ELEMENTS
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.plan import plan_for
from opgen.suite.planning.plan_form import Handwritten, Vacuous
from opgen.suite.values import on_values
from tests.support.suites import PAGES, of_calls, page, plan, suite


@pytest.mark.parametrize("name", PAGES)
def test_ids_and_calls_differ(name: str) -> None:
    cases = suite(name).cases
    assert len({case.id for case in cases}) == len(cases)
    seen = {
        (
            case.call.product,
            str(to_json(case.call)),
            case.recipe,
            case.kind,
            case.intent.split(":")[0],
        )
        for case in cases
    }
    assert len(seen) == len(cases)


def test_an_id_stays_when_the_plan_grows_around_it() -> None:
    spec = page("reflection_pad2d_backward")
    made = plan(spec.op)
    more = replace(
        made,
        handwritten=(
            *made.handwritten,
            Handwritten("new", "one more", (), made.handwritten[0].args, "ones", ("standard",)),
        ),
    )
    before, after = suite(spec.name).cases, plan_suite([(spec, more)], "standard").cases
    assert {case.id for case in before} < {case.id for case in after}


def test_problems_reach_another_process() -> None:
    error = pickle.loads(pickle.dumps(FileError([Problem("a", 1, "b", "c")])))
    assert error.problems == [Problem("a", 1, "b", "c")] and str(error) == "a:1: b: c"


def test_equal_calls_are_one_case_with_every_purpose() -> None:
    several = [
        case
        for case in suite("avg_pool2d_backward").cases
        if case.intent.count("at the limit of") > 1
    ]
    assert several and all(case.kind == "valid" for case in several)
    made = suite("avg_pool2d_backward", "full")
    assert any(len(purposes) > 2 for purposes in made.cases.purposes)
    for case, purposes in zip(made.cases, made.cases.purposes, strict=True):
        assert len(set(purposes)) == len(purposes) and case.intent == "; ".join(
            map(str, purposes)
        ), case.id


@pytest.mark.parametrize("name", PAGES)
def test_calls_at_limits_have_dense_data(name: str) -> None:
    """A 1 among zeros, or Inf, seldom shows what a device does wrong from a limit on."""
    cases, at_limits = suite(name).cases, {"limits", "lists", "exempts"}
    made = [case for case in cases if case.recipe and case.kind == "valid"]
    hiding = {case.id for case in made if case.recipe in ("one_hot", "nonfinite")}
    verbs = {
        case.id: {purpose.verb for purpose in purposes}
        for case, purposes in zip(cases, cases.purposes, strict=True)
    }
    limits = {case.id for case in made if verbs[case.id] & at_limits}
    assert hiding and limits
    assert {case for case in hiding & limits if "covers" not in verbs[case]} == set()


@pytest.mark.parametrize("name", PAGES)
def test_batches_hold_every_case_with_data_once(name: str) -> None:
    """Their descriptors are those of the call, but for what a batch adds: limits of values that
    follow from the page's rules, and axes in the order of the spec's letters. A case of which all
    inputs are given names no recipe.
    """
    made, spec = suite(name), page(name)
    limited = {
        key
        for rule in spec.rules
        for guard in rule.guards
        if on_values(guard)
        for key, _ in guard.require.refs
    }
    rows = [int(row) for batch in made.batches for row in batch.rows]
    assert sorted(rows) == [i for i, case in enumerate(made.cases) if case.phase == 2]
    for batch in made.batches:
        for row, one in zip(batch.rows, batch.ids, strict=True):
            case = made.cases[row]
            assert case.id == one and case.compute == batch.compute
            assert case.recipe == ("" if set(batch.inputs) <= set(batch.given) else batch.recipe)
            descs = {
                key: value for key, value in case.call.args.items() if isinstance(value, TensorDesc)
            }
            assert descs.keys() == batch.tensors.keys()
            for key, desc in descs.items():
                held = batch.tensors[key]
                if desc.range is None and held.range is not None:
                    assert key in limited
                    held = replace(held, range=None)
                if spec.parameters[key].turned(len(desc.shape), desc.format) is None:
                    assert held == desc
                else:
                    assert (held.dtype, held.format, held.range) == (
                        desc.dtype,
                        desc.format,
                        desc.range,
                    )
                    assert sorted(zip(held.shape, held.steps, strict=True)) == sorted(
                        zip(desc.shape, desc.steps, strict=True)
                    )
                    assert (held.offset, held.storage_elements) == (
                        desc.offset,
                        desc.storage_elements,
                    )


def test_a_case_that_is_refused_has_no_data() -> None:
    for name in PAGES:
        both = zip(suite(name).cases, suite(name).stored, strict=True)
        assert all(
            case.phase == 1 and not stored for case, stored in both if case.kind == "invalid"
        )


@pytest.mark.parametrize("name", PAGES)
def test_what_is_kept_of_a_case(name: str) -> None:
    """Every input, and a golden and a bound of every output that its batch computes; the elements
    as its own descriptors say.
    """
    made = suite(name)
    outputs = {row: batch.wanted for batch in made.batches for row in batch.rows}
    kept = list(made.stored)
    assert len(kept) == len(made.cases) and any(kept)
    for row, (case, tensors) in enumerate(zip(made.cases, kept, strict=True)):
        expected: list[tuple[str, str, str, int]] = []
        if row in outputs:
            descs = {
                key: value for key, value in case.call.args.items() if isinstance(value, TensorDesc)
            }
            inputs = [p.name for p in page(name).inputs if p.name in descs]
            expected += [
                (key, "input", descs[key].dtype, descs[key].storage_elements) for key in inputs
            ]
            for key in outputs[row]:
                dtype = DTYPES[descs[key].dtype]
                size = prod(descs[key].shape)
                expected += [(key, "golden", dtype.golden, size), (key, "bound", dtype.bound, size)]
        assert tensors == expected, case.id


def test_outputs_whose_goldens_are_kept_alike_are_of_one_kind() -> None:
    """FLOAT16 and BFLOAT16 have goldens in FLOAT: what lies side by side in a file must not depend
    on which it was.
    """
    valid = [
        case.call
        for case in suite("convolution_backward.ascend910b").cases
        if case.phase == 2 and case.page.bucket == "valid"
    ]
    pairs = (
        (call, call.args["gradBias"])
        for call in valid
        if call.args["outputMask"] == (True, True, True)
    )
    call, bias = next(
        (call, bias)
        for call, bias in pairs
        if isinstance(bias, TensorDesc) and bias.dtype == "FLOAT16"
    )
    both = [replace(bias, dtype=dtype) for dtype in ("FLOAT16", "BFLOAT16")]
    calls = [
        NamedCall(one.dtype, replace(call, args={**call.args, "gradBias": one}), {}) for one in both
    ]
    made = of_calls(calls)
    one, other = made.stored
    assert one == other and ("gradBias", "golden", "FLOAT") in made.stored.kind.values
    assert (
        len(set(made.stored.kind.values)) == len(made.stored.kind.values)
        and len(set(engine.layout(made).form.tolist())) == 1
    )


def test_some_cases_of_a_suite() -> None:
    made = suite("reflection_pad2d_backward")
    rows = [i for i in range(len(made.cases)) if i % 3 == 1][::-1]
    part = made.subset(rows)
    assert [case.id for case in part.cases] == [made.cases[row].id for row in rows]
    kept = list(made.stored)
    assert list(part.stored) == [kept[row] for row in rows]
    for batch in part.batches:
        assert [part.cases[row].id for row in batch.rows] == list(batch.ids)


def test_patterns_bring_twins_along() -> None:
    spec = page("avg_pool2d_backward")
    made = plan_suite([(spec, plan(spec.op))], "standard", patterns=["*.invalid.pad_height.*"])
    ids = {case.id for case in made.cases}
    assert any(case.kind == "invalid" for case in made.cases) and len(ids) < 12
    assert all(case.nearest_valid in ids for case in made.cases if case.kind == "invalid")


def test_one_case_per_call_under_its_own_id() -> None:
    calls = [
        NamedCall(f"call {i}", case.call, {})
        for i, case in enumerate(list(suite("reflection_pad2d_backward").cases)[::7])
    ]
    made = of_calls(calls)
    assert [case.id for case in made.cases] == [one.id for one in calls]
    assert [case.call for case in made.cases] == [one.call for one in calls]
    assert {case.kind for case in made.cases} == {"given"}


def test_a_call_that_comes_again_is_a_case_of_its_own() -> None:
    """Whether the calls are one object or equal ones, of one page or of several in turn."""
    some = [
        case.call
        for name in ("reflection_pad2d_backward", "avg_pool2d_backward")
        for case in list(suite(name).cases)[::40]
    ]
    shared = [
        NamedCall(f"{i}-{turn}", call, {}) for turn in range(3) for i, call in enumerate(some)
    ]
    equal = [NamedCall(one.id, replace(one.call, args=dict(one.call.args)), {}) for one in shared]
    made, other = of_calls(shared), of_calls(equal)
    assert [case.id for case in made.cases] == [one.id for one in shared]
    assert list(made.cases) == list(other.cases) and list(made.stored) == list(other.stored)
    assert [(b.rows.tolist(), b.ids, b.names, b.tensors) for b in made.batches] == [
        (b.rows.tolist(), b.ids, b.names, b.tensors) for b in other.batches
    ]
    small = [
        batch for batch in made.batches if 3 * batch.elements <= BATCH_ELEMENTS
    ]  # larger ones are cut
    assert (
        len(small) > 3
        and all(len(batch.ids) % 3 == 0 for batch in small)
        and any(case.phase == 1 for case in made.cases)
    )


# what proves nothing ------------------------------------------------------------------------------
def test_what_is_inconclusive_says_why() -> None:
    reached = set()
    for name, tier in product(PAGES, ("smoke", "standard")):
        for case in (case for case in suite(name, tier).cases if case.phase == 2):
            outputs = [case.call.args[p.name] for p in page(name).outputs]
            mask = case.call.args.get("outputMask", [True] * len(outputs))
            asked = list(compress(outputs, mask or ()))  # a null mask asks for none
            whys = {"", *(entry.why for entry in plan(page(name).op).vacuous)}
            if 0 not in case.page.codes:
                whys = {""}
            elif not asked:
                whys = {"the call asks for no output"}
            elif all(0 in desc.shape for desc in asked if isinstance(desc, TensorDesc)):
                whys = {"the outputs have no elements"}
            elif case.recipe == "zeros":
                whys = {"the incoming gradient is zero"}
            assert case.inconclusive in whys, case.id
            reached.add(case.inconclusive)
    assert reached >= {
        "",
        "the call asks for no output",
        "the outputs have no elements",
        "the incoming gradient is zero",
    }


@pytest.mark.parametrize("name", PAGES)
def test_plans_waste_no_covering_call(name: str) -> None:
    """What is inconclusive is handwritten, or stands at a limit that lies there, or is the smallest
    call of a size, such as *N 129* or *beyond no_pads*.
    """
    for case in suite(name).cases:
        if case.inconclusive:
            assert case.kind == "handwritten" or re.search(
                r"at the limit|nearest valid|lists|forbids elsewhere|^(within|beyond) |^\w+ \d+$",
                case.intent,
            ), case


def test_a_condition_of_the_plan_marks_its_cases() -> None:
    """Where it names rules, the cases that stand at limits of these and of no others."""
    spec, at, reason = page("reflection_pad2d_backward"), "at the limit of ", "because it is so"

    def marked(rules: set[str]) -> tuple[set[str], dict[str, set[str]]]:
        vacuous = Vacuous("padTop >= 0", reason, tuple(sorted(rules)))
        made = replace(plan(spec.op), vacuous=(vacuous,))
        cases = plan_suite([(spec, made)], "standard").cases
        limits = {case.id: set(re.findall(f"{at}([\\w.]+)", case.intent)) for case in cases}
        return (
            {case.id for case in cases if case.inconclusive == reason},
            {one: rules for one, rules in limits.items() if rules},
        )

    some, all_but_one = {"top_below_height"}, {rule.id for rule in spec.rules}
    all_but_one -= some
    numbers = []
    for rules in (some | all_but_one, all_but_one, some):
        found, limits = marked(rules)
        assert found == {one for one in limits if limits[one] <= rules}
        assert any(some <= limits[one] for one in limits)
        numbers.append(len(found))
    assert numbers[0] > max(numbers[1:])


def test_no_gradient_of_a_recipe_but_zeros_is_zero() -> None:
    assert [
        name for name, recipe in RECIPES.items() if recipe.gradient is RECIPES["zeros"].gradient
    ] == ["zeros"]


# handwritten calls --------------------------------------------------------------------------------
def test_given_data_must_fit_the_call() -> None:
    spec = page("reflection_pad2d_backward")
    made = plan_for(spec.op)
    short, output = {"gradOutput": (1, 2)}, {"gradInput": (1,)}
    for data, message in (
        (short, "'gradOutput' has 49 elements, not 2"),
        (output, "'gradInput' is not an input tensor"),
    ):
        wrong = replace(
            made,
            handwritten=(replace(made.handwritten[0], data=data),),
            document=replace_problems(made.document),
        )
        with pytest.raises(FileError, match=message):
            plan_suite([(spec, wrong)], "smoke")


def replace_problems(document):
    """The same document without what was noted in it."""
    document.problems.clear()
    return document


def test_a_handwritten_call_that_is_no_call_is_told() -> None:
    spec = page("reflection_pad2d_backward")
    made = plan_for(spec.op)
    pin = replace(made.handwritten[0], args={**made.handwritten[0].args, "padding": [0.5]})
    wrong = replace(made, handwritten=(pin,), document=replace_problems(made.document))
    with pytest.raises(FileError, match="args.padding: 0.5 is not a whole number of 64 bits"):
        plan_suite([(spec, wrong)], "smoke")
    replace_problems(made.document)


def test_given_data_change_the_id() -> None:
    spec = page("reflection_pad2d_backward")
    made = plan_for(spec.op)
    pin = made.handwritten[0]
    other = replace(made, handwritten=(replace(pin, data={"gradOutput": tuple(range(49))}),))
    ids = [
        next(c.id for c in plan_suite([(spec, one)], "smoke").cases if c.kind == "handwritten")
        for one in (made, other)
    ]
    assert ids[0] != ids[1] and ids[0].rpartition("-")[0] == ids[1].rpartition("-")[0]


def test_every_handwritten_call_is_in_the_tiers_that_it_names() -> None:
    for name in PAGES:
        spec = page(name)
        for pin in plan(spec.op).handwritten:
            listed = pin.products or [p for p in spec.products if p in spec.judges]
            if "standard" in pin.tiers and set(listed) & set(spec.judges):
                found = [case for case in suite(name).cases if case.intent.startswith(f"{pin.id}:")]
                assert len(found) == len(set(listed) & set(spec.judges)), pin.id
