"""What a command line asks for, and what it gets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.calls.call_json import to_json
from opgen.files.resources import cases_folder, specs_folder
from opgen.generation import engine
from opgen.generation.header import header
from opgen.model import FileError
from opgen.oracle.errata_folder import ShippedErrata
from opgen.suite.remarks import remarks
from opgen.suite.selection import Request
from opgen.suite.shard import shard
from tests.support.suites import page, suite

WRONG = [
    (
        {"operators": ["avg_pool2d_backwards"]},
        "no such operator (did you mean 'avg_pool2d_backward'?)",
    ),
    ({"products": ["ascend910c"]}, "no such product (did you mean"),
    ({"plan": "smok"}, "no such tier or file (did you mean 'smoke'?)"),
    (
        {"operators": ["reflection_pad2d_backward"], "patterns": ["nothing-*"]},
        "no case matches the request",
    ),
    ({"operators": ["reflection_pad2d_backward"], "shard": "3/2"}, "expects I/N with 1 <= I <= N"),
    ({"operators": ["reflection_pad2d_backward"], "shard": "²/4"}, "expects I/N with 1 <= I <= N"),
    (
        {"operators": ["reflection_pad2d_backward"], "shard": "1/" + "9" * 5000},
        "expects I/N with 1 <= I <= N",
    ),
    ({"calls": "missing.jsonl"}, "cannot be read"),
    (
        {"calls": "some.jsonl", "seed_calls": "others.jsonl"},
        "`seed_calls`: others.jsonl: is for a plan, not for `calls`",
    ),
    (
        {"calls": "some.jsonl", "recipe": "integer"},
        "`recipe`: integer: no such recipe (did you mean 'integers'?); known: grid,",
    ),
    (
        {"recipe": "integers"},
        "`recipe`: integers: is for `calls`; a plan names the recipes of its cases",
    ),
    (
        {"plan": "{plan}", "operators": ["group_norm_backward"]},
        "is a plan of one operator; leave out aclnnGroupNormBackward",
    ),
    (
        {"plan": "{plan}", "operators": ["avg_pool2d_backward", "group_norm_backward"]},
        "leave out aclnnGroupNormBackward",
    ),
    (
        {"plan": "crash", "operators": ["avg_pool2d_backward", "group_norm_backward"]},
        "crash: no such tier in the plan of aclnnGroupNorm",
    ),
    (
        {"plan": "crash", "operators": ["group_norm_backward"]},
        "crash: no such tier in the plan of aclnnGroupNormBackward",
    ),
]


@pytest.mark.parametrize(("asked", "message"), WRONG, ids=[message[:30] for _, message in WRONG])
def test_what_does_not_exist_is_told(asked: dict, message: str) -> None:
    if "plan" in asked:
        asked = {
            **asked,
            "plan": asked["plan"].format(plan=cases_folder() / "avg_pool2d_backward.yaml"),
        }
    with pytest.raises(FileError) as caught:
        Request(**asked).suite()
    assert message in str(caught.value)


def test_one_operator_and_one_product() -> None:
    made = Request(operators=["aclnnReflectionPad2dBackward"], products=["ascend310p"]).suite()
    assert {case.call.api for case in made.cases} == {"aclnnReflectionPad2dBackward"}
    assert {case.call.product for case in made.cases} == {"ascend310p"}


def test_a_plan_file_and_its_tier(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "op: aclnnReflectionPad2dBackward\naxes: {product: [ascend910b], rank: [3], dtype: [FLOAT,"
        ' DOUBLE], padLeft: [0, 1]}\nlet: {H: "2", W: "3", C: "2"}\ntiers: {smoke: {strength: 2,'
        " invalid: 0, limits: 0}, standard: {strength: 1, invalid: 1}}\n"
    )
    request = Request(operators=["reflection_pad2d_backward"], plan=str(path))
    assert request.name == "mine" and len(request.suite().cases) == 4
    assert any(
        case.kind == "invalid"
        for case in Request(operators=request.operators, plan=f"{path}::standard").suite().cases
    )
    with pytest.raises(FileError, match="no such tier in this plan; it has smoke, standard"):
        Request(operators=request.operators, plan=f"{path}::full").suite()


def test_calls_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    cases = list(suite("reflection_pad2d_backward", "smoke").cases)[:5]
    calls = [
        {"op": case.call.api, "product": case.call.product, "args": to_json(case.call)}
        for case in cases
    ]
    path.write_text("\n".join(json.dumps({"id": f"n{i}", **call}) for i, call in enumerate(calls)))
    made = Request(calls=str(path)).suite()
    assert [case.id for case in made.cases] == ["n0", "n1", "n2", "n3", "n4"]
    assert header(Request(calls=str(path)), made, 3)["plan"] == "calls"
    assert [case.id for case in Request(calls=str(path), patterns=["n[12]"]).suite().cases] == [
        "n1",
        "n2",
    ]


def test_calls_have_the_recipe_that_is_asked_for(tmp_path: Path) -> None:
    """None is named where every tensor has values of its own."""
    path = tmp_path / "calls.jsonl"
    case = next(
        case
        for case in suite("reflection_pad2d_backward", "smoke").cases
        if case.compute == "FLOAT"
    )
    call = {"op": case.call.api, "product": case.call.product, "args": to_json(case.call)}
    inputs = {p.name: case.call.args[p.name] for p in page("reflection_pad2d_backward").inputs}
    for name, tensors in (("one", list(inputs)[:1]), ("all", list(inputs))):
        np.savez(
            tmp_path / f"{name}.npz",
            **{tensor: np.ones(inputs[tensor].shape, np.float32) for tensor in tensors},
        )
    own = [{}, {"data": "one.npz"}, {"data": "all.npz"}]
    path.write_text(
        "\n".join(json.dumps({"id": f"n{i}", **call, **data}) for i, data in enumerate(own))
    )
    asked = Request(calls=str(path), recipe="integers")
    made = asked.suite()
    assert [one.recipe for one in made.cases] == ["integers", "integers", ""]
    assert header(asked, made, 0)["recipe"] == "integers" and "recipe" not in header(
        Request(calls=str(path)), made, 0
    )
    engine.write(made, tmp_path / "calls.h5", {})
    with opgen.open(tmp_path / "calls.h5") as bundle:
        drawn = bundle["n0"].inputs["gradOutput"]
        assert (
            (drawn % 1 == 0).all()
            and len(np.unique(drawn)) > 9
            and (bundle["n2"].inputs["gradOutput"] == 1).all()
        )


def test_ids_that_no_bundle_can_keep_are_named_with_their_lines(tmp_path: Path) -> None:
    path, case = tmp_path / "calls.jsonl", suite("reflection_pad2d_backward", "smoke").cases[0]
    one = {"op": case.call.api, "product": case.call.product, "args": to_json(case.call)}
    ids = ["fine", "a\0b", "\ud800", "超" * 342, "超" * 341, "x" * 1025]
    path.write_text("".join(json.dumps({**one, "id": name}) + "\n" for name in ids))
    with pytest.raises(FileError) as caught:
        Request(calls=str(path)).suite()
    assert [(one.file, one.line) for one in caught.value.problems] == [
        (str(path), line) for line in (2, 3, 4, 6)
    ]
    assert "has more than 1024 bytes, and no bundle can keep it" in str(caught.value.problems[2])
    assert len(Request(calls=str(path), patterns=["fine", "超" * 341]).suite().cases) == 2


def test_a_range_of_a_call_is_kept_and_bounds_its_data(tmp_path: Path) -> None:
    """Calls that differ in a range alone do not share their data."""
    case = next(
        case
        for case in suite("reflection_pad2d_backward", "smoke").cases
        if case.phase == 2 and case.compute == "FLOAT"
    )
    call = {"op": case.call.api, "product": case.call.product, "args": to_json(case.call)}
    narrow = json.loads(json.dumps(call))
    narrow["args"]["gradOutput"]["range"] = [3, 5.5]
    path, calls = tmp_path / "calls.h5", tmp_path / "calls.jsonl"
    calls.write_text(
        "\n".join(
            json.dumps({"id": name, **one})
            for name, one in {"wide": call, "narrow": narrow}.items()
        )
    )
    engine.write(Request(calls=str(calls)).suite(), path, {})
    with opgen.open(path) as bundle:
        wide, kept = bundle["wide"], bundle["narrow"]
        assert (
            kept.call["args"]["gradOutput"]["range"] == [3.0, 5.5]
            and "range" not in wide.call["args"]["gradOutput"]
        )
        assert 3 <= kept.inputs["gradOutput"].min() < kept.inputs["gradOutput"].max() <= 5.5
        assert wide.inputs["gradOutput"].min() < 0


def test_a_suite_without_a_golden_says_so() -> None:
    said = ["no case has a golden: only statuses are judged"]
    asked = Request(["reflection_pad1d_backward"], products=["ascend910b"])
    made = asked.suite()
    assert remarks(asked, made) == []
    refused = made.subset(np.flatnonzero(made.cases.phase == 1))
    assert remarks(asked, refused) == said


def test_shards_share_nothing_and_lose_nothing() -> None:
    made = suite("reflection_pad2d_backward", "smoke")
    parts = [shard(made, f"{i}/3") for i in (1, 2, 3)]
    assert sorted(case.id for part in parts for case in part.cases) == sorted(
        case.id for case in made.cases
    )


def test_a_header_says_where_cases_come_from() -> None:
    made = suite("reflection_pad2d_backward", "smoke")
    told = header(Request(), made, 7)
    assert told["seed"] == 7 and told["operators"] == ["aclnnReflectionPad2dBackward"]
    assert list(told["specs"]) == ["reflection_pad2d_backward"] and len(told["products"]) == 4


def test_a_suite_of_one_operator_reads_the_errata_of_no_other() -> None:
    request = Request(operators=["reflection_pad1d_backward"])
    vars(request)["errata"] = source = ShippedErrata(specs_folder() / "errata")
    assert "library" not in header(request, request.suite(), 0)
    assert list(source.known) == ["aclnnReflectionPad1dBackward"] and len(source) > 1
    vars(request)["library"] = "2026-08"
    assert header(request, request.suite(), 0)["library"] == sorted(
        {errata.release for errata in source.values()}
    )
