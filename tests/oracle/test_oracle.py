"""The oracle: rules on columns say what plain Python says of one call, nothing wraps, and several
broken rules add up.
"""

from __future__ import annotations

import operator
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opgen.calls import bigint
from opgen.calls.jsonl import read_calls
from opgen.calls.table import from_calls
from opgen.model import Call, TensorDesc
from opgen.oracle.judgement import ORDER, judge
from opgen.spec import specfile
from opgen.spec.catalog import catalog
from opgen.spec.language import three_valued
from opgen.spec.spec import Spec
from tests.oracle import naive_judge
from tests.support.spec_sample import TEXT

SAMPLE = Path(__file__).parents[1] / "data" / "library_sample.jsonl.gz"
SPECS = {spec.name: spec for spec in catalog().specs}


@pytest.fixture(scope="module")
def calls() -> dict[str, list[Call]]:
    """Real calls by the page that judges them, and each once more with something changed."""
    result: dict[str, list[Call]] = {name: [] for name in SPECS}
    source = random.Random(7)
    for named in read_calls(SAMPLE, catalog().kinds):
        call = named.call
        result[catalog().by_page[call.api, call.product].name] += [call, changed(call, source)]
    return result


def changed(call: Call, source: random.Random) -> Call:
    """One argument is something else, mostly something odd."""
    name = source.choice(list(call.args))
    value: Any = call.args[name]
    odd = [0, 1, -1, 3, 255, 256, 2**31, 2**62, 2**63 - 1, -(2**63)]
    if isinstance(value, TensorDesc):
        shape = list(value.shape)
        place = source.randrange(len(shape) + 1)
        shape[place : place + source.choice((0, 1))] = [source.choice(odd)] * source.choice((0, 1))
        value = source.choice(
            [
                None,
                replace(value, shape=tuple(shape)),
                replace(value, dtype=source.choice(["FLOAT", "BFLOAT16", "INT8"])),
            ]
        )
    elif isinstance(value, bool):
        value = not value
    elif isinstance(value, tuple):
        flags = catalog().kinds[call.api][name] == "bool_array"
        value = source.choice(
            [
                None,
                value[1:],
                value * 2,
                tuple(source.choice((True, False) if flags else odd) for _ in value),
            ]
        )
    elif isinstance(value, int):
        value = (
            source.choice(odd[:4])
            if catalog().kinds[call.api][name] == "int8"
            else source.choice(odd)
        )
    return Call(call.api, call.product, {**call.args, name: value})


def disagreements(spec: Spec, calls: list[Call]) -> list[tuple[int, set[str]]]:
    judgement = judge(spec, from_calls(spec.api, spec.kinds, calls))
    sample = naive_judge.TWINS[spec.name]
    ids = [rule.id for rule in spec.rules]
    rows = [
        {ids[i] for i in np.flatnonzero(judgement.broken[:, row]) if ids[i] in sample}
        for row in range(len(calls))
    ]
    return [
        (i, got ^ want)
        for i, got in enumerate(rows)
        if got != (want := naive_judge.broken(spec.name, calls[i]))
    ]


@pytest.mark.parametrize("name", sorted(naive_judge.TWINS))
def test_columns_say_what_single_calls_say(name: str, calls: dict[str, list[Call]]) -> None:
    assert set(naive_judge.TWINS[name]) <= set(SPECS[name].rule)
    assert disagreements(SPECS[name], calls[name]) == []


def wrapped(exact: Any) -> np.ndarray:
    """What int64 makes of a number."""
    return np.asarray((exact + 2**63) % 2**64 - 2**63, dtype=np.int64)


MUTANTS = [
    (
        "a limit that is not reached",
        three_valued,
        "_ORDER",
        {**three_valued._ORDER, ">=": operator.gt},
    ),
    (
        "a limit that is overstepped",
        three_valued,
        "_ORDER",
        {**three_valued._ORDER, "<=": lambda a, b: a <= b + 1},
    ),
    (
        "products that wrap",
        bigint,
        "multiply",
        lambda a, b: wrapped(a.astype(object) * b.astype(object)),
    ),
    ("sums that wrap", bigint, "add", lambda a, b: wrapped(a.astype(object) + b.astype(object))),
]


@pytest.mark.parametrize(("what", "module", "name", "wrong"), MUTANTS, ids=[m[0] for m in MUTANTS])
def test_a_wrong_judge_is_found_out(
    what: str,
    module: Any,
    name: str,
    wrong: Any,
    calls: dict[str, list[Call]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, name, wrong)
    specs = [
        specfile.load(Path(__file__).parents[2] / SPECS[name].file) for name in naive_judge.TWINS
    ]
    assert any(disagreements(spec, calls[spec.name]) for spec in specs)


# numbers that do not fit --------------------------------------------------------------------------
TOP = 2**63 - 1
HUGE = [
    (2**31, 2**31, 1),
    (2**31, 2**31, 2),
    (2**62, 2, 1),
    (TOP, TOP, TOP),
    (-TOP - 1, -1, 1),
    (2**32, 2**32, 1),
    (TOP, 1, 1),
]


@pytest.mark.parametrize(("n", "c", "area"), HUGE)
def test_group_norm_counts_elements_exactly(n: int, c: int, area: int) -> None:
    spec = SPECS["group_norm_backward"]

    def call(shape: tuple[int, ...]) -> Call:
        data, stat = TensorDesc(shape, "FLOAT"), TensorDesc((n, 1), "FLOAT")
        args = {
            "gradOut": data,
            "input": data,
            "mean": stat,
            "rstd": stat,
            "gamma": TensorDesc((c,), "FLOAT"),
            "N": n,
            "C": c,
            "HxW": area,
            "group": 1,
            "outputMask": (True, True, True),
            "gradInput": data,
            "gradGammaOut": TensorDesc((c,), "FLOAT"),
            "gradBetaOut": TensorDesc((c,), "FLOAT"),
        }
        return Call(spec.api, "ascend910", args)

    seen = int(wrapped(n * c * area))
    other = (seen,) if seen != n * c * area else (n, c, area, 0)
    judgement = judge(spec, from_calls(spec.api, spec.kinds, [call((n, c, area)), call(other)]))
    of = {rule.id: judgement.broken[i].tolist() for i, rule in enumerate(spec.rules)}
    assert of["grad_numel"] == of["input_numel"] == [False, True]
    assert of["mean_numel"] == [False, False]
    found = {one.rule: one.found for one in judgement.expectations()[1].breaks}
    assert found["input_numel"].endswith(f"N={n}, C={c}, HxW={area}")


def test_convolution_with_the_largest_extents() -> None:
    spec, big = SPECS["convolution_backward.ascend910b"], 2**31 - 1

    def call(win: int, wout: int, groups: int = 1, co: int = 1) -> Call:
        args = {
            "gradOutput": TensorDesc((big, co, big, wout), "FLOAT", "NCHW"),
            "input": TensorDesc((big, big, big, win), "FLOAT", "NCHW"),
            "weight": TensorDesc((co, big // groups, 1, 3), "FLOAT", "NCHW"),
            "biasSizes": (co,),
            "stride": (1, 2),
            "padding": (0, 1),
            "dilation": (1, 255),
            "transposed": False,
            "outputPadding": (0, 0),
            "groups": groups,
            "outputMask": (True, True, True),
            "cubeMathType": 0,
            "gradInput": TensorDesc((big, big, big, win), "FLOAT", "NCHW"),
            "gradWeight": TensorDesc((co, big // groups, 1, 3), "FLOAT", "NCHW"),
            "gradBias": TensorDesc((co,), "FLOAT"),
        }
        return Call(spec.api, "ascend910b", args)

    def breaks(one: Call) -> list[str]:
        expectation = judge(spec, from_calls(spec.api, spec.kinds, [one])).expectation(0)
        return [b.rule for b in expectation.breaks]

    right = (big + 2 - 511) // 2 + 1
    assert breaks(call(big, right)) == []
    assert breaks(call(big, right + 1)) == ["out_width"]
    assert breaks(call(2**63 - 1, (2**63 + 1 - 511) // 2 + 1)) == []
    assert breaks(call(big, right, groups=2)) == ["groups_in", "groups_divide_out"]


def test_a_break_shows_the_axes_of_its_own_rank_alone() -> None:
    spec = SPECS["convolution_backward.ascend910b"]

    def call(layout: str, *space: int) -> Call:
        grad, image, one = (
            TensorDesc((2, 1, *space), "FLOAT", layout),
            TensorDesc((3, 1, *space), "FLOAT", layout),
            (1,) * len(space),
        )
        weight = TensorDesc((1, 1, *one), "FLOAT", layout)
        args = {
            "gradOutput": grad,
            "input": image,
            "weight": weight,
            "biasSizes": (1,),
            "stride": one,
            "padding": (0,) * len(space),
            "dilation": one,
            "transposed": False,
            "outputPadding": (0,) * len(space),
            "groups": 1,
            "outputMask": (True, True, True),
            "cubeMathType": 0,
            "gradInput": image,
            "gradWeight": weight,
            "gradBias": TensorDesc((1,), "FLOAT"),
        }
        return Call(spec.api, "ascend910b", args)

    mixed = [call("NCL", 7), call("NCHW", 8, 7), call("NCDHW", 9, 8, 7)]
    said = judge(spec, from_calls(spec.api, spec.kinds, mixed)).expectations()
    assert [[(b.rule, b.found) for b in one.breaks] for one in said] == [
        [("input.shape", "input.shape=[3, 1, 7], N=2, Ci=1, Win=7")],
        [("input.shape", "input.shape=[3, 1, 8, 7], N=2, Ci=1, Win=7, Hin=8")],
        [("input.shape", "input.shape=[3, 1, 9, 8, 7], N=2, Ci=1, Win=7, Hin=8, Din=9")],
    ]


@pytest.mark.parametrize(("product", "line"), [("ascend310p", 53), ("ascend910", 54)])
def test_a_break_tells_the_line_that_speaks_of_its_product(product: str, line: int) -> None:
    spec = SPECS["convolution_backward.atlas"]
    data = TensorDesc((1, 1, 1, 1, 1), "FLOAT16", "NCDHW")
    args = {
        "gradOutput": data,
        "input": data,
        "weight": data,
        "biasSizes": (1,),
        "stride": (1, 1, 1),
        "padding": (0, 0, 0),
        "dilation": (1, 1, 1),
        "transposed": False,
        "outputPadding": (0, 0, 0),
        "groups": 1,
        "outputMask": (True, True, True),
        "cubeMathType": 0,
        "gradInput": data,
        "gradWeight": data,
        "gradBias": TensorDesc((1,), "FLOAT16"),
    }
    said = judge(
        spec, from_calls(spec.api, spec.kinds, [Call(spec.api, product, args)])
    ).expectation(0)
    assert [(b.at, b.found) for b in said.breaks] == [(line, "input.rank=5")]


def test_one_huge_row_does_not_change_the_others(calls: dict[str, list[Call]]) -> None:
    spec = SPECS["reflection_pad2d_backward"]
    some = calls[spec.name][:60]
    huge = Call(
        spec.api,
        "ascend910",
        {**some[0].args, "padding": (2**63 - 1, 2**63 - 1, -(2**63), 2**63 - 1)},
    )
    alone = judge(spec, from_calls(spec.api, spec.kinds, some)).broken
    together = judge(spec, from_calls(spec.api, spec.kinds, [*some, huge])).broken
    assert np.array_equal(alone, together[:, :-1]) and together[:, -1].any()


# three values -------------------------------------------------------------------------------------
def window(**changes: Any) -> Call:
    args: dict[str, Any] = {
        "gradOutput": TensorDesc((2, 3, 3), "FLOAT"),
        "self": TensorDesc((2, 6, 6), "FLOAT"),
        "scale": None,
        "kernel": (2,),
        "stride": (),
        "mode": 1,
        "divisor": 1,
        "ceil": False,
        "mask": (True, False),
        "gradInput": TensorDesc((2, 6, 6), "FLOAT"),
    }
    product = changes.pop("product", "ascend910")
    return Call("aclnnWindowBackward", product, {**args, **changes})


WINDOW = specfile.loads(TEXT)


def expectation(**changes: Any) -> Any:
    return judge(WINDOW, from_calls(WINDOW.api, WINDOW.kinds, [window(**changes)])).expectation(0)


T = TensorDesc
SEVERAL = [
    # (what is changed, codes, bucket, broken rules)
    ({}, (0,), "valid", []),
    ({"self": None}, (161001,), "stated", ["self.null"]),
    ({"kernel": None}, (161001,), "stated", ["kernel.null"]),
    ({"kernel": None, "stride": (2, 2)}, (161001,), "stated", ["kernel.null"]),
    ({"stride": None}, (0, "any_error"), "assumed", ["stride.null"]),
    (
        {"kernel": (2, 2, 2)},
        (161002,),
        "stated",
        ["kernel.length"],
    ),  # items of a wrong length mean nothing
    ({"stride": (2, 2, 2)}, ("any_error",), "unstated", ["stride.length"]),
    ({"gradOutput": T((3, 3), "FLOAT")}, (0,), "valid", []),  # N is then read from self alone
    ({"gradOutput": T((3, 3, 3), "FLOAT")}, ("any_error",), "unstated", ["self.shape"]),
    ({"gradOutput": T((3,), "FLOAT")}, ("any_error",), "unstated", ["gradOutput.rank"]),
    ({"gradOutput": T((), "FLOAT")}, ("any_error",), "unstated", ["gradOutput.rank"]),
    ({"self": T((), "FLOAT")}, ("any_error",), "unstated", ["self.rank", "grad_shape"]),
    (
        {"self": T((2, 0, 6), "FLOAT"), "gradOutput": T((2, 0, 3), "FLOAT")},
        (0, "any_error"),
        "assumed",
        ["self.empty", "grad_shape"],
    ),
    ({"scale": T((2,), "INT8")}, (0,), "valid", []),
    ({"scale": T((3,), "INT8")}, ("any_error",), "unstated", ["scale.shape"]),
    ({"mask": ()}, (0, "any_error"), "assumed", ["mask.length"]),
    ({"gradInput": None}, (0, "any_error"), "assumed", ["gradInput.null"]),
    ({"gradInput": None, "mask": (False, False)}, (0,), "valid", []),
    ({"gradInput": None, "mask": None}, (0, "any_error"), "assumed", ["mask.null"]),
    ({"product": "ascend910_93"}, ("any_error",), "unsupported_product", ["product"]),
    (
        {"product": "ascend910_93", "mode": 7},
        (161002, "any_error"),
        "unsupported_product",
        ["product", "mode.enum"],
    ),
    ({"mode": -1}, (161002,), "stated", ["mode.enum"]),
    ({"divisor": 256, "self": None}, (161001, 161002), "stated", ["self.null", "divisor.range"]),
    (
        {"divisor": -256, "kernel": (-1,)},
        (161002,),
        "stated",
        ["kernel.min", "divisor.range"],
    ),  # no stride, so nothing to pool with
    (
        {"kernel": (300, 2), "stride": (2, 2)},
        (561103,),
        "stated",
        ["kernel.max"],
    ),
    (
        {"kernel": (300, 2), "stride": (2, 2), "divisor": 256},
        (161002, 561103),
        "stated",
        ["kernel.max", "divisor.range"],
    ),
    (
        {"gradOutput": T((2, 3, 3), "FLOAT16"), "self": T((2, 6, 6), "FLOAT16"), "mode": 0},
        (0, "any_error"),
        "disputed",
        ["keep_half"],
    ),
    (
        {"gradOutput": T((2, 4, 3), "FLOAT16"), "self": T((2, 6, 6), "FLOAT16"), "mode": 0},
        (0, "any_error"),
        "disputed",
        ["out_height", "keep_half"],
    ),
    (
        {"self": T((2, 6, 6), "FLOAT16"), "mode": 0},
        (161002,),
        "stated",
        ["same_dtype", "keep_half"],
    ),
    (
        {"gradOutput": T((2, 3, 3), "FLOAT", "NCHW"), "self": T((2, 6, 6), "BFLOAT16")},
        (161002, "any_error"),
        "stated",
        ["gradOutput.format", "same_dtype"],
    ),
    (
        {"gradOutput": T((2, 3, 3), "FLOAT", "NCHW"), "stride": None},
        ("any_error",),
        "unstated",
        ["gradOutput.format", "stride.null"],
    ),
]


@pytest.mark.parametrize(("changes", "codes", "bucket", "rules"), SEVERAL)
def test_codes_add_up_and_unbound_names_judge_nothing(
    changes: Any, codes: Any, bucket: str, rules: list[str]
) -> None:
    said = expectation(**changes)
    assert (said.codes, said.bucket, [b.rule for b in said.breaks]) == (codes, bucket, rules)


def test_what_a_break_tells() -> None:
    one = expectation(kernel=(-1,), stride=(1,)).breaks[0]
    assert (one.rule, one.clause, one.at, one.found) == (
        "kernel.min",
        "161002.3",
        12,
        "lowest(kernel)=-1",
    )
    found = {
        b.rule: b.found
        for b in expectation(self=TensorDesc((2, 5, 6), "FLOAT16"), product="ascend910_93").breaks
    }
    assert found == {
        "product": "product=ascend910_93",
        "same_dtype": "gradOutput.dtype=FLOAT, self.dtype=FLOAT16",
        "out_height": "Hout=3, H=5, kH=2, sH=2, ceil=false",
        "grad_shape": "gradInput.shape=[2, 6, 6], self.shape=[2, 5, 6]",
    }
    assert expectation(self=None).breaks[0].found == "self.null=true"


def test_a_break_tells_the_line_of_its_product() -> None:
    at = "    at: {parameter: 10, dtype: {any: 22, ascend910b: [23, 10]}}\n    dtype: {any:"
    spec = specfile.loads(TEXT.replace("    at: 10\n    dtype: {any:", at))
    assert spec.rule["gradOutput.dtype"].at == (22, 23, 10, 31) and spec.rule[
        "gradOutput.format"
    ].at == (10,)
    wrong = [
        window(product=product, gradOutput=T((2, 3, 3), "DOUBLE"))
        for product in ("ascend910b", "ascend910", "ascend910_93")
    ]
    said = judge(spec, from_calls(spec.api, spec.kinds, wrong)).expectations()
    assert [[b.at for b in one.breaks if b.rule == "gradOutput.dtype"] for one in said] == [
        [23],
        [22],
        [22],
    ]


def test_a_product_that_the_page_says_nothing_of_is_told_no_line_of_another() -> None:
    at = "    at: {parameter: 10, dtype: {any: [], ascend910b: 23}}\n    dtype: {any:"
    spec = specfile.loads(TEXT.replace("    at: 10\n    dtype: {any:", at))
    wrong = [
        window(product=product, gradOutput=T((2, 3, 3), "DOUBLE"))
        for product in ("ascend910b", "ascend910")
    ]
    said = judge(spec, from_calls(spec.api, spec.kinds, wrong)).expectations()
    assert [[b.at for b in one.breaks if b.rule == "gradOutput.dtype"] for one in said] == [
        [23],
        [None],
    ]


def test_a_break_of_several_relations_tells_the_line_of_the_first() -> None:
    several = (
        "mask: {kind: bool_array, at: {length: {mode: 42, divisor: 41}}, length: {mode: {1: 2},"
        " divisor: {1: 2}}}"
    )
    spec = specfile.loads(TEXT.replace("mask: {kind: bool_array, length: [2]}", several))
    wrong = [
        window(mask=(), mode=mode, divisor=divisor)
        for mode, divisor in ((1, 1), (0, 1), (1, 2), (0, 2))
    ]
    said = judge(spec, from_calls(spec.api, spec.kinds, wrong)).expectations()
    assert [[b.at for b in one.breaks if b.rule == "mask.length"] for one in said] == [
        [42],
        [41],
        [42],
        [],
    ]


def broken(name: str, product: str, **args: Any) -> Any:
    """What is expected of one call of an operator that ships."""
    spec = SPECS[name]
    return judge(
        spec, from_calls(spec.api, spec.kinds, [Call(spec.api, product, args)])
    ).expectation(0)


def test_a_product_is_refused_with_the_code_that_the_page_has_for_it_alone() -> None:
    name = "fused_linear_cross_entropy_loss_grad"
    args: dict[str, Any] = dict.fromkeys(SPECS[name].parameters) | {"labelSmoothing": 0.0}
    assert set(broken(name, "ascend910", **args).codes) == {161001, 361001}
    assert 361001 not in broken(name, "ascend910b", **args).codes


def test_memory_counts_the_image_that_is_wide_as_the_one_and_high_as_the_other() -> None:
    """Of 2^17 rows against as many columns, either image alone has the extent of a line."""
    long = 2**17
    said = broken(
        "upsample_bilinear2d_backward_v2", "ascend910b",
        gradOut=T((1, 1, long, 1), "FLOAT", "NCHW"), out=T((1, 1, 1, long), "FLOAT", "NCHW"),
        outputSize=(long, 1), inputSize=(1, 1, 1, long),
        alignCorners=False, scalesH=float(long), scalesW=1 / long,
    )  # fmt: skip
    assert "memory" in [rule.rule for rule in said.breaks]


@pytest.mark.parametrize("name", ["group_norm_backward", "convolution_backward.ascend910b"])
def test_a_dtype_that_each_product_has_a_line_for_is_found_there(name: str) -> None:
    spec = SPECS[name]
    for rule in (
        spec.rule[f"{p.name}.dtype"] for p in spec.parameters.values() if p.kind == "output"
    ):
        assert [guard.at for guard in rule.guards] and {
            line for guard in rule.guards for line in guard.at
        } == set(rule.at)


def test_all_rows_are_said_as_each_alone(calls: dict[str, list[Call]]) -> None:
    for name, spec in SPECS.items():
        judgement = judge(spec, from_calls(spec.api, spec.kinds, calls[name][:150]))
        everyone = list(judgement.expectations())
        assert everyone == [judgement.expectation(row) for row in range(len(everyone))]
        assert [e.codes for e in everyone] == [judgement.codes(row) for row in range(len(everyone))]
        assert (
            [e.bucket == "valid" for e in everyone]
            == judgement.valid.tolist()
            == [not e.breaks for e in everyone]
        )
        ranks = [
            min((ORDER.index(spec.rule[b.rule].bucket) for b in e.breaks), default=5)
            for e in everyone
        ]
        assert ranks == judgement.bucket.tolist()


def test_an_empty_table_is_judged() -> None:
    for spec in SPECS.values():
        assert judge(spec, from_calls(spec.api, spec.kinds, [])).expectations().values == ()
