"""Lengths that add up to an extent: those of an array in rules, those in a tensor in its data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import opgen
from opgen.calls.call_json import make_call
from opgen.calls.table import from_calls
from opgen.cli import main
from opgen.generation.filling import fill
from opgen.model import FileError, TensorDesc
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from opgen.suite.planning.plan import read_plan
from opgen.suite.planning.plan_check import check_plan
from tests.support import suites

SUMMED = sorted({spec.op for spec in catalog().specs if spec.sums and not spec.status_only})


def joined(case: Any) -> tuple[int, list[int]] | None:
    """How many targets a call of CTC has, one after the other, and the lengths of its sequences."""
    targets, lengths = case.call.args["targets"], case.call.args["targetLengths"]
    if not isinstance(targets, TensorDesc) or len(targets.shape) != 1 or lengths is None:
        return None
    return targets.shape[0], list(lengths)


def test_legal_calls_obey_a_sum_of_different_lengths() -> None:
    legal = [case for case in suites.suite("ctc_loss_backward").cases if 0 in case.page.codes]
    of_one_axis = [shown for case in legal if (shown := joined(case)) is not None]
    assert any(len(set(lengths)) > 2 for _, lengths in of_one_axis)
    assert all(extent == sum(lengths) for extent, lengths in of_one_axis)


def test_the_sum_is_broken_alone_on_either_side_by_one() -> None:
    cases = {case.id: case for case in suites.suite("ctc_loss_backward", "standard").cases}
    away = set()
    for case in cases.values():
        if [one.rule for one in case.page.breaks] == ["joined_targets"]:
            extent, lengths = joined(case) or (0, [])
            away.add(extent - sum(lengths))
            assert case.page.codes == (161002,)
            twin = joined(cases[case.nearest_valid])
            assert twin is not None and twin[0] == sum(twin[1])
    assert {-1, 1} <= away and 0 not in away


def grouped(**changes: Any) -> dict[str, Any]:
    """A call of four rows in two groups."""

    def tensor(shape: list[int], dtype: str = "FLOAT") -> dict[str, Any]:
        return {"shape": shape, "dtype": dtype, "format": "ND"}

    args = {
        "gradY": tensor([4, 3]),
        "x": tensor([4, 6]),
        "groupIndexOptional": tensor([2], "INT64") | changes.pop("group", {}),
        "dim": -1,
        "alpha": 1.702,
        "limit": 7.0,
        "bias": 1.0,
        "interleaved": True,
        "gradXOut": tensor([4, 6]),
    }
    return {
        "id": "mine",
        "op": "aclnnClippedSwigluGrad",
        "product": "ascend950",
        "args": args,
        **changes,
    }


@pytest.mark.parametrize(
    ("group", "broken"),
    [
        ({"range": [2, 2]}, False),
        ({"range": [3, 3]}, True),
        ({"range": [0, 3]}, False),
        ({"range": [2**40, 2**40], "shape": [2**40]}, True),
        ({"range": [5, 5], "shape": [0]}, False),
        ({}, False),
    ],
)
def test_a_sum_is_judged_where_a_call_says_every_element(
    group: dict[str, Any], broken: bool
) -> None:
    (spec,) = catalog().of("aclnnClippedSwigluGrad")
    said = grouped(group=group)
    call = make_call(said["op"], said["product"], said["args"], catalog().kinds)
    judged = judge(spec, from_calls(spec.api, spec.kinds, [call]))
    assert ("group_sum" in [one.rule for one in judged.expectation(0).breaks]) == broken


def generated(folder: Path, *calls: dict[str, Any]) -> Any:
    (folder / "calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    output = str(folder / "out.h5")
    return CliRunner().invoke(
        main, ["generate", "--calls", str(folder / "calls.jsonl"), "-o", output]
    )


@pytest.mark.parametrize(("sizes", "refused"), [([3, 1], False), ([0, 0], False), ([4, 1], True)])
def test_data_of_a_call_are_held_against_a_sum(
    tmp_path: Path, sizes: list[int], refused: bool
) -> None:
    np.savez(tmp_path / "dump.npz", groupIndexOptional=np.array(sizes))
    result = generated(tmp_path, grouped(data="dump.npz"))
    assert result.exit_code == (2 if refused else 0), result.output
    if refused:
        told = (
            "calls.jsonl:1: mine: data: groupIndexOptional adds up to 5; the page asks for"
            " sum(values(groupIndexOptional)) <= prod(x.shape[:dim])"
        )
        assert told in " ".join(result.stderr.split()) and not (tmp_path / "out.h5").exists()
    else:
        with opgen.open(tmp_path / "out.h5") as bundle:
            golden = bundle["mine"].golden["gradXOut"]
        rows = sum(sizes)
        assert golden[:rows].any(axis=1).all() and not golden[rows:].any()


def test_elements_of_a_range_have_no_data_where_their_sum_is_limited(tmp_path: Path) -> None:
    result = generated(tmp_path, grouped(group={"range": [0, 3]}))
    assert result.exit_code == 0 and "says nothing of the sum of elements" in result.stderr
    with opgen.open(tmp_path / "out.h5") as bundle:
        assert not bundle["mine"].inputs


@pytest.mark.parametrize("op", SUMMED)
def test_generated_data_obey_sums(op: str) -> None:
    (spec,) = catalog().of(catalog().operators[op])
    names = {name for name, _ in spec.sums}
    sums = []
    for batch in suites.suite(op, "standard").batches:
        (found,) = fill([batch], [1], 0)
        for name in names & found.values.keys():
            if (array := found.values[name]) is not None:
                (x,) = [found.values["x"]]
                assert x is not None
                rows = int(np.prod(x.shape[1 : 1 + int(batch.names["dim"]) % (x.ndim - 1)]))
                sums += (rows - array.sum(axis=-1)).ravel().tolist()
    assert len(sums) > 3 and min(sums) >= 0


def test_a_plan_may_not_draw_elements_whose_sum_the_page_limits(tmp_path: Path) -> None:
    (spec,) = catalog().of("aclnnClippedSwigluGrad")
    path = tmp_path / "plan.yaml"
    path.write_text(
        "op: aclnnClippedSwigluGrad\nextends: default\nroles: {gradY: gradient, x: argument}\n"
    )
    with pytest.raises(FileError) as caught:
        check_plan(read_plan(path, specs=[spec]), [spec])
    assert "groupIndexOptional: must be saved, since sum(values(groupIndexOptional))" in str(
        caught.value
    )
