"""Which calls have an answer that can be computed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import opgen
from opgen.calls.jsonl import NamedCall, parse_call
from opgen.calls.table import from_calls
from opgen.oracle.judgement import judge
from opgen.oracle.library import answers_to
from opgen.spec.catalog import catalog
from opgen.suite.computable import computable, holdable
from opgen.suite.given_calls import call_suite
from opgen.suite.planning.plan import plan_for
from tests.support import device_sample as sample
from tests.support.suites import of_calls, page, without_rule

SAMPLE = gzip.decompress(
    (Path(__file__).parents[1] / "data" / "library_sample.jsonl.gz").read_bytes()
).splitlines()


def pool(**args):
    tensor = {"dtype": "FLOAT", "format": "NCHW"}
    full = {
        "gradOutput": {"shape": [1, 2, 2, 2], **tensor},
        "self": {"shape": [1, 2, 4, 4], **tensor},
        "kernelSize": [2, 2],
        "stride": [2, 2],
        "padding": [0, 0],
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
        "cubeMathType": 0,
        "gradInput": {"shape": [1, 2, 4, 4], **tensor},
        **args,
    }
    line = json.dumps(
        {"id": "x", "op": "aclnnAvgPool2dBackward", "product": "ascend910b", "args": full}
    )
    return parse_call(line, catalog().kinds)


def answers_of(named: list[NamedCall]):
    call = named[0].call
    spec = catalog().by_page[call.api, call.product]
    judged = judge(spec, from_calls(spec.api, spec.kinds, [one.call for one in named]))
    return (
        judged,
        computable(judged, answers_to(judged)),
        holdable(judged.table),
    )


ONE = sample.tensor([4, 4, 1, 1], "FLOAT16", "NCHW")
NINE = sample.tensor([2, 6, 10, *[1] * 6])
TENSOR = {"dtype": "FLOAT", "format": "NCHW", "shape": [1, 2, 4, 4]}


@pytest.mark.parametrize(
    ("args", "valid", "can"),
    [
        ({}, True, True),
        (
            {"divisorOverride": 300},
            False,
            True,
        ),  # the page forbids it, the library accepts it, and the mathematics is plain
        ({"divisorOverride": -300}, False, True),
        ({"divisorOverride": -(2**63)}, False, True),
        (
            {"gradOutput": {**TENSOR, "shape": [1, 2, 3, 3]}},
            False,
            False,
        ),  # accepted, but no such output has a gradient
        ({"stride": None}, False, False),  # nothing says where the windows lie
        ({"kernelSize": [0, 0]}, False, False),
        ({"padding": [2, 2]}, False, False),  # refused by both
    ],
)
def test_what_can_be_computed(args, valid, can):
    judged, able, _ = answers_of([pool(**args)])
    assert (bool(judged.valid[0]), bool(able[0])) == (valid, can)


@pytest.mark.parametrize(
    ("call", "can"),
    [
        (sample.convolution(biasSizes=[4, 4]), True),  # nothing follows from it
        (sample.convolution(biasSizes=[3]), True),
        (sample.convolution(biasSizes=[3], gradBias=sample.tensor([3], "FLOAT16")), False),
        (sample.convolution(stride=[1]), False),
        (
            sample.convolution(dilation=[0, 0], padding=[0, 0], weight=ONE, gradWeight=ONE),
            False,
        ),  # 0 is no extent here
        (sample.norm(outputMask=[True, False, True], gradGammaOut=sample.tensor([7])), True),
        (sample.norm(gradGammaOut=sample.tensor([7])), False),
        (
            sample.norm(gradOut=NINE, input=NINE, gradInput=NINE),
            True,
        ),  # a rank above the page's limit, and no letter stands for it
        (sample.norm(gamma=None), True),  # the page is silent about it
        (sample.pool(self=None), False),  # and forbids these
        (sample.pool(gradOutput=None), False),
        (sample.pool(padding=None), False),
        (sample.convolution(biasSizes=None), True),
        (sample.pool(cubeMathType=9), True),
        (sample.pool("DOUBLE"), True),
        (sample.pool(product="ascend910_93"), True),
        (sample.pool(self=sample.tensor([2, 3, 6, 6], layout="NHWC")), True),
        (sample.pad(gradOutput=sample.tensor([6, 7, 8])), False),  # self has four axes
    ],
)
def test_what_nobody_reads_or_asks_for_spoils_no_answer(call, can):
    judged = answers_of([parse_call(json.dumps({"id": "x", **call}), catalog().kinds)])[0]
    assert not judged.valid[0]
    accepting = SimpleNamespace(
        may_succeed=np.ones(1, dtype=bool)
    )  # a library that takes everything
    assert computable(judged, accepting)[0] == can


def test_a_call_that_may_succeed_has_data_for_the_device_that_takes_it(tmp_path):
    """An output padding of a whole stride: the page is silent, and of the library two answers are
    known to be possible.
    """
    call = sample.convolution(
        product="ascend910",
        transposed=True,
        outputPadding=[1, 1],
        outputMask=[False, True, True],
        gradOutput=sample.tensor([2, 4, 6, 7], "FLOAT16", "NCHW"),
    )
    with opgen.open(sample.write(tmp_path / "perhaps.h5", {"perhaps": call})) as bundle:
        case = bundle["perhaps"]
        assert (case.expect.codes, case.library.codes) == ((0, "any_error"), (0, 561103))
        assert set(case.golden) == {"gradWeight", "gradBias"}
        right = sample.right(case)
        for status, outputs, verdict in (
            (161002, {}, "passed"),
            (0, right, "passed"),
            (0, {n: a + 1 for n, a in right.items()}, "failed"),
        ):
            with opgen.Results.create(tmp_path / "results.h5", bundle, force=True) as results:
                results.add("perhaps", status=status, outputs=outputs)
            assert opgen.diff(bundle.path, tmp_path / "results.h5")["perhaps"].verdict == verdict, (
                status,
                verdict,
            )


def test_sums_over_nothing_are_an_answer(tmp_path):
    """Where a library takes an extent of 0 that the page does not: zeros, and a device that writes
    nothing is known.
    """
    x, rows, gamma = sample.tensor([0, 6, 5]), sample.tensor([0, 2]), sample.tensor([6])
    call = sample.norm(
        gradOut=x,
        input=x,
        mean=rows,
        rstd=rows,
        gamma=gamma,
        N=0,
        C=6,
        HxW=5,
        group=2,
        gradInput=x,
        gradGammaOut=gamma,
        gradBetaOut=gamma,
    )
    judged, able, _ = answers_of([parse_call(json.dumps({"id": "x", **call}), catalog().kinds)])
    assert not judged.valid[0] and able[0]
    with opgen.open(sample.write(tmp_path / "none.h5", {"none": call})) as bundle:
        case = bundle["none"]
        assert {
            name: (golden.shape, golden.any(), case.bound[name].any())
            for name, golden in case.golden.items()
        } == {
            "gradInput": ((0, 6, 5), False, False),
            "gradGammaOut": ((6,), False, False),
            "gradBetaOut": ((6,), False, False),
        }
        for value, verdict in (
            (np.float32(0), "passed"),
            (None, "known deviation"),
            (np.float32(1), "failed"),
        ):
            outputs = {
                name: np.full(golden.shape, np.float32(0) if value is None else value)
                for name, golden in case.golden.items()
            }
            left = {name: array.size if value is None else 0 for name, array in outputs.items()}
            with opgen.Results.create(tmp_path / "results.h5", bundle, force=True) as results:
                results.add("none", status=0, outputs=outputs, unwritten=left)
            assert opgen.diff(bundle.path, tmp_path / "results.h5")["none"].verdict == verdict, (
                value
            )


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        ({"strides": [32, 16, 4, 1], "storage_shape": [32]}, True),
        ({"strides": [32, 16, 4, 1], "storage_shape": [31]}, False),
        ({"strides": [32, 16, 4, 1], "offset": 1, "storage_shape": [32]}, False),
        ({"strides": [32, 16, -4, 1], "offset": 0, "storage_shape": [64]}, False),
        ({"strides": [32, 16, -4, 1], "offset": 12, "storage_shape": [64]}, True),
        ({"strides": [0, 0, 0, 0], "storage_shape": [1]}, True),
        ({"dtype": "INT8"}, True),
        ({"dtype": "HIFLOAT8"}, False),
        ({"shape": [0, 2, 4, 4], "strides": [99, 99, 99, 99], "storage_shape": [0]}, True),
    ],
)
def test_a_view_must_lie_in_its_storage(change, fits):
    _, _, holds = answers_of([pool(self={**TENSOR, **change})])
    assert bool(holds[0]) == fits


def test_a_spec_that_says_nothing_of_negative_extents_ends_no_run():
    """The call stands there with its expectation alone, and the reason is told."""
    spec = page("reflection_pad1d_backward")
    for name in ("gradOutput.dims", "self.dims"):
        spec = without_rule(spec, name)
    inside, outside = (
        {"dtype": "FLOAT", "format": "ND", "shape": [-1, 3, 4]},
        {"dtype": "FLOAT", "format": "ND", "shape": [-1, 3, 7]},
    )
    args = {"gradOutput": outside, "self": inside, "padding": [2, 1], "gradInput": inside}
    line = json.dumps({"id": "less", "op": spec.api, "product": "ascend910b", "args": args})
    made = call_suite(
        [parse_call(line, catalog().kinds)], lambda call: spec, lambda one: plan_for(one.op)
    )
    assert made.cases[0].page.bucket == "valid" and made.cases[0].phase == 1
    assert made.without_data == {"less": "an extent is negative"}


def test_a_negative_extent_of_what_is_not_asked_for_counts_for_nothing():
    line = json.dumps(
        {"id": "x", **sample.norm(outputMask=[True, False, True], gradGammaOut=sample.tensor([-3]))}
    )
    made = of_calls([parse_call(line, catalog().kinds)])
    assert made.cases[0].phase == 2 and not made.without_data


def test_of_real_calls_all_legal_ones_and_some_others():
    named = [parse_call(line.decode(), catalog().kinds) for line in SAMPLE[::7]]
    some = [
        one
        for one in named
        if one.call.api == "aclnnConvolutionBackward" and one.call.product == "ascend910b"
    ]
    judged, able, _ = answers_of(some)
    assert (able | ~judged.valid).all()
    accepted = np.array([one.extra["status"] == 0 for one in some])
    assert not (able & ~judged.valid & ~accepted).any()
    assert (able & ~judged.valid).any()
