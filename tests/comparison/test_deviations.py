"""Numeric errata: what a library is known to return is a known deviation, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest

import opgen
from opgen.files.resources import specs_folder
from opgen.numerics.formats import DTYPES
from opgen.numerics.rounding import stored
from opgen.oracle import erratafile
from opgen.spec.catalog import catalog
from tests.support import device_sample as sample
from tests.support.device_sample import judged, only


def test_a_pooling_in_half_precision_is_a_known_deviation(tmp_path):
    """Gradient, 1 / divisor and result each rounded to FLOAT16, where the page allows HFLOAT32."""
    image, small = (
        sample.tensor([2, 3, 9, 9], "FLOAT", "NCHW"),
        sample.tensor([2, 3, 3, 3], "FLOAT", "NCHW"),
    )
    call = sample.pool(
        cubeMathType=1,
        kernelSize=[3, 3],
        stride=[3, 3],
        self=image,
        gradInput=image,
        gradOutput=small,
    )
    with opgen.open(sample.write(tmp_path / "half.h5", {"half": call})) as bundle:
        narrow = bundle["half"].inputs["gradOutput"].astype(np.float16).astype(
            np.float32
        ) * np.float32(np.float16(1 / 9))
        whole = (
            np.repeat(np.repeat(narrow, 3, axis=2), 3, axis=3).astype(np.float16).astype(np.float32)
        )
        report = judged(bundle, tmp_path, lambda case, outputs: {"gradInput": whole})
        assert report["half"].verdict == "known deviation"
        assert report["half"].detail.startswith("mode_1_is_half: ")
        worse = judged(
            bundle, tmp_path, lambda case, outputs: {"gradInput": whole * np.float32(1.003)}
        )
        assert worse["half"].verdict == "failed"


@pytest.mark.parametrize(
    ("value", "excused"),
    [(np.inf, True), (np.nan, True), (65504.0, True), (7.0, False), (11000.0, False)],
)
def test_a_factor_beyond_a_dtype_excuses_what_overflow_leaves_and_no_other_number(
    tmp_path, value, excused
):
    """Of 100000 FLOAT16 makes Inf, and 11111 in FLOAT is a ninth of it."""
    image, small = (
        sample.tensor([1, 1, 9, 9], "FLOAT", "NCHW"),
        sample.tensor([1, 1, 3, 3], "FLOAT", "NCHW"),
    )
    call = sample.pool(
        cubeMathType=1,
        kernelSize=[3, 3],
        stride=[3, 3],
        self=image,
        gradInput=image,
        gradOutput=small,
    )
    given = {"gradOutput": [1e5, *[9.0] * 8]}
    with opgen.open(
        sample.write(tmp_path / "half.h5", {"half": call}, given={"half": given})
    ) as bundle:

        def spoil(case, outputs):
            outputs["gradInput"][..., :3, :3] = value
            return outputs

        assert judged(bundle, tmp_path)["half"].verdict == "passed"
        assert judged(bundle, tmp_path, spoil)["half"].verdict == (
            "known deviation" if excused else "failed"
        )


@pytest.mark.parametrize("mode", [0, 3])
def test_a_shortcut_that_leaves_out_what_is_optional(tmp_path, mode):
    """A kernel as large as the image, padding ignored, in FLOAT: known where HFLOAT32 is allowed as
    well as where it is not.
    """
    image, one = (
        sample.tensor([2, 3, 12, 12], "FLOAT", "NCHW"),
        sample.tensor([2, 3, 1, 1], "FLOAT", "NCHW"),
    )
    call = sample.pool(
        cubeMathType=mode,
        kernelSize=[12, 12],
        stride=[9, 9],
        padding=[1, 1],
        self=image,
        gradInput=image,
        gradOutput=one,
    )
    given = {
        "whole": {
            "gradOutput": np.random.default_rng(1).standard_normal(6).astype(np.float32).tolist()
        }
    }
    with opgen.open(sample.write(tmp_path / "whole.h5", {"whole": call}, given=given)) as bundle:
        flat = np.broadcast_to(
            bundle["whole"].inputs["gradOutput"] / np.float32(144), (2, 3, 12, 12)
        )
        report = judged(bundle, tmp_path, lambda case, outputs: {"gradInput": flat})
        assert report["whole"].verdict == "known deviation" and report["whole"].detail.startswith(
            "whole_image: "
        )
        worse = judged(
            bundle, tmp_path, lambda case, outputs: {"gradInput": flat * np.float32(1.001)}
        )
        assert worse["whole"].verdict == "failed"


@pytest.mark.parametrize(
    ("mode", "verdict"), [(1, "passed"), (2, "known deviation"), (3, "passed")]
)
def test_a_mode_that_is_ignored(tmp_path, mode, verdict):
    """Without padding counted the library's vector path computes in FLOAT; modes 1 and 3 allow
    HFLOAT32, mode 2 promises FLOAT16.
    """
    image, small = (
        sample.tensor([2, 3, 8, 8], "FLOAT", "NCHW"),
        sample.tensor([2, 3, 7, 7], "FLOAT", "NCHW"),
    )
    call = sample.pool(
        cubeMathType=mode,
        countIncludePad=False,
        kernelSize=[2, 2],
        stride=[1, 1],
        padding=[0, 0],
        self=image,
        gradInput=image,
        gradOutput=small,
    )
    given = {
        "gradOutput": np.random.default_rng(0).standard_normal(294).astype(np.float32).tolist()
    }
    with opgen.open(
        sample.write(tmp_path / "mode.h5", {"mode": call}, given={"mode": given})
    ) as bundle:
        parts = np.pad(
            bundle["mode"].inputs["gradOutput"].astype(np.float64) / 4,
            ((0, 0), (0, 0), (1, 1), (1, 1)),
        )
        plain = (parts[..., 1:, :] + parts[..., :-1, :])[..., 1:] + (
            parts[..., 1:, :] + parts[..., :-1, :]
        )[..., :-1]
        report = judged(
            bundle, tmp_path, lambda case, outputs: {"gradInput": plain.astype(np.float32)}
        )
        assert report["mode"].verdict == verdict
        assert report["mode"].detail.startswith("vector_in_float: " if mode == 2 else "")
        coarse = ((plain * 1024).round() / 1024).astype(np.float32)
        assert (
            judged(bundle, tmp_path, lambda case, outputs: {"gradInput": coarse})["mode"].verdict
            == "failed"
        )


def test_small_operators_round_each_term(tmp_path):
    """The gradient of gamma on ascend910: differences, products and products again in FLOAT16, then
    a sum.
    """
    call, rng = sample.norm("FLOAT16", product="ascend910", group=2), np.random.default_rng(0)
    sizes = {"gradOut": 120, "input": 120, "mean": 4, "rstd": 4}
    given = {
        name: stored(rng.standard_normal(size), "FLOAT16").astype(float).tolist()
        for name, size in sizes.items()
    }
    with opgen.open(
        sample.write(tmp_path / "gamma.h5", {"gamma": call}, given={"gamma": given})
    ) as bundle:
        inputs = bundle["gamma"].inputs
        x, dy = (inputs[name].reshape(2, 2, 3, 10) for name in ("input", "gradOut"))
        mean, rstd = (inputs[name].reshape(2, 2, 1, 1) for name in ("mean", "rstd"))
        terms = dy * ((x - mean) * rstd)
        assert terms.dtype == np.float16
        small = terms.astype(np.float32).sum((0, 3)).reshape(6).astype(np.float16)
        assert (
            np.abs(small - bundle["gamma"].golden["gradGammaOut"])
            > bundle["gamma"].bound["gradGammaOut"]
        ).any()
        report = judged(bundle, tmp_path, lambda case, outputs: {**outputs, "gradGammaOut": small})
        assert report["gamma"].verdict == "known deviation"
        assert report["gamma"].detail.startswith("gamma_by_small_operators: ")
        for name, factor in (("gradGammaOut", 1.05), ("gradBetaOut", 1.002)):
            far = {name: (bundle["gamma"].golden[name] * factor).astype(np.float16)}
            assert (
                judged(bundle, tmp_path, lambda case, outputs, far=far: {**outputs, **far})[
                    "gamma"
                ].verdict
                == "failed"
            )


@pytest.mark.parametrize(
    ("part", "verdict"),
    [(0.9, "known deviation"), (-0.9, "known deviation"), (1.15, "failed"), (-1.15, "failed")],
)
def test_terms_are_excused_as_many_roundings_as_the_erratum_says(tmp_path, part, verdict):
    """Two terms of 1 cancel, so that all that is left is what three roundings of each to FLOAT16
    may cost.
    """
    call = sample.norm("FLOAT16", product="ascend910", group=2)
    given = {
        "gradOut": [1.0, -1.0, *[0.0] * 118],
        "input": [1.0, 1.0, *[0.0] * 118],
        "mean": [0.0] * 4,
        "rstd": [1.0] * 4,
    }
    with opgen.open(
        sample.write(tmp_path / "terms.h5", {"terms": call}, given={"terms": given})
    ) as bundle:
        off = np.array([part * 2 * 3 * 2.0**-11, 0, 0, 0, 0, 0], np.float16)
        report = judged(bundle, tmp_path, lambda case, outputs: {**outputs, "gradGammaOut": off})
        assert report["terms"].verdict == verdict


@pytest.mark.parametrize(("part", "verdict"), [(0.9, "known deviation"), (1.15, "failed")])
def test_a_weight_is_excused_one_rounding(tmp_path, part, verdict):
    """A quarter, from windows of 1 and of -1 that overlap: 1 / divisor is rounded to FLOAT16 in
    each.
    """
    image, small = (
        sample.tensor([1, 1, 3, 3], "FLOAT", "NCHW"),
        sample.tensor([1, 1, 2, 2], "FLOAT", "NCHW"),
    )
    call = sample.pool(
        cubeMathType=2,
        kernelSize=[2, 2],
        stride=[1, 1],
        padding=[0, 0],
        countIncludePad=True,
        self=image,
        gradInput=image,
        gradOutput=small,
    )
    given = {"weight": {"gradOutput": [1.0, -1.0, 0.0, 0.0]}}
    with opgen.open(sample.write(tmp_path / "weight.h5", {"weight": call}, given=given)) as bundle:
        assert bundle["weight"].golden["gradInput"].reshape(3, 3)[:, 1].tolist() == [0, 0, 0]

        def spoil(case, outputs):
            outputs["gradInput"][0, 0, 0, 1] = part * 0.5 * 2.0**-11
            return outputs

        assert judged(bundle, tmp_path, spoil)["weight"].verdict == verdict


@pytest.mark.parametrize(("large", "excused"), [(320.0, True), (100.0, False)])
def test_a_rounded_term_may_overflow_where_the_sum_does_not(tmp_path, large, excused):
    call = sample.norm("FLOAT16", product="ascend910", group=2)
    given = {
        "gradOut": [large, -large, *[0.0] * 118],
        "input": [large, large, *[0.0] * 118],
        "mean": [0.0] * 4,
        "rstd": [1.0] * 4,
    }
    with opgen.open(
        sample.write(tmp_path / "term.h5", {"term": call}, given={"term": given})
    ) as bundle:
        assert not bundle["term"].golden["gradGammaOut"].any()
        infinite = np.array([np.inf, 0, 0, 0, 0, 0], np.float16)
        report = judged(
            bundle, tmp_path, lambda case, outputs: {**outputs, "gradGammaOut": infinite}
        )
        assert report["term"].verdict == ("known deviation" if excused else "failed")
        moved = {"gradGammaOut": np.roll(infinite, 1)}
        assert (
            judged(bundle, tmp_path, lambda case, outputs: {**outputs, **moved})["term"].verdict
            == "failed"
        )


@pytest.mark.parametrize(
    ("dtype", "mode"), [("FLOAT16", 0), ("BFLOAT16", 1), ("FLOAT", 2), ("FLOAT", 1)]
)
def test_an_area_that_half_precision_does_not_hold(tmp_path, dtype, mode):
    """A kernel as large as an image of 256 by 256: gradOutput / Inf."""
    image, one = (
        sample.tensor([1, 1, 256, 256], dtype, "NCHW"),
        sample.tensor([1, 1, 1, 1], dtype, "NCHW"),
    )
    call = sample.pool(
        cubeMathType=mode,
        kernelSize=[256, 256],
        stride=[1, 1],
        self=image,
        gradInput=image,
        gradOutput=one,
    )
    given = {"area": {"gradOutput": [40960.0]}}
    with opgen.open(sample.write(tmp_path / "area.h5", {"area": call}, given=given)) as bundle:
        nothing = np.zeros_like(sample.right(bundle["area"])["gradInput"])
        report = judged(bundle, tmp_path, lambda case, outputs: {"gradInput": nothing})
        assert report["area"].verdict == "known deviation"
        assert "whole_image_beyond_half: " in report["area"].detail
        assert (
            judged(bundle, tmp_path, lambda case, outputs: {"gradInput": outputs["gradInput"] * 2})[
                "area"
            ].verdict
            == "failed"
        )


def test_an_output_that_the_page_rounds_to_a_dtype_is_rounded_to_it_once(tmp_path):
    """USE_FP16 computes in FLOAT16: that results pass through it is the page's, and no second
    rounding is excused.
    """
    with opgen.open(
        sample.write(tmp_path / "once.h5", {"once": sample.convolution("FLOAT", groups=2, mode=2)})
    ) as bundle:
        golden = bundle["once"].golden["gradWeight"]
        near = golden.astype(np.float16)
        off = np.where(
            golden > near,
            np.nextafter(near, np.float16(np.inf)),
            np.nextafter(near, np.float16(-np.inf)),
        )
        report = judged(
            bundle,
            tmp_path,
            lambda case, outputs: {**outputs, "gradWeight": near.astype(np.float32)},
        )
        assert report["once"].verdict == "passed"
        report = judged(
            bundle,
            tmp_path,
            lambda case, outputs: {**outputs, "gradWeight": off.astype(np.float32)},
        )
        assert report["once"].verdict == "failed"


def test_a_numeric_erratum_is_a_known_deviation(bundle, tmp_path):
    spoil = only(
        "conv-groups",
        lambda o: {**o, "gradWeight": o["gradWeight"].astype(np.float16).astype(np.float32)},
    )
    report = judged(bundle, tmp_path, spoil)
    assert report["conv-groups"].verdict == "known deviation"
    assert report["conv-groups"].detail.startswith("grouped_through_half: ")
    assert judged(bundle, tmp_path, spoil, {"truth": "page"})["conv-groups"].verdict == "failed"


@pytest.mark.parametrize("factor", [1.01, 0.0, -1.0, np.nan, np.inf])
def test_an_erratum_does_not_excuse_what_it_does_not_explain(bundle, tmp_path, factor):
    def spoil(outputs):
        with np.errstate(all="ignore"):
            return {**outputs, "gradWeight": outputs["gradWeight"] * np.float32(factor)}

    assert judged(bundle, tmp_path, only("conv-groups", spoil))["conv-groups"].verdict == "failed"


@pytest.mark.parametrize(
    ("value", "excused"),
    [(np.inf, True), (65504.0, True), (-np.inf, False), (np.nan, False), (0.0, False)],
)
def test_what_overflows_on_the_way_is_excused_on_its_own_side_alone(tmp_path, value, excused):
    """Rounded through FLOAT16, a large gradient is Inf of its sign, or the largest value."""
    call = sample.CALLS["conv-groups"]
    given = {
        name: [value] * int(np.prod(call["args"][name]["shape"]))
        for name, value in (("gradOutput", 1000.0), ("input", 100.0))
    }
    with opgen.open(
        sample.write(tmp_path / "wide.h5", {"wide": call}, given={"wide": given})
    ) as bundle:
        golden = bundle["wide"].golden["gradWeight"]
        assert (golden > 66000).all()
        report = judged(
            bundle,
            tmp_path,
            lambda case, outputs: {
                **outputs,
                "gradWeight": np.full_like(outputs["gradWeight"], value),
            },
        )
        assert report["wide"].verdict == ("known deviation" if excused else "failed")


@pytest.mark.parametrize(
    ("name", "dtype", "output"),
    [
        ("grouped_through_half", "FLOAT", "gradWeight"),
        ("bias_through_half", "FLOAT16", "gradBias"),
        ("bias_through_bfloat16", "BFLOAT16", "gradBias"),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_results_that_pass_through_a_dtype_are_values_of_it_all_of_them(
    tmp_path, name, dtype, output, seed
):
    """One element that is none, though near enough, is no rounding of the whole."""
    plain = sample.convolution(dtype, groups=2 if dtype == "FLOAT" else 1)
    whole = {
        **plain,
        "args": {**plain["args"], output: {**plain["args"][output], "dtype": "FLOAT"}},
    }
    gradient, rng = plain["args"]["gradOutput"], np.random.default_rng(seed)
    given = {
        "gradOutput": (
            stored(rng.standard_normal(int(np.prod(gradient["shape"]))), dtype)
            .astype(float)
            .tolist()
        )
    }
    with opgen.open(
        sample.write(tmp_path / "through.h5", {"whole": whole}, given={"whole": given})
    ) as bundle:
        golden = bundle["whole"].golden[output]
        narrow = stored(golden, "FLOAT16" if dtype == "FLOAT" else dtype).astype(np.float32)
        report = judged(
            bundle, tmp_path, lambda case, outputs: {**outputs, output: narrow}, whole=0
        )
        assert report["whole"].verdict == "known deviation" and report["whole"].detail.startswith(
            f"{name}: "
        )
        one = golden.astype(np.float32)
        at = np.unravel_index(
            np.argmax(np.abs(narrow - golden) / bundle["whole"].bound[output]), golden.shape
        )
        one[at] = narrow[at]
        assert (
            judged(bundle, tmp_path, lambda case, outputs: {**outputs, output: one}, whole=0)[
                "whole"
            ].verdict
            == "failed"
        )
        two = np.nextafter(
            narrow,
            np.float32(np.inf),
            where=np.arange(narrow.size).reshape(narrow.shape) == 0,
            out=narrow.copy(),
        )
        assert (
            judged(bundle, tmp_path, lambda case, outputs: {**outputs, output: two}, whole=0)[
                "whole"
            ].verdict
            == "failed"
        )


def test_a_result_that_passes_through_a_dtype_is_rounded_to_it_once(tmp_path):
    call = sample.CALLS["conv-groups"]
    given = {
        "gradOutput": (
            np.random.default_rng(0)
            .standard_normal(int(np.prod(call["args"]["gradOutput"]["shape"])))
            .tolist()
        )
    }
    with opgen.open(
        sample.write(tmp_path / "once.h5", {"once": call}, given={"once": given})
    ) as bundle:
        golden = bundle["once"].golden["gradWeight"]
        near = golden.astype(np.float16)
        off = np.where(
            golden > near,
            np.nextafter(near, np.float16(np.inf)),
            np.nextafter(near, np.float16(-np.inf)),
        )
        for values, verdict in ((near, "known deviation"), (off, "failed")):
            found = {"gradWeight": values.astype(np.float32)}
            assert (
                judged(bundle, tmp_path, lambda case, outputs, found=found: {**outputs, **found})[
                    "once"
                ].verdict
                == verdict
            )


@pytest.mark.parametrize(("part", "excused"), [(0, True), (3, False), (2, False)])
def test_what_is_subnormal_on_the_way_may_become_zero_and_no_other_number(tmp_path, part, excused):
    call = sample.CALLS["conv-groups"]
    given = {
        name: [value, *[0.0] * 239] for name, value in (("gradOutput", 2.0**-16), ("input", 1.0))
    }
    with opgen.open(
        sample.write(tmp_path / "tiny.h5", {"tiny": call}, given={"tiny": given})
    ) as bundle:
        golden = bundle["tiny"].golden["gradWeight"]
        assert golden.max() == golden.sum() == 2.0**-16
        found = (golden * part).astype(np.float32)
        report = judged(bundle, tmp_path, lambda case, outputs: {**outputs, "gradWeight": found})
        assert report["tiny"].verdict == ("known deviation" if excused else "failed")


@pytest.mark.parametrize(
    ("dtype", "near", "off"),
    [("FLOAT", "known deviation", "failed"), ("FLOAT16", "passed", "failed")],
)
def test_a_coarser_dtype_that_inputs_and_output_have_already_excuses_no_rounding(
    tmp_path, dtype, near, off
):
    shipped = (specs_folder() / "errata" / "convolution_backward.yaml").read_text(encoding="utf-8")
    entry = "when: gradOutput.dtype == 'FLOAT16'\n    outputs: gradBias\n    through: FLOAT16"
    assert entry in shipped
    wider = "when: promoted != 'BFLOAT16'\n    outputs: gradWeight\n    bound: FLOAT16"
    own = erratafile.loads(shipped.replace(entry, wider), catalog(), "own.yaml")
    draw = np.random.default_rng(1)
    given = {
        name: stored(draw.standard_normal(240), "FLOAT16").astype(float).tolist()
        for name in ("gradOutput", "input")
    }
    with opgen.open(
        sample.write(tmp_path / "own.h5", {"own": sample.convolution(dtype)}, given={"own": given})
    ) as bundle:
        golden = bundle["own"].golden["gradWeight"]
        best = golden.astype(np.float16)
        other = np.where(
            golden > best,
            np.nextafter(best, np.float16(np.inf)),
            np.nextafter(best, np.float16(-np.inf)),
        )
        for values, verdict in ((best, near), (other, off)):
            found = {"gradWeight": values.astype(DTYPES[dtype].numpy)}
            report = judged(
                bundle,
                tmp_path,
                lambda case, outputs, found=found: {**outputs, **found},
                {"library": {own.api: own}},
            )
            assert report["own"].verdict == verdict


@pytest.mark.parametrize(
    ("value", "excused"), [(np.inf, True), (65504.0, True), (203821.0, False), (-65504.0, False)]
)
def test_one_element_beyond_a_dtype_is_no_value_of_it(tmp_path, value, excused):
    call = sample.CALLS["conv-groups"]
    rng = np.random.default_rng(1)
    given = {
        name: rng.integers(-3, 4, int(np.prod(call["args"][name]["shape"])))
        for name in ("gradOutput", "input")
    }
    given["gradOutput"][0] = given["input"][0] = 2000
    lists = {name: values.tolist() for name, values in given.items()}
    with opgen.open(
        sample.write(tmp_path / "wide.h5", {"wide": call}, given={"wide": lists})
    ) as bundle:
        golden = bundle["wide"].golden["gradWeight"]
        assert (golden > 65520).any() and not (np.abs(golden) > 65504).all()
        found = np.where(
            golden > 65520,
            value,
            stored(np.clip(golden, -60000, 60000), "FLOAT16").astype(np.float32),
        ).astype(np.float32)
        report = judged(bundle, tmp_path, lambda case, outputs: {**outputs, "gradWeight": found})
        assert report["wide"].verdict == ("known deviation" if excused else "failed")


@pytest.mark.parametrize("factor", [-1.0, np.nan, 0.0])
def test_no_erratum_excuses_another_infinity(bundle, tmp_path, factor):
    """An Inf that belongs there is the same Inf in every dtype."""
    plain = sample.CALLS["conv-groups"]
    size = int(np.prod(plain["args"]["gradOutput"]["shape"]))
    given = {
        "gradOutput": [np.inf] + [1.0] * (size - 1),
        "input": [1.0] * int(np.prod(plain["args"]["input"]["shape"])),
    }
    with opgen.open(
        sample.write(tmp_path / "inf.h5", {"inf": plain}, given={"inf": given})
    ) as some:
        place = np.isinf(some["inf"].golden["gradWeight"])
        assert place.any() and not place.all()

        def spoil(case, outputs):
            with np.errstate(all="ignore"):
                return {
                    **outputs,
                    "gradWeight": np.where(
                        place, outputs["gradWeight"] * np.float32(factor), outputs["gradWeight"]
                    ),
                }

        assert not judged(some, tmp_path, lambda case, outputs: outputs).bad(strict=True)
        assert judged(some, tmp_path, spoil)["inf"].verdict == "failed"


def test_a_result_in_its_own_dtype_is_rounded_once(tmp_path):
    """What an erratum says of outputs that are cast once more excuses no FLOAT16 of a FLOAT16
    computation.
    """
    with opgen.open(
        sample.write(tmp_path / "half.h5", {"half": sample.convolution("FLOAT16")})
    ) as bundle:
        golden, limit = bundle["half"].golden["gradWeight"], bundle["half"].bound["gradWeight"]
        near = golden.astype(np.float16)
        off = np.where(
            golden > near,
            np.nextafter(near, np.float16(np.inf)),
            np.nextafter(near, np.float16(-np.inf)),
        )
        assert (
            np.abs(off - golden) > limit
        ).any()  # the next best FLOAT16, between half an ulp and one
        assert (
            judged(bundle, tmp_path, lambda case, outputs: {**outputs, "gradWeight": off})[
                "half"
            ].verdict
            == "failed"
        )


def test_an_erratum_of_one_output_does_not_excuse_another(bundle, tmp_path):
    spoil = only(
        "conv-groups",
        lambda o: {
            **o,
            "gradBias": o["gradBias"].astype(np.float16).astype(np.float32) * np.float32(1.001),
        },
    )
    assert judged(bundle, tmp_path, spoil)["conv-groups"].verdict == "failed"


@pytest.mark.parametrize(("written", "excused"), [("untouched", "canary"), ("zeros", "zeros")])
def test_an_output_that_a_library_does_not_compute_is_a_known_deviation_and_another_value_is_not(
    bundle, tmp_path, written, excused
):
    shipped = (specs_folder() / "errata" / "reflection_pad2d_backward.yaml").read_text(
        encoding="utf-8"
    )
    entry = "when: self.numel == 0 or gradOutput.numel == 0, written: untouched"
    assert entry in shipped
    own = erratafile.loads(
        shipped.replace(entry, f"when: self.dtype == 'FLOAT', written: {written}"),
        catalog(),
        "own.yaml",
    )
    shape = bundle["pad-FLOAT"].golden["gradInput"].shape
    outputs = {
        "canary": np.full(shape, sample.CANARY),
        "zeros": np.zeros(shape, np.float32),
        "nan": np.full(shape, np.float32("nan")),
        "ones": np.ones(shape, np.float32),
    }
    found = {
        name: judged(
            bundle,
            tmp_path,
            only("pad-FLOAT", lambda o, v=value: {"gradInput": v}),
            {"library": {own.api: own}},
        )["pad-FLOAT"]
        for name, value in outputs.items()
    }
    assert {name: one.verdict for name, one in found.items()} == {
        name: "known deviation" if name == excused else "failed" for name in outputs
    }
    assert found[excused].detail.startswith("nothing_written (")


def test_every_erratum_behind_a_known_deviation_is_a_cause(bundle, tmp_path):
    """Also of one whose words have colons or parentheses of their own."""
    shipped = (specs_folder() / "errata" / "convolution_backward.yaml").read_text(encoding="utf-8")
    entry = "input_untouched: {where: "
    assert entry in shipped
    changed = shipped.replace(entry, f"{entry[: -len('where: ')]}note: 'so: (said)', where: ")
    condition = "when: no_elements, outputs"
    assert changed.count(condition) == 2
    own = erratafile.loads(
        changed.replace(condition, "when: groups > 1, outputs"),
        catalog(),
        "own.yaml",
    )

    def spoil(outputs):
        unwritten = np.full_like(outputs["gradInput"], sample.CANARY)
        return {
            "gradInput": unwritten,
            **{name: values * 0 for name, values in outputs.items() if name != "gradInput"},
        }

    options = {"library": {own.api: own}}
    report = judged(bundle, tmp_path, only("conv-groups", spoil), options)
    assert report["conv-groups"].verdict == "known deviation", report["conv-groups"].detail
    assert report["conv-groups"].metrics["causes"] == ["input_untouched", "others_zero"]
    assert report["conv-groups"].detail.startswith("input_untouched: so: (said); others_zero (")
    assert [(one.cause, one.cases) for one in report.groups] == [
        ("input_untouched", 1),
        ("others_zero", 1),
    ]


def test_another_reference_is_a_known_deviation(tmp_path):
    """A kernel as large as the image: the library ignores the padding."""
    image, whole = (
        [1, 2, 12, 12],
        sample.pool(kernelSize=[12, 12], stride=[12, 12], padding=[1, 1], countIncludePad=False),
    )
    args = {
        **whole["args"],
        "gradOutput": sample.tensor([1, 2, 1, 1], "FLOAT", "NCHW"),
        "self": sample.tensor(image, "FLOAT", "NCHW"),
    }
    calls = {
        "whole": {**whole, "args": {**args, "gradInput": sample.tensor(image, "FLOAT", "NCHW")}}
    }
    with opgen.open(sample.write(tmp_path / "whole.h5", calls)) as bundle:
        case = bundle["whole"]
        assert case.expect.bucket == "valid"
        assert not np.array_equal(
            case.golden["gradInput"][0, 0, 11], case.golden["gradInput"][0, 0, 0]
        )
        spread = np.broadcast_to(case.inputs["gradOutput"].astype(np.float64) / 144, image).astype(
            np.float32
        )
        report = judged(bundle, tmp_path, lambda c, o: {"gradInput": spread})
        assert report["whole"].verdict == "known deviation"
        assert report["whole"].detail.startswith("whole_image: ")
        assert (
            judged(bundle, tmp_path, lambda c, o: {"gradInput": spread * np.float32(2)})[
                "whole"
            ].verdict
            == "failed"
        )


@pytest.mark.parametrize(("channels", "known"), [(5777, True), (5776, False)])
@pytest.mark.parametrize("status", [0, "crash"])
def test_a_device_that_faults_where_published_code_is_wrong_is_a_known_deviation(
    tmp_path, channels, known, status
):
    """34 bytes a channel overrun the unified buffer from 5777 channels of a group on."""
    whole, stats = sample.tensor([1, channels, 1], "FLOAT16"), sample.tensor([1, 1], "FLOAT16")
    gamma = sample.tensor([channels], "FLOAT16")
    shapes = dict.fromkeys(("gradOut", "input", "gradInput"), whole)
    shapes |= dict.fromkeys(("gamma", "gradGammaOut", "gradBetaOut"), gamma)
    call = sample.norm("FLOAT16", group=1, **shapes, mean=stats, rstd=stats, N=1, C=channels, HxW=1)
    with opgen.open(sample.write(tmp_path / "norm.h5", {"norm": call})) as bundle:

        def faulty(case, outputs):
            return {name: values + np.float16(1) for name, values in outputs.items()}

        verdict = judged(bundle, tmp_path, faulty, norm=status)["norm"]
        wrong = "failed" if status == 0 else "crashed"
        assert verdict.verdict == ("known deviation" if known else wrong)
        assert ("unified_buffer: seen by running" in verdict.detail) == known
        page = judged(bundle, tmp_path, faulty, {"truth": "page"}, norm=status)["norm"]
        assert page.verdict == wrong
