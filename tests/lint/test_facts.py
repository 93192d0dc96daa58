"""Pages as people read them."""

from __future__ import annotations

import pytest

from opgen.lint.facts import Fact, buckets, by_line, differences, dtypes, facts, shared
from opgen.spec import specfile
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec

TEXT = """
api: aclnnOne
page:
  file: one.txt
  sha256: abababababababababababababababababababababababababababababababab
  lines: "3 000000000000  4 000000000000  7 000000000000  9 000000000000  12 000000000000  13 000000000000  14 000000000000"
products: {ascend910: 3, ascend910b: 4}
parameters:
  x: {kind: tensor, at: 7, dtype: {ascend910: [FLOAT], ascend910b: [FLOAT, BFLOAT16]}, shape: {2: [N, C]}, strided: true}
  k: {kind: int_array, at: 9, length: [1, 2], items: {1: [[kH, kW]], 2: [kH, kW]}}
  mode: {kind: int8, at: {parameter: 9, enum: [9, 7]}, enum: {0: KEEP, 1: DROP}}
  y: {kind: output, dtype: [FLOAT, BFLOAT16], mask: mode == DROP}
rules:
  square: {at: 9, when: product == 'ascend910', require: N == C, note: only on one product}
  least: {at: [9, 4], require: kH >= 1}
compute:
  exact: [y]
  modes:
    - {at: 9, when: mode == DROP, dtype: FLOAT16}
    - {at: 9, when: x.dtype == 'FLOAT', dtype: FLOAT16}
clauses: {161002: {1: 12}, 561103: {1: 13}}
likely: {561103: {1: [square]}}
remarks: {14: a misprint}
returns:
  161002: {1: [x.dtype, least, mode.enum], }
  561103: [x.rank]
  unstated: [product, square, k.length]
  disputed: [y.dtype]
  assumed: [x.null, k.null, y.null]
"""


@pytest.fixture(scope="module")
def one() -> Spec:
    return specfile.loads(TEXT, "one", "one.yaml")


def test_facts_are_in_the_order_of_the_page_and_say_everything(one: Spec) -> None:
    found = facts(one)
    first = [fact.at[0] for fact in found if fact.at]
    assert first == sorted(first) and [fact.at for fact in found][-1] == ()
    by_id = {fact.id: fact for fact in found}
    assert len(by_id) == len(found)
    assert by_id["x"].says == "tensor; axes (N, C); may be non-contiguous"
    assert by_id["k"].says == "int_array; 1 item: kH=kW; 2 items: kH kW"
    assert by_id["mode"].says == "int8; 0 KEEP, 1 DROP"
    assert by_id["y"].says == "output; written when mode == DROP"
    assert (
        by_id["x.dtype"].says
        == "x.dtype in (FLOAT) when product == ascend910; x.dtype in (FLOAT, BFLOAT16) when product"
        " == ascend910b"
    )
    assert (by_id["x.dtype"].answer, by_id["x.rank"].answer, by_id["square"].answer) == (
        "161002.1",
        "561103",
        "unstated, likely 561103",
    )
    assert by_id["561103.1"].says == "demanded of no rule"
    assert by_id["remark.14"] == Fact("remark.14", (14,), "a misprint")
    assert by_id["square"].note == "only on one product"
    assert by_id["161002.1"].says == "x.dtype, mode.enum, least"
    assert by_id["compute.FLOAT16.2"].says == "inputs are rounded to FLOAT16 when x.dtype == FLOAT"
    assert {rule.id for rule in one.rules} <= set(by_id)


def test_each_fact_is_told_once_and_mentioned_elsewhere(one: Spec) -> None:
    lines, rest = by_line(one)
    told = [fact.id for line in lines for fact in line.facts] + [fact.id for fact in rest]
    assert sorted(told) == sorted(fact.id for fact in facts(one))
    at = {line.line: line for line in lines}
    assert [line.line for line in lines] == [3, 4, 7, 9, 12, 13, 14]
    assert at[4].also == ("product", "least") and at[7].also == ("mode.enum",)
    assert at[12].also == (), "a clause lists its rules itself"
    assert at[13].also == ("square",), "of which it is likely"
    assert "least" in {fact.id for fact in at[9].facts}


def test_every_shipped_page_is_told_whole() -> None:
    for spec in catalog().specs:
        lines, rest = by_line(spec)
        told = [fact.id for line in lines for fact in line.facts] + [fact.id for fact in rest]
        assert len(told) == len(set(told)) and {rule.id for rule in spec.rules} | set(
            spec.parameters
        ) <= set(told)
        assert {line.line for line in lines} == set(spec.page.lines) if spec.page else not lines


def test_differences_are_named_by_kind(one: Spec) -> None:
    assert differences([one, one]) == []
    other = TEXT.replace("kH >= 1", "kH >= 2").replace("at: [9, 4]", "at: [4, 9]")
    other = other.replace("square, k.length", "").replace(
        "561103: [x.rank]", "561103: [x.rank, k.length]"
    )
    other = other.replace(", 561103: {1: 13}", "")
    other = "\n".join(line for line in other.split("\n") if "square" not in line)
    found = {d.fact: d for d in differences([one, specfile.loads(other, "two", "two.yaml")])}
    assert {name: d.kind for name, d in found.items()} == {
        "least": "says",
        "square": "missing",
        "k.length": "answer",
    }
    first, second = found["least"].sides
    assert first is not None and second is not None and (first.at[0], second.at[0]) == (9, 4)
    assert found["square"].sides[1] is None


def test_roundings_are_paired_by_what_they_say(one: Spec) -> None:
    lines = TEXT.split("\n")
    modes = [line for line in lines if "dtype: FLOAT16}" in line]
    turned = TEXT.replace("\n".join(modes), "\n".join(reversed(modes)))
    other = specfile.loads(turned, "two", "two.yaml")
    assert turned != TEXT and differences([one, other]) == []
    fewer = specfile.loads(TEXT.replace(modes[0] + "\n", ""), "three", "three.yaml")
    for pages, here in (([one, fewer], 0), ([fewer, one], 1)):
        (found,) = differences(pages)
        assert found.kind == "missing" and found.sides[1 - here] is None
        assert found.sides[here] == Fact(
            "compute.FLOAT16", (9,), "inputs are rounded to FLOAT16 when mode == DROP"
        )
    lacking = turned.replace("mode == DROP, dtype", "mode == KEEP, dtype")
    (found,) = differences([one, specfile.loads(lacking, "four", "four.yaml")])
    assert [side and side.says.partition(" when ")[2] for side in found.sides] == [
        "mode == DROP",
        "mode == KEEP",
    ]


def test_buckets_count_every_rule(one: Spec) -> None:
    assert buckets(one) == {
        "unsupported_product": 1,
        "stated": 4,
        "unstated": 2,
        "disputed": 1,
        "assumed": 3,
    }
    assert sum(buckets(one).values()) == len(one.rules)


@pytest.mark.parametrize(
    "spec", [spec for spec in catalog().specs if spec.page], ids=lambda spec: spec.name
)
def test_every_tensor_of_a_page_has_dtypes_on_each_of_its_products(spec: Spec) -> None:
    """Whatever a mask of outputs says: lines 34, 35, 37, 38, 40 and 41 of group norm are of outputs
    that are asked for.
    """
    for product in spec.products:
        listed = dtypes(spec, product)
        assert set(listed) == {name for name in spec.parameters if f"{name}.dtype" in spec.rule}
        if product in spec.judges:
            assert all(listed.values()), listed
    if spec.op == "group_norm_backward":
        assert shared(dtypes(spec, "ascend910")) == [
            ([p.name for p in (*spec.inputs, *spec.outputs)], ("FLOAT", "FLOAT16"))
        ]


def test_dtypes_are_those_that_the_rule_lets_pass(one: Spec) -> None:
    assert dtypes(one, "ascend910") == {"x": ("FLOAT",), "y": ("FLOAT", "BFLOAT16")}
    assert shared(dtypes(one, "ascend910b")) == [(["x", "y"], ("FLOAT", "BFLOAT16"))]
    assert dtypes(one, "ascend310p")["x"] == (), (
        "the page lists none for a product that it does not name"
    )
