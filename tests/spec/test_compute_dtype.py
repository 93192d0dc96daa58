"""Compute dtypes: the modes of the pages, product by product and dtype by dtype."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opgen.calls.table import from_calls
from opgen.model import AclScalar, Call, TensorDesc
from opgen.oracle.judgement import judge
from opgen.spec.compute_dtype import compute_dtypes
from opgen.spec.language import parse
from opgen.spec.spec import Mode
from tests.support.suites import page, suite

F32, F16, BF16, HF32 = "FLOAT", "FLOAT16", "BFLOAT16", "HFLOAT32"
POOL = [  # product, dtype, modes 0 to 3; lines 59 to 63 of the page
    (
        "ascend310p",
        F32,
        (None, f"perhaps {F16}", F16, None),
    ),  # lines 61 and 63 allow it, line 62 does it
    ("ascend910", F32, (None, f"perhaps {F16}", F16, None)),
    ("ascend910b", F32, (F32, f"perhaps {HF32}", F16, f"perhaps {HF32}")),
    ("ascend310p", F16, (F16, F16, F16, F16)),
    ("ascend910", F16, (None, F16, F16, None)),
    ("ascend910b", F16, (F16, F16, F16, F16)),
    (
        "ascend910b",
        BF16,
        (BF16, BF16, f"perhaps {F16}", BF16),
    ),  # line 62 allows it whatever the dtype
]
# page, product, dtypes of gradOutput, input, weight, modes 0 to 3; lines 64 to 74 and 31 to 35
CONV = [
    ("ascend910b", "ascend910b", (F32, F32, F32), (F32, f"perhaps {HF32}", F16, HF32)),
    ("ascend910b", "ascend910_93", (F32, F32, F32), (F32, f"perhaps {HF32}", F16, HF32)),
    (
        "ascend910b",
        "ascend910b",
        (F16, F16, F16),
        (F16, F16, F16, None),
    ),  # mode 3: line 72 allows it, line 74 does not
    ("ascend910b", "ascend910b", (BF16, BF16, BF16), (BF16, BF16, None, None)),
    (
        "ascend910b",
        "ascend910b",
        (BF16, F16, BF16),
        (F32, f"perhaps {HF32}", None, HF32),
    ),  # mode 2: line 70 converts what promotes to FLOAT, line 71 forbids BFLOAT16
    ("ascend910b", "ascend910_93", (F16, F32, F16), (F32, f"perhaps {HF32}", F16, HF32)),
    (
        "atlas",
        "ascend310p",
        (F32, F32, F32),
        (None, f"perhaps {F16}", F16, None),
    ),  # line 33 allows it, and says no more of inference
    ("atlas", "ascend910", (F32, F32, F32), (None, F16, F16, None)),
    ("atlas", "ascend910", (F16, F16, F16), (F16, F16, F16, F16)),
    ("atlas", "ascend310p", (F16, F32, F16), (None, f"perhaps {F16}", F16, None)),
]


def answers(name: str, product: str, dtypes: dict[str, str]) -> tuple:
    """Compute dtype under each mode of a call with these dtypes; None where the page does not allow
    the mode.
    """
    dtypes_of, legal = rounded(name, product, dtypes)
    return tuple(dtype if may else None for dtype, may in zip(dtypes_of, legal, strict=True))


def rounded(
    name: str, product: str, dtypes: dict[str, str]
) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """Of a call with these dtypes under each mode: the compute dtype, and whether the page allows
    the call.
    """
    spec = page(name)
    call = next(
        case.call for case in suite(name).cases if case.page.bucket == "valid" and case.phase == 2
    )

    def typed(value, dtype: str):
        return (
            TensorDesc(value.shape, dtype, value.format) if isinstance(value, TensorDesc) else value
        )

    calls = []
    for mode in range(4):
        args = {key: typed(value, dtypes.get(key, "")) for key, value in call.args.items()}
        calls.append(Call(spec.api, product, {**args, "cubeMathType": mode}))
    judged = judge(spec, from_calls(spec.api, spec.kinds, calls))
    found = compute_dtypes(spec, judged.view, 4)
    rows = zip(found.dtype, found.optional, strict=True)
    return tuple(f"perhaps {dtype}" if optional else dtype for dtype, optional in rows), tuple(
        judged.valid.tolist()
    )


@pytest.mark.parametrize(("product", "dtype", "modes"), POOL)
def test_pooling(product: str, dtype: str, modes: tuple) -> None:
    assert (
        answers(
            "avg_pool2d_backward",
            product,
            dict.fromkeys(("gradOutput", "self", "gradInput"), dtype),
        )
        == modes
    )


@pytest.mark.parametrize(("gradient", "image"), [(F32, F16), (F16, F32), (BF16, F32), (F32, BF16)])
def test_pooling_computes_with_gradoutput_and_reads_no_data_of_self(
    gradient: str, image: str
) -> None:
    dtypes = {"gradOutput": gradient, "gradInput": gradient}
    for product in ("ascend310p", "ascend910b"):
        alike, mixed = (
            rounded("avg_pool2d_backward", product, {**dtypes, "self": dtype})[0]
            for dtype in (gradient, image)
        )
        assert mixed == alike


@pytest.mark.parametrize(("which", "product", "dtypes", "modes"), CONV)
def test_convolution(which: str, product: str, dtypes: tuple[str, str, str], modes: tuple) -> None:
    gradient, image, weight = dtypes
    order = (BF16, F16, F32)
    if which == "ascend910b":
        outputs = {"gradInput": image, "gradWeight": weight, "gradBias": gradient}
    else:
        wider = {
            "gradInput": max(image, gradient, key=order.index),
            "gradWeight": max(weight, gradient, key=order.index),
        }
        outputs = {**wider, "gradBias": gradient}
    assert (
        answers(
            f"convolution_backward.{which}",
            product,
            {"gradOutput": gradient, "input": image, "weight": weight, **outputs},
        )
        == modes
    )


@pytest.mark.parametrize(
    ("name", "mixed"),
    [
        ("reflection_pad2d_backward", False),
        ("group_norm_backward.2026-08", True),  # a FLOAT mean beside a FLOAT16 input
        ("layer_norm_backward", True),
        ("l1_loss_backward", True),  # FLOAT16 beside BFLOAT16
    ],
)
def test_an_operator_without_modes_computes_in_what_its_inputs_promote_to(
    name: str, mixed: bool
) -> None:
    inputs, seen = [p.name for p in page(name).inputs], set()
    for case in suite(name).cases:
        if case.compute and case.page.bucket == "valid":
            given = [case.call.args[input] for input in inputs]
            dtypes = {tensor.dtype for tensor in given if isinstance(tensor, TensorDesc)}
            assert case.compute == (dtypes.pop() if len(dtypes) == 1 else F32)
            seen.add(len(dtypes))
    assert (2 in seen) == mixed


def test_inputs_promote_where_no_mode_of_a_page_holds() -> None:
    plain = page("leaky_relu_backward")
    spec = replace(
        plain, modes=(Mode((), parse.condition("selfIsResult", plain.scope), "FLOAT16"),)
    )
    dtypes = [("FLOAT16", "DOUBLE"), ("FLOAT16", "BFLOAT16"), ("DOUBLE", "FLOAT")]
    calls = [
        Call(
            spec.api,
            "ascend910b",
            {
                "gradOutput": TensorDesc((2,), gradient),
                "self": TensorDesc((2,), image),
                "negativeSlope": AclScalar(0.5, "FLOAT"),
                "selfIsResult": False,
                "out": TensorDesc((2,), gradient),
            },
        )
        for gradient, image in dtypes
    ]
    judged = judge(spec, from_calls(spec.api, spec.kinds, calls))
    computed = compute_dtypes(spec, judged.view, len(calls))
    assert computed.dtype.tolist() == ["DOUBLE", "FLOAT", "DOUBLE"]


def test_no_line_says_that_a_mode_rounds_what_the_bias_gradient_sums() -> None:
    for name in ("convolution_backward.ascend910b", "convolution_backward.atlas"):
        assert page(name).exact == ("gradBias",)
        assert all(batch.exact == {"gradBias"} for batch in suite(name).batches)
