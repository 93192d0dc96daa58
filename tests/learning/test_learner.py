"""What statuses say of rules: planted deviations are found, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opgen.calls.vocabulary import vocabulary
from opgen.learning import statuses
from opgen.learning.conditions import candidates
from opgen.learning.features import Feature, features, own, varying
from opgen.learning.learner import learn
from opgen.learning.lesson import Finding, Lesson
from opgen.learning.shared_conditions import Shares
from opgen.learning.splitting import split
from opgen.learning.statuses import DIED
from opgen.model import CRASH, Call, Code, TensorDesc
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from opgen.spec.language.parse import condition
from tests.learning import planted
from tests.learning.planted import Deviation
from tests.support import suites

PAD, POOL = "aclnnReflectionPad2dBackward", "aclnnAvgPool2dBackward"


def lesson(
    folder: Path, api: str, deviations: Iterable[Deviation] = (), tolerated: Iterable[str] = ()
) -> Lesson:
    lines = planted.returned(planted.calls(api), deviations, tolerated)
    known = statuses.read([planted.write(folder / "calls.jsonl", lines)], catalog())
    return learn(known.pages[0])


def deviating(of: Lesson) -> list[Finding]:
    """What differs from the page, but for rules of which the page is silent."""
    spec = of.returned.spec
    return [
        one
        for one in of.findings
        if one.differs and (not one.rules or any(spec.rule[rule].forbids for rule in one.rules))
    ]


def dtype(call: Call, name: str) -> str:
    tensor = call.args[name]
    return tensor.dtype if isinstance(tensor, TensorDesc) else ""


@pytest.mark.parametrize("api", [PAD, POOL])
def test_a_library_that_does_as_its_page_teaches_no_deviation(tmp_path: Path, api: str) -> None:
    taught = lesson(tmp_path, api)
    assert deviating(taught) == []
    became = {one.became for one in taught.outcomes if one.rule.forbids}
    assert became == {"confirmed", "not seen"}


def test_a_rule_that_is_not_enforced(tmp_path: Path) -> None:
    taught = lesson(tmp_path, PAD, tolerated=["left_below_width"])
    assert [(one.rules, one.when, one.status) for one in deviating(taught)] == [
        (("left_below_width",), "", 0)
    ]
    assert next(o.became for o in taught.outcomes if o.rule.id == "left_below_width") == (
        "not enforced"
    )


def test_another_code_where_the_page_names_none_is_settled_and_no_deviation(tmp_path: Path) -> None:
    def graph(call: Call, broken: set[str]) -> Code | None:
        return 561103 if broken == {"padding.length"} else None

    taught = lesson(tmp_path, PAD, [graph])
    assert deviating(taught) == []
    settled = [one for one in taught.entries if one.rules == ("padding.length",)]
    assert [(one.status, one.differs) for one in settled] == [(561103, False)]


def test_codes_that_a_page_leaves_open_are_told_apart_by_a_condition(tmp_path: Path) -> None:
    def graph(call: Call, broken: set[str]) -> Code | None:
        late = broken == {"padding.length"} and dtype(call, "self") == "FLOAT"
        return 561103 if late else None

    taught = lesson(tmp_path, PAD, [graph])
    assert deviating(taught) == []
    known = {one.status: one for one in taught.entries if one.rules == ("padding.length",)}
    assert "'FLOAT'" in known[561103].when
    table, of = taught.returned.judgement.table, {s: known[s].calls for s in known}
    assert {dtype(table.call(row), "self") for row in of[561103]} == {"FLOAT"}
    assert "FLOAT" not in {dtype(table.call(row), "self") for row in of.get(161002, ())}


def test_rules_that_calls_break_only_together_are_learnt_together(tmp_path: Path) -> None:
    taught = lesson(tmp_path, PAD)
    ranks = {"gradOutput.rank", "self.rank", "gradInput.rank"}
    spec, broken = taught.returned.spec, taught.returned.judgement.broken
    i = [each.id for each in spec.rules].index("self.rank")
    assert not (broken[i] & (broken.sum(axis=0) == 1)).any()
    settled = {rule for one in taught.entries if one.status == 161002 for rule in one.rules}
    assert ranks <= settled


def test_another_code_than_the_page_names(tmp_path: Path) -> None:
    def graph(call: Call, broken: set[str]) -> Code | None:
        return 561103 if broken == {"divisorOverride.range"} else None

    taught = lesson(tmp_path, POOL, [graph])
    shown = [(one.rules, one.when, one.status) for one in deviating(taught)]
    assert shown == [(("divisorOverride.range",), "", 561103)]
    assert [o.became for o in taught.outcomes if o.rule.id == "divisorOverride.range"] == [
        "another code"
    ]


def test_a_crash_on_a_null(tmp_path: Path) -> None:
    def dies(call: Call, broken: set[str]) -> Code | None:
        return CRASH if broken == {"padding.null"} else None

    taught = lesson(tmp_path, POOL, [dies])
    assert [(one.rules, one.status) for one in deviating(taught)] == [(("padding.null",), DIED)]


def test_a_dtype_that_one_product_accepts_is_told_by_a_condition(tmp_path: Path) -> None:
    def takes(call: Call, broken: set[str]) -> Code | None:
        wide = dtype(call, "self") == "BFLOAT16" and call.product == "ascend910b"
        return 0 if wide and all(rule.endswith(".dtype") for rule in broken) else None

    taught = lesson(tmp_path, PAD, [takes])
    assert deviating(taught)
    for one in deviating(taught):
        assert one.status == 0
        assert all(rule.endswith(".dtype") for rule in one.rules)
        assert "ascend910b" in one.when or "BFLOAT16" in one.when
    accepted = {call for one in deviating(taught) for call in one.calls}
    wrong = np.flatnonzero(~taught.returned.admitted & (taught.returned.status == 0))
    assert accepted == set(wrong.tolist())


def pad_calls(*shapes: tuple[list[int], list[int], list[int], int]) -> Iterator[dict[str, Any]]:
    """Calls without padding, by the shapes of their tensors and the status."""
    for number, (grad, forward, result, status) in enumerate(shapes):
        named = {"gradOutput": grad, "self": forward, "gradInput": result}
        args = {name: {"shape": shape, "dtype": "FLOAT"} for name, shape in named.items()}
        call = {"op": PAD, "product": "ascend910b", "args": {**args, "padding": [0, 0, 0, 0]}}
        yield {"id": str(number), **call, "status": status}


def test_that_any_tensor_is_empty_is_one_condition(tmp_path: Path) -> None:
    full, empty = [3, 4, 4], [3, 0, 4]
    shapes = ((empty, full, full, 0), (full, empty, full, 0), (full, full, empty, 0))
    lines = pad_calls(*shapes, (full, full, full, 0))
    known = statuses.read([planted.write(tmp_path / "calls.jsonl", lines)], catalog())
    made = {each.term: each for each in features(known.pages[0].judgement.view)}
    tensors = made["min(gradOutput.numel, self.numel, gradInput.numel) == 0"]
    inputs = made["min(gradOutput.numel, self.numel) == 0"]
    assert tensors.values.tolist() == [True, True, True, False]
    assert inputs.values.tolist() == [True, True, False, False]
    told = list(candidates([tensors], tensors.values, {"padding"}))
    assert [(one.text, one.strange) for one in told] == [(tensors.term, False)]


@pytest.mark.parametrize("last", [0, 161002])
def test_what_is_accepted_as_empty_breaks_other_rules_too(tmp_path: Path, last: int) -> None:
    full, empty, wide = [3, 4, 4], [0, 4, 4], [3, 4, 5]
    accepted = [(empty, empty, [n, 4, 4], 0) for n in (3, 5)]
    accepted += [(full, full, [0, n, 4], 0) for n in (4, 5)]
    few = [([3, 4, 0], wide, wide, last)]
    refused = [(full, full, [n, 4, 4], 161002) for n in (1, 5, 6)]
    refused += [([3, 4, n], full, full, 161002) for n in (1, 5, 6)]
    lines = pad_calls((full, full, full, 0), (wide, wide, wide, 0), *accepted, *few, *refused)
    known = statuses.read([planted.write(tmp_path / "calls.jsonl", lines)], catalog())
    entries = [(one.when, one.rules, len(one.calls)) for one in deviating(learn(known.pages[0]))]
    when = "min(gradOutput.numel, self.numel, gradInput.numel) == 0"
    rules = ("grad_input_shape", "out_width") if last == 0 else ("grad_input_shape",)
    assert (when, rules, 5 if last == 0 else 4) in entries
    assert all(each[1] != ("out_width",) for each in entries if not each[0])


def test_a_refusal_that_no_page_states(tmp_path: Path) -> None:
    def refuses(call: Call, broken: set[str]) -> Code | None:
        wide = dtype(call, "self") == "FLOAT16" and call.product == "ascend910"
        return 161002 if wide and not broken else None

    taught = lesson(tmp_path, PAD, [refuses])
    found = [one for one in deviating(taught) if not one.rules]
    assert [one.status for one in found] == [161002]
    assert "'FLOAT16'" in found[0].when
    assert "'ascend910'" in found[0].when


def test_two_calls_are_a_hint(tmp_path: Path) -> None:
    few = [0]

    def lets(call: Call, broken: set[str]) -> Code | None:
        few[0] += broken == {"left_below_width"}
        return 0 if broken == {"left_below_width"} and few[0] <= 2 else None

    taught = lesson(tmp_path, PAD, [lets])
    assert all(one.hint for one in deviating(taught))
    assert deviating(taught)


@pytest.mark.parametrize(
    ("calls", "others", "beyond", "told"),
    [(2, 5, 9, 0), (3, 5, 0, 1), (3, 2, 0, 0), (3, 2, 1, 1), (3, 1, 1, 0)],
)
def test_three_calls_on_either_side_carry_a_condition(
    calls: int, others: int, beyond: int, told: int
) -> None:
    """Calls that decide nothing may stand on the side where the page's answer stays."""
    rank = np.array([4] * others + [3] * calls)
    known = [Feature("self.rank", "self", "int", rank, rank > 0)]
    status = np.where(rank == 3, 0, 161002)
    asked: list[tuple[str, int]] = []

    def elsewhere(when: str, status: int) -> int:
        asked.append((when, status))
        return beyond

    parts = split(known, np.arange(len(rank)), status, 161002, {"self"}, None, elsewhere)
    assert [each.when for each in parts] == ["self.rank == 3"] * told
    assert set(asked) <= {("self.rank == 3", 0), ("self.rank != 4", 0)}


def test_calls_of_several_rules_carry_a_condition_together(tmp_path: Path) -> None:
    """One call of each of three rules was accepted, and all three calls are of one dtype."""
    rules = ("gradOutput.rank", "self.shape", "out_width")
    returned = statuses.read(
        [planted.write(tmp_path / "calls.jsonl", planted.returned(planted.calls(PAD)))], catalog()
    ).pages[0]
    shares, table = Shares(returned), returned.judgement.table
    half = np.flatnonzero(table.tensors["self"].dtype == vocabulary().index["dtype"]["FLOAT16"])
    full = np.flatnonzero(table.tensors["self"].dtype == vocabulary().index["dtype"]["FLOAT"])
    hints = [
        Finding((rule,), "", 0, (int(half[i]),), 3, True, tuple(full[2 * i : 2 * i + 2].tolist()))
        for i, rule in enumerate(rules)
    ]
    alone = list(shares.across(hints[:1]))
    assert alone == hints[:1]
    found = list(shares.across(hints))
    assert [each.hint for each in found] == [False]
    assert set(found[0].rules) == set(rules)
    assert found[0].when.endswith(".dtype == 'FLOAT16'")
    assert set(found[0].calls) == set(half[:3].tolist())


def test_what_most_calls_returned_answers_where_none_did_as_the_page(tmp_path: Path) -> None:
    turn = [0]

    def either(call: Call, broken: set[str]) -> Code | None:
        turn[0] += broken == {"divisorOverride.range"}
        late = 561103 if turn[0] % 3 == 0 else 0
        return late if broken == {"divisorOverride.range"} else None

    taught = lesson(tmp_path, POOL, [either])
    entries = [one for one in deviating(taught) if not one.hint and not one.when]
    assert [(one.rules, one.status) for one in entries] == [(("divisorOverride.range",), 0)]
    assert len(entries[0].calls) < entries[0].asked
    assert any(one.hint and one.status == 561103 for one in deviating(taught))


def test_calls_that_are_not_firm_decide_nothing(tmp_path: Path) -> None:
    lines = planted.returned(planted.calls(PAD), tolerated=["divisorOverride.range"])
    soft = [{**line, "firm": False} for line in lines]
    known = statuses.read([planted.write(tmp_path / "soft.jsonl", soft)], catalog())
    assert learn(known.pages[0]).findings == ()


def test_a_condition_holds_for_no_call_that_returned_something_else() -> None:
    values = np.array([1, 1, 1, 2, 2, 2, 3])
    feature = Feature("x.rank", "x", "int", values, np.ones(7, dtype=bool))
    outcome = np.array([0, 0, 0, 9, 9, 9, 9])
    rows = np.arange(7)
    parts = [(one.when, one.rows.tolist()) for one in split([feature], rows, outcome, 9, {"x"})]
    assert parts == [("x.rank == 1", (outcome == 0).tolist())]
    outcome[0] = 9
    assert list(split([feature], rows, outcome, 9, {"x"})) == []


def test_two_conditions_together() -> None:
    a, b = np.repeat([0, 1], 6), np.tile([0, 0, 0, 1, 1, 1], 2)
    everywhere = np.ones(12, dtype=bool)
    known = [Feature("a.rank", "a", "int", a, everywhere)]
    known += [Feature("b.rank", "b", "int", b, everywhere)]
    outcome = np.where((a == 1) & (b == 1), 0, 9)
    parts = list(split(known, np.arange(12), outcome, 9))
    assert [one.when for one in parts] == ["a.rank == 1 and b.rank == 1"]


def test_a_condition_on_something_strange_needs_more_than_chance() -> None:
    rows, outcome = np.arange(9), np.array([0] * 3 + [9] * 6)
    told = Feature("x.rank", "x", "int", np.array([1] * 3 + [2] * 6), np.ones(9, dtype=bool))
    noise = [Feature(f"z{i}.rank", f"z{i}", "int", rows, np.ones(9, dtype=bool)) for i in range(20)]
    found = {
        (len(known), name): [one.when for one in split(known, rows, outcome, 9, {name})]
        for known in ([told], [told, *noise])
        for name in ("x", "y")
    }
    assert found[1, "x"] == found[1, "y"] == found[21, "x"] == ["x.rank == 1"]
    assert found[21, "y"] == [], "one of so many holds for three of nine by chance"


def test_a_call_that_stands_there_several_times_counts_once() -> None:
    feature = Feature("x.rank", "x", "int", np.array([1, 1, 1, 2, 3, 4]), np.ones(6, dtype=bool))
    outcome = np.array([0, 0, 0, 9, 9, 9])
    assert list(split([feature], np.array([7, 7, 7, 1, 2, 3]), outcome, 9, {"x"})) == []
    assert len(list(split([feature], np.arange(6), outcome, 9, {"x"}))) == 1


def test_rules_of_one_kind_are_told_apart_by_what_each_is_about() -> None:
    everywhere = np.ones(3, dtype=bool)
    ranks = {"a": np.array([1, 5, 5]), "b": np.array([5, 1, 1])}
    known = [Feature(f"{n}.rank", n, "int", values, everywhere) for n, values in ranks.items()]
    (of_each,) = own(known, ["a", "b"], np.array([0, 1, 0]))
    assert of_each.term == "{own}.rank"
    assert of_each.values.tolist() == [1, 1, 5]


def test_formats_of_the_device_are_one_family() -> None:
    words = vocabulary().index["format"]
    seen = ["NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ", "NCL", "NHWC", "NCHW"]
    values, outcome = np.array([words[word] for word in seen]), np.array([0] * 3 + [9] * 3)
    feature = Feature("x.format", "x", "format", values, np.ones(6, dtype=bool))
    (share,) = split([feature], np.arange(6), outcome, 9, {"x"})
    assert "'NDC1HWC0'" in share.when, "an unseen word of the family is among them"


def test_no_limit_is_infinite_and_limits_stand_where_wanted_calls_end() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, np.inf, np.inf, np.inf])
    feature = Feature("x", "x", "number", values, np.ones(8, dtype=bool))
    made = [each.text for each in candidates([feature], values > 3, {"x"})]
    assert made == ["x <= 3.0", "x >= 4.0"]


def test_of_features_that_say_the_same_the_related_one_stays() -> None:
    values, everywhere = np.array([1, 1, 2]), np.ones(3, dtype=bool)
    known = [Feature(f"{name}.rank", name, "int", values, everywhere) for name in ("a", "b")]
    same = Feature("c.rank", "c", "int", np.array([4, 4, 4]), everywhere)
    assert [each.name for each in varying([*known, same], {"b"})] == ["b"]


def test_a_value_that_only_others_have_is_kept_out_in_a_pair() -> None:
    """Each product, and each dtype, stands on either side; together they tell the calls apart."""
    products, dtypes = vocabulary().index["product"], vocabulary().index["dtype"]
    good, bad = ("ascend910b", "ascend910_93"), ("ascend910", "ascend310p")
    seen = [(p, d, 0) for p in good for d in ("FLOAT", "FLOAT16")] * 2
    seen += [(p, d, 9) for p in good for d in ("DOUBLE",)] * 2
    seen += [(p, d, 9) for p in bad for d in ("FLOAT", "FLOAT16")] * 2
    everywhere = np.ones(len(seen), dtype=bool)
    columns = {
        "product": np.array([products[product] for product, _, _ in seen]),
        "x.dtype": np.array([dtypes[dtype] for _, dtype, _ in seen]),
    }
    known = [
        Feature(term, term.split(".")[0], term.split(".")[-1], values, everywhere)
        for term, values in columns.items()
    ]
    outcome = np.array([status for _, _, status in seen])
    (share,) = split(known, np.arange(len(seen)), outcome, 9, {"x"})
    assert (share.rows == (outcome == 0)).all()
    assert "product" in share.when and "x.dtype" in share.when


def test_a_list_of_words_needs_evidence_for_each() -> None:
    """Three calls of three formats are no list; two calls of each are."""
    words = vocabulary().index["format"]
    formats = ["NCL", "NHWC", "HWCN"]
    for times, found in ((1, 0), (2, 1)):
        seen = formats * times + ["NCHW", "NDHWC", "NCDHW", "ND"] * times
        values = np.array([words[word] for word in seen])
        outcome = np.array([0] * 3 * times + [9] * 4 * times)
        feature = Feature("x.format", "x", "format", values, np.ones(len(seen), dtype=bool))
        shares = list(split([feature], np.arange(len(seen)), outcome, 9, {"x"}))
        assert len(shares) == found


def test_the_length_of_a_list_of_tensors_is_named_in_conditions() -> None:
    spec = next(spec for spec in catalog().specs if spec.name == "lstm_backward")
    [table] = suites.suite("lstm_backward", "smoke").cases.calls
    told = [each for each in features(judge(spec, table).view) if each.bound.any()]
    assert {"len(hx)", "len(params)"} <= {each.term for each in told}
    for each in told:
        condition(each.spelled([each.values[each.bound][0].item()]), spec.scope)
