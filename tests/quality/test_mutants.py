"""The mutation score: what it is, and that it can fail."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from math import prod
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner, Result

import opgen
from opgen.bundle.read.reader import Bundle
from opgen.calls.table import from_calls
from opgen.cli import main
from opgen.comparison.verdicts import diff
from opgen.devices import backend
from opgen.devices.running import run
from opgen.generation import engine
from opgen.generation.header import header
from opgen.golden import kernel
from opgen.model import FileError, TensorDesc
from opgen.numerics.rounding import rounded
from opgen.oracle.judgement import judge
from opgen.quality.mutant_results import (
    CAUGHT,
    IMPOSSIBLE,
    MASKED,
    MISSED,
    NOTICED,
    STOPPED,
    MutantResult,
    MutationScore,
)
from opgen.quality.mutants import (
    ALL,
    FAMILIES,
    KERNELS,
    NOTHING,
    find,
    indices,
    interpolation,
    memory,
    names,
    refuse_idle,
)
from opgen.quality.mutants.bundle_cases import cases_by_page, device_batches
from opgen.quality.mutants.checkers import Family, flipped, nearly, shifted
from opgen.quality.mutants.device import answer, answer_or_crash
from opgen.quality.mutants.equivalent import between, broken_besides, vacuous
from opgen.quality.mutants.mutant import Computation, DeviceBatch, Mutant, Outputs
from opgen.quality.mutants.precision import truncated
from opgen.quality.mutants.reflection import mirrored
from opgen.quality.mutants.tiling import SEAMS
from opgen.quality.mutation_score import score
from opgen.report import mutants as report
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.plan_check import handwritten_calls
from opgen.suite.selection import Request
from tests.support.enumerations import enumerated_once
from tests.support.suites import OF_EACH_KIND, SLOW, computed, page, plan, suite

OPERATORS = (
    "avg_pool2d_backward",
    "convolution_backward",
    "group_norm_backward",
    "reflection_pad2d_backward",
    "hardswish_backward",
    "log_softmax_backward",
)
COMPUTED = sorted(
    computed() if SLOW else {*OF_EACH_KIND, "dropout_backward", "upsample_nearest2d_backward"}
)
"""Operators on which each kernel mutant is tried: some to which each applies, or all."""
STATES = (1, 2, 3, 4, 5) if SLOW else (1,)
"""States that break ties between calls; each takes minutes."""
LEFT_TO_STANDARD = 0.02
"""Share of the kernels that smoke may miss, where ties are broken otherwise than in the plan that
ships: what these need is one pair of values, and smoke tries no pairs."""
DISPUTED = (
    "upsample_bilinear2d_aa_backward",
    "upsample_nearest_exact2d_backward",
    "upsample_nearest_exact3d_backward",
    "upsample_trilinear3d_backward",
)
"""Operators whose pages contradict themselves on a condition, so that no tier catches a device that
ignores it: the table of operators says where."""
MANUAL = Path(opgen.__file__).parent / "quality" / "MUTANTS.md"


def written(path: Path, request: Request) -> Path:
    with enumerated_once():
        suite = request.suite()
    engine.write(suite, path, header(request, suite, 0))
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutants")


@pytest.fixture(scope="session")
def smoke(folder: Path) -> Iterator[Bundle]:
    """Kept as the score of it is, where another process takes tests from among these."""
    with opgen.open(written(folder / "smoke.h5", Request(OPERATORS))) as bundle:
        yield bundle


@pytest.fixture(scope="module")
def pads(folder: Path) -> Iterator[Bundle]:
    with opgen.open(
        written(folder / "pads.h5", Request(OPERATORS[3:4], ("ascend910b",)))
    ) as bundle:
        yield bundle


@pytest.fixture(scope="session")
def kept(smoke: Bundle) -> MutationScore:
    return score(smoke, ALL)


# the score ----------------------------------------------------------------------------------------
def test_smoke_catches_most(kept: MutationScore) -> None:
    assert kept.control == []
    assert kept.percent >= 85
    assert all(caught >= 0.8 * of for caught, of in map(kept.counts, kept.operators))


@pytest.mark.parametrize("op", ["reflection_pad2d_backward", "group_norm_backward"])
def test_standard_catches_every_one(op: str, folder: Path) -> None:
    with opgen.open(written(folder / f"{op}.h5", Request((op,), plan="standard"))) as bundle:
        found = score(bundle, ALL)
    assert found.control == []
    assert [
        (result.mutant, result.why) for result in found.results if result.outcome == MISSED
    ] == []
    assert found.percent == 100


@pytest.mark.parametrize("state", STATES)
def test_smoke_catches_every_kernel_however_ties_are_broken(state: int, tmp_path: Path) -> None:
    """All but what is wrong in the third tile alone, of operators whose outputs have two."""
    request = Request(() if SLOW else COMPUTED[1::3])
    pages, tier = request.pages()
    suite = plan_suite(pages, tier, random_state=state)
    engine.write(suite, tmp_path / "suite.h5", header(request, suite, 0))
    with opgen.open(tmp_path / "suite.h5") as bundle:
        found = score(bundle, [*KERNELS, find("condition_ignored")])
    assert found.control == []
    third_tile = {
        batch.op
        for batch in suite.batches
        if any(prod(batch.tensors[out].shape) > memory.TILES for out in batch.wanted)
    }
    missed = [
        (result.op, result.mutant)
        for result in found.results
        if result.outcome in (MISSED, NOTICED, STOPPED)
        and (result.mutant != "third_tile_unwritten" or result.op in third_tile)
        and not (result.mutant == "condition_ignored" and result.op in DISPUTED)
    ]
    counted = sum(result.outcome in (CAUGHT, MISSED, NOTICED, STOPPED) for result in found.results)
    assert len(missed) <= LEFT_TO_STANDARD * counted, missed


def test_every_row_of_a_table_of_modes_is_told_from_every_other_dtype(
    kept: MutationScore,
) -> None:
    caught: dict[str, set[str]] = {}
    missed = set()
    for result in kept.results:
        if result.mutant.startswith("computes_"):
            missed |= {member.mutant for member in result.members if member.outcome == MISSED}
            for member in result.members:
                if member.outcome == CAUGHT:
                    name, _, row = member.mutant.partition("/")
                    caught.setdefault(f"{result.op} {row}", set()).add(name[len("computes_") :])
    # the page of this mode judges ascend950 alone, for which smoke has few calls
    assert missed == {"computes_float16/mode 5 (line 227): BFLOAT16"}
    others = {"float", "hfloat32", "float16", "bfloat16"}
    convolution, pool = "convolution_backward", "avg_pool2d_backward"
    assert caught == {
        f"{pool} mode 1 (line 62): FLOAT16": others - {"float16"},
        f"{pool} mode 3 (line 61): FLOAT16": {"bfloat16"},  # optional, as are the next
        f"{pool} mode 4 (line 61): HFLOAT32": {"float16", "bfloat16"},
        f"{pool} mode 5 (line 60): FLOAT16": {"bfloat16"},  # FLOAT holds all that FLOAT16 does
        f"{pool} mode 6 (line 60): BFLOAT16": {"float16"},
        f"{pool} as stored": others - {"float"},
        f"{pool} mode 1 (line 241): FLOAT16": {"bfloat16"},  # optional, as is the next
        f"{pool} mode 3 (line 231): HFLOAT32": {"float16", "bfloat16"},
        f"{pool} mode 4 (line 227): FLOAT16": {"bfloat16"},
        f"{convolution} mode 1 (line 70): FLOAT16": others - {"float16"},
        f"{convolution} mode 3 (line 67): HFLOAT32": {"float16", "bfloat16"},  # optional
        f"{convolution} mode 4 (line 74): HFLOAT32": others - {"hfloat32"},
        f"{convolution} mode 5 (line 65): FLOAT": others - {"float"},
        f"{convolution} mode 1 (line 34): FLOAT16": others - {"float16"},
        f"{convolution} mode 3 (line 33): FLOAT16": others - {"float16"},
        f"{convolution} mode 4 (line 33): FLOAT16": {"bfloat16"},  # optional
        f"{convolution} mode 2 (line 282): FLOAT16": {"bfloat16"},  # optional, as is the next
        f"{convolution} mode 4 (line 281): HFLOAT32": {"float16", "bfloat16"},
        f"{convolution} mode 5 (line 283): HFLOAT32": others - {"hfloat32"},
        f"{convolution} mode 6 (line 280): FLOAT": others - {"float"},
        f"{convolution} as stored": {"float16", "bfloat16"},  # FLOAT16 and BFLOAT16 only
    }


def test_a_suite_without_a_mode_misses_what_computes_it_wrong(folder: Path) -> None:
    request = Request(OPERATORS[:1], patterns=("*-fp16*",))
    with opgen.open(written(folder / "half.h5", request)) as bundle:
        (result,) = score(bundle, [find("computes_bfloat16")]).results
    rows = {member.mutant.partition("/")[2]: member for member in result.members}
    assert result.outcome == MISSED
    assert rows["mode 5 (line 60): FLOAT16"].outcome == CAUGHT
    assert rows["mode 4 (line 61): HFLOAT32"].why == "no case has this mode"


def test_an_optional_mode_shows_which_dtype_was_used(smoke: Bundle) -> None:
    """A device that keeps its inputs stays far below the bound of a case that shows the mode."""
    told = set()
    for cases in cases_by_page(smoke):
        for work in device_batches(smoke, cases):
            shows = ["shows a rounding" in smoke[case].intent for case in work.batch.ids]
            if not (work.batch.optional and any(shows)):
                continue
            kept_, rounded_ = (
                answer(work, replace(NOTHING, compute=dtype))
                for dtype in (work.args["gradOutput"].dtype, work.batch.compute)
            )
            for i, case in enumerate(work.batch.ids):
                if shows[i]:
                    away = [
                        max(
                            np.nan_to_num(np.abs(one[i] - golden), nan=0, posinf=1e30).max()
                            for golden, one in zip(
                                smoke[case].golden.values(), each.values(), strict=True
                            )
                        )
                        for each in (kept_, rounded_)
                    ]
                    if away[1] > 100 * away[0]:
                        told.add((work.spec.name, work.mode))
    assert told == {
        ("avg_pool2d_backward", 1),
        ("avg_pool2d_backward", 2),
        ("avg_pool2d_backward", 3),
        ("avg_pool2d_backward.2026-08", 0),
        ("avg_pool2d_backward.2026-08", 2),
        ("convolution_backward.2026-08", 1),
        ("convolution_backward.2026-08", 3),
        ("convolution_backward.ascend910b", 2),
        ("convolution_backward.atlas", 3),
    }


def test_every_outcome_is_accounted_for(kept: MutationScore) -> None:
    for op in kept.operators:
        caught, of = kept.counts(op)
        outcomes = [result.outcome for result in kept.of(op)]
        assert caught == outcomes.count(CAUGHT) and of - caught == outcomes.count(MISSED)
    assert all(result.why for result in kept.missed())
    assert {(result.op, result.mutant) for result in kept.missed()} | {
        (f.op, f.mutant) for f in kept.results if f.catching
    } == {(result.op, result.mutant) for result in kept.results}


def test_a_wrong_divisor_of_windows_that_hang_over_is_seen_everywhere(
    kept: MutationScore, smoke: Bundle
) -> None:
    """Where the published library divides so itself, it is noticed; elsewhere caught."""
    (result,) = [
        result for result in kept.of("avg_pool2d_backward") if result.mutant == "ceil_unclipped"
    ]
    calls = {case.id: case.call for case in smoke}
    seen, caught = (
        {
            (
                calls[name]["product"],
                calls[name]["args"]["self"]["dtype"],
                *map(bool, hanging(calls[name]["args"])),
            )
            for name in names
        }
        for names in ([*result.cases, *result.noticed], result.cases)
    )
    assert {one[:2] for one in caught} == {
        ("ascend910b", dtype) for dtype in ("FLOAT16", "FLOAT", "BFLOAT16")
    }
    for product in ("ascend310p", "ascend910", "ascend910b"):
        assert {
            (product, "FLOAT16", True, True),
            (product, "FLOAT", True, False),
            (product, "FLOAT", False, True),
        } <= seen


def hanging(args: dict) -> list[int]:
    """How far the last window of each axis hangs over the padded image."""
    names = ("kernelSize", "stride", "padding")
    kernel, stride, padding = ((args[name] * 2)[:2] for name in names)  # one item is for both axes
    sizes = zip(args["gradOutput"]["shape"][-2:], args["self"]["shape"][-2:], strict=True)
    return [
        max(0, (o - 1) * (stride or kernel)[i] + kernel[i] - n - 2 * padding[i])
        for i, (o, n) in enumerate(sizes)
    ]


def test_a_mutant_that_does_nothing_is_not_caught(pads: Bundle) -> None:
    found = score(
        pads,
        [
            Mutant("harmless", "nothing"),
            NOTHING,
            Family("lenient", "nothing", lambda spec, rule: rule),
        ],
    )
    assert [(result.mutant, result.catching) for result in found.results] == [
        ("harmless", []),
        ("nothing", []),
        ("lenient", []),
    ]
    assert [result.outcome for result in found.results[:2]] == [MISSED, MISSED]
    assert found.results[0].why == "no case of the suite has another answer"
    assert found.percent == 0


def stops(given: Computation) -> Outputs:
    return {"gradInput": given["no such input"]}


def test_a_kernel_that_stops_at_the_numbers_of_a_mutant_is_a_crash_of_the_mutant(
    pads: Bundle,
) -> None:
    """It says nothing of data, and catches nothing; that of a correct device is a fault."""
    found = score(pads, [Mutant("stops", "reads what is not there", kernel=stops)])
    (result,) = found.results
    assert (result.outcome, result.catching) == (STOPPED, [])
    assert {*result.stopped} == {*result.differing} and found.counts() == (0, 0)
    assert result.why.endswith("cases stop its kernel: KeyError: 'no such input'")
    with pytest.raises(KeyError):
        score(pads, [], correct=Mutant("wrong", "stops", kernel=stops))
    (work, *_) = device_batches(pads, cases_by_page(pads, pads.ids)[0])
    wrong = answer_or_crash(work, Mutant("stops", "", kernel=stops))
    assert wrong == (None, "KeyError: 'no such input'")
    assert answer_or_crash(work, NOTHING)[0] is not None


def test_cases_that_stop_a_mutant_are_counted_apart_from_those_that_catch_it(pads: Bundle) -> None:
    def sometimes(given: Computation) -> Outputs:
        return (
            stops(given)
            if given.gradient.ndim == 4
            else {"gradInput": given.run()["gradInput"] + 1}
        )

    found = score(pads, [Mutant("sometimes", "stops now and then", kernel=sometimes)])
    (result,) = found.results
    assert result.outcome == CAUGHT and result.cases and result.stopped
    assert not {*result.cases} & {*result.stopped}
    (table, *_) = report.as_tables(found)
    assert [str(cell) for cell in table.rows[0][2:]] == [
        str(len(result.cases)),
        str(len(result.stopped)),
    ]
    assert report.as_data(found)["mutants"][0]["stopped"] == result.stopped
    (table, *_) = report.as_tables(score(pads, [find("corners_missing")]))
    assert "stopped by" not in table.heads


def test_a_difference_within_the_bound_is_not_caught(pads: Bundle) -> None:
    def output(cases: DeviceBatch, name: str, array: np.ndarray) -> np.ndarray:
        return np.where(array == 0, -array, array)

    (result,) = score(pads, [Mutant("negative_zero", "the sign of zero", output=output)]).results
    assert result.outcome == MISSED and result.differs > 0
    assert result.why == f"{result.differs} cases differ, all within their bounds"


def test_a_wrong_control_voids_the_score(pads: Bundle) -> None:
    broken = replace(NOTHING, output=lambda cases, name, array: array + 1)
    found = score(pads, [find("corners_missing")], correct=broken)
    assert found.control and report.summary(found, "smoke")[-1].startswith("void")


# kernels ------------------------------------------------------------------------------------------
def batches(op: str) -> Iterator[DeviceBatch]:
    """Batches in a random order, as a device gets them: of the smoke tier, which is known already,
    and then of the standard tier.
    """
    pages, _ = Request((op,)).pages()
    for tier, (spec, of_op) in [(tier, pair) for tier in ("smoke", "standard") for pair in pages]:
        suite = plan_suite([(spec, of_op)], tier)
        chosen = [
            batch
            for batch in suite.batches
            if batch.wanted and sum(np.prod(t.shape) for t in batch.tensors.values()) < 400000
        ]
        random.Random(7).shuffle(chosen)
        for batch in chosen:
            arrays = engine.compute(batch, 0)
            storage = {name: array for (name, role), array in arrays.items() if role == "input"}
            args = suite.cases[int(batch.rows[0])].call.args
            yield DeviceBatch(spec, batch, args, storage, batch.gradient)


def test_each_kernel_mutant_applies_to_an_operator_that_it_is_tried_on() -> None:
    specs = [spec for spec in catalog().specs if spec.op in COMPUTED]
    assert all(any(mutant.applies(spec) for spec in specs) for mutant in KERNELS)


@pytest.mark.parametrize("op", COMPUTED)
def test_every_kernel_mutant_does_something_else(op: str) -> None:
    left: set[str] | None = None
    special = False
    for work in batches(op):
        if left is None:
            left = {mutant.name for mutant in KERNELS if mutant.applies(work.spec)}
        right = answer(work, NOTHING)
        special |= any(not np.isfinite(a.astype(np.complex128)).all() for a in right.values())
        for mutant in [find(name) for name in sorted(left)]:
            assert isinstance(mutant, Mutant)
            if mutant.crashes(work):
                left.discard(mutant.name)
                continue
            wrong = answer(work, mutant)
            assert {name: (a.shape, a.dtype) for name, a in wrong.items()} == {
                name: (a.shape, a.dtype) for name, a in right.items()
            }
            if any(wrong[name].tobytes() != right[name].tobytes() for name in right):
                left.discard(mutant.name)
        if not left:
            break
    if left is not None and not special:  # each Inf and NaN may be left out, as 0 times it
        left -= {"inf_clipped", "nan_lost"}
    assert left == set()


def test_mutants_apply_where_there_is_something_to_do_wrong(kept: MutationScore) -> None:
    mine = {op: {result.mutant for result in kept.of(op)} for op in kept.operators}
    for name, ops in {
        "dilation_ignored": {"convolution_backward"},
        "ceil_unclipped": {"avg_pool2d_backward"},
        "unbiased": {"group_norm_backward"},
        "corners_missing": {"reflection_pad2d_backward"},
        "not_cleared": set(OPERATORS),
    }.items():
        assert {op for op in mine if name in mine[op]} == ops
    applied = {name for found in mine.values() for name in found}
    masked = {"scaled_masked_softmax_backward", "dropout_backward", "dropout_v3_grad"}
    elsewhere = {
        "approximation_swapped": {"gelu_backward_v2", "ge_glu_backward"},
        "masked_elements_kept": masked,
        "scale_ignored": masked,
        "eps_ignored": {"batch_norm_backward"},
        "saved_statistics_always": {"batch_norm_backward"},
        "running_statistics_always": {"batch_norm_backward"},
    }
    for name, ops in elsewhere.items():
        mutant = find(name)
        assert {spec.op for spec in catalog().specs if mutant.applies(spec)} == ops
    assert applied | elsewhere.keys() == set(names()) - {
        mutant.name for mutant in (*indices.MUTANTS, *interpolation.MUTANTS)
    }


def test_wrong_places_between_elements_are_caught(folder: Path) -> None:
    request = Request(("upsample_bilinear2d_backward_v2",))
    with opgen.open(written(folder / "upsampling.h5", request)) as bundle:
        found = score(bundle, interpolation.MUTANTS)
    assert [result.outcome for result in found.of(*found.operators)] == ["caught"] * 4


def test_a_nearest_place_that_is_rounded_is_the_one_of_the_exact_operator() -> None:
    dy = np.random.default_rng(3).normal(size=(2, 1, 3, 7, 10))
    names = {"Hin": 5, "Hout": 7, "Win": 4, "Wout": 10}
    batch = SimpleNamespace(gradient="gradOut")
    of_nearest, of_exact = (
        kernel(f"upsample_nearest{exact}2d_backward") for exact in ("", "_exact")
    )
    given = Computation(batch, of_nearest, {"gradOut": dy}, names, ("gradInput",))
    wanted = of_exact.golden({"gradOutput": dy}, names, ("out",))["out"]
    assert np.allclose(interpolation.at_middles(given)["gradInput"], wanted, rtol=1e-14)
    assert not np.allclose(given.run()["gradInput"], wanted)


def test_the_last_sample_is_found_wherever_a_page_has_the_batch_axis() -> None:
    (spec,) = catalog().of("aclnnConvTbcBackward")
    random, wanted = np.random.default_rng(4), ("gradWeight", "gradBias")
    shapes = {"self": (6, 3, 4), "input": (7, 3, 5), "weight": (2, 5, 4)}
    tensors = {name: random.normal(size=(2, *shape)) for name, shape in shapes.items()}
    names, batch = {"N": 3, "pad": 0}, SimpleNamespace(gradient="self", spec=spec)
    given = Computation(batch, kernel(spec.op), tensors, names, wanted)
    last = given.run({name: tensors[name][:, :, -1:] for name in ("self", "input")})
    mutant = find("batch_sum_missing")
    assert isinstance(mutant, Mutant) and mutant.kernel
    changed = mutant.kernel(given)
    assert all(np.allclose(changed[name], last[name], rtol=1e-14) for name in wanted)


def test_a_mutant_of_geometry_does_not_apply_where_indices_say_what_windows_did() -> None:
    (spec,) = catalog().of("aclnnMaxPool2dWithIndicesBackward")
    applied = {mutant.name for mutant in KERNELS if mutant.applies(spec)}
    assert not applied & {"stride_ignored", "dilation_swapped", "padding_ignored", "kernel_swapped"}
    assert applied >= {"index_off_by_one", "duplicates_overwritten", "last_row_dropped"}


def without_rules(spec: Spec, *names: str) -> Spec:
    return replace(spec, rules=tuple(rule for rule in spec.rules if rule.id not in names))


def test_no_tail_is_lost_where_a_page_asks_for_whole_blocks() -> None:
    """Of each dtype, and of the output itself."""
    spec = page("swi_glu_grad")
    every = [one for one in catalog().specs if not one.status_only]
    without = {one.op for one in every if not find("tail_unwritten").applies(one)}
    assert without == {"swi_glu_grad"}
    for rule in ("aligned_float", "aligned_half", "out_shape"):
        assert find("tail_unwritten").applies(without_rules(spec, rule))


def test_no_index_is_wrong_where_whole_numbers_choose_nothing() -> None:
    """The lengths of sequences that are all equal."""
    wrong = find("index_off_by_one")
    assert not wrong.applies(page("lstm_backward"))
    assert all(wrong.applies(page(name)) for name in ("grouped_bias_add_grad", "nll_loss_backward"))


@pytest.mark.parametrize(
    ("op", "mask"),
    [("scaled_masked_softmax_backward", 0), ("dropout_backward", 255), ("dropout_v3_grad", 255)],
)
def test_masked_elements_are_kept_whatever_a_set_bit_says(op: str, mask: int) -> None:
    """In a softmax it leaves an element out, in a dropout it keeps one."""
    work = next(
        work
        for work in batches(op)
        if work.args.get("scale") not in (0.0, 1.0) and np.any(work.storage["mask"] != mask)
    )
    none_left_out = replace(
        work,
        storage={**work.storage, "mask": np.full_like(work.storage["mask"], mask)},
    )
    wanted, wrong = answer(none_left_out, NOTHING), answer(work, find("masked_elements_kept"))
    assert all(wanted[name].tobytes() == wrong[name].tobytes() for name in wanted)


def test_steps_of_the_device() -> None:
    assert mirrored(7, 3, 2).tolist() == [2, 1, 0, 1, 2, 1, 0]
    assert mirrored(7, 3, 2, repeat=1).tolist() == [1, 0, 0, 1, 2, 2, 1]
    values = np.array([1 + 2.0**-11 * 1.5, -(1 + 2.0**-11 * 1.5), 0.0, np.inf, 1e9])
    assert truncated(values, "FLOAT16").tolist() == [1.0, -1.0, 0.0, np.inf, 65504.0]
    assert (
        np.abs(truncated(values[:3], "BFLOAT16")) <= np.abs(rounded(values[:3], "BFLOAT16"))
    ).all()
    strided = TensorDesc((2, 2), "FLOAT", strides=(4, 1), offset=1)
    assert memory.contiguous(np.arange(12).reshape(1, 12), strided).tolist() == [[1, 2, 3, 4]]


def test_the_control_stays_within_every_bound(smoke: Bundle) -> None:
    seen = 0
    for cases in cases_by_page(smoke):
        for work in device_batches(smoke, cases):
            for name, array in answer(work, NOTHING).items():
                golden = np.stack([smoke[case].golden[name] for case in work.batch.ids])
                limit = np.stack([smoke[case].bound[name] for case in work.batch.ids])
                with np.errstate(all="ignore"):
                    for part in (np.real, np.imag):
                        a, g, b = (
                            part(values).astype(np.float64) for values in (array, golden, limit)
                        )
                        assert (
                            (np.abs(a - g) <= b)
                            | (a == g)
                            | (np.isnan(a) & np.isnan(g))
                            | np.isinf(b)
                        ).all()
                seen += 1
    assert seen > 100


# checkers -----------------------------------------------------------------------------------------
def test_wrong_checkers_are_the_rules_with_another_comparison() -> None:
    assert (flipped("padH", "<=", "kH / 2"), flipped("a", "==", "b")) == ("padH < kH / 2", None)
    assert (shifted("a", ">=", "1"), shifted("padLeft", "<", "W")) == (
        "a >= 0",
        "padLeft < (W) + (-1)",
    )
    assert nearly("Hout", "==", "H + 1") == "(Hout) - (H + 1) in (-1, 0, 1)"


def test_rules_are_caught_by_the_cases_made_to_break_them(kept: MutationScore) -> None:
    single = {(result.op, one.mutant): one for result in kept.results for one in result.members}
    one = single["avg_pool2d_backward", "not_enforced/pad_height"]
    assert one.outcome == CAUGHT and any(".invalid.pad_height" in case for case in one.cases)
    assert single["avg_pool2d_backward", "wrong_code/divisorOverride.range"].outcome == CAUGHT
    assert single["avg_pool2d_backward", "limit_flipped/pad_height"].outcome == CAUGHT
    assert single["avg_pool2d_backward", "null_unchecked/self.null"].outcome == CAUGHT


def test_what_a_page_names_no_code_for_is_noticed_and_not_caught(kept: MutationScore) -> None:
    result = next(
        result
        for result in kept.of("reflection_pad2d_backward")
        if result.mutant == "not_enforced_no_code"
    )
    assert result.outcome == NOTICED and not result.catching
    assert all("no code" in one.why for one in result.members if one.outcome == NOTICED)


def test_a_checker_whose_calls_another_rule_refuses_is_wrong_nowhere(tmp_path: Path) -> None:
    """Against what these checkers answer to whole suites."""
    proven = []
    for name in ("upsample_nearest1d_backward", "scaled_masked_softmax_backward"):
        engine.write(suite(name, "smoke"), tmp_path / f"{name}.h5", {"seed": 0})
        with opgen.open(tmp_path / f"{name}.h5") as bundle:
            (cases,) = cases_by_page(bundle)
            members = [one for family in FAMILIES for one in family.members(cases.spec)]
            some = [one for one in members if broken_besides(cases.spec, one)]
            assert not any(one.answers(cases) for one in some)
            proven += [one.name for one in some]
    wanted = ("out.dtype", "out.shape", "mask_heads", "mask_columns")
    assert {f"condition_ignored/{rule}" for rule in wanted[1:]} | {"wrong_tensor/out.dtype"} <= {
        *proven
    }


def member(name: str, family: str, rule: str):
    return next(one for one in find(family).members(page(name)) if one.rule.id == rule)


@pytest.mark.parametrize(
    ("name", "family", "rule", "by"),
    [
        ("grouped_bias_add_grad", "condition_ignored", "grouped_out", "grouped_axes"),
        ("deformable_conv2d_backward", "size_off_by_one", "grad_offset_channels", ""),
        (
            "deformable_conv2d_backward",
            "size_off_by_one",
            "grad_offset_channels_plain",
            "modulated_only",
        ),
        ("prelu_backward", "condition_ignored", "grad_weight_of_one", ""),
    ],
)
def test_a_condition_that_other_rules_settle_is_told_from_one_that_they_do_not(
    name: str, family: str, rule: str, by: str
) -> None:
    """``G`` is known of given groups alone, and ``grouped_axes`` asks these for two axes; a call
    that is not modulated breaks ``modulated_only``.
    """
    assert broken_besides(page(name), member(name, family, rule)) == by


@pytest.mark.parametrize(
    ("name", "rule", "settled"),
    [
        ("ctc_loss_backward", "widest_target", True),
        ("ctc_loss_backward", "joined_targets", True),
        ("prelu_backward", "weight_elements", True),
        ("prelu_backward", "weight_single", False),
        ("prelu_backward", "weight_axes", False),
    ],
)
def test_a_condition_without_which_nothing_has_a_value_is_ignored_in_vain(
    name: str, rule: str, settled: bool, tmp_path: Path
) -> None:
    """Against what the checker answers to a whole suite: never anything else than a right one."""
    engine.write(suite(name, "smoke"), tmp_path / "suite.h5", {"seed": 0})
    with opgen.open(tmp_path / "suite.h5") as bundle:
        (cases,) = cases_by_page(bundle)
        one = member(name, "condition_ignored", rule)
        assert bool(vacuous(cases, one)) == settled
        assert (
            not settled
            or not (one.broken(cases) ^ one.rule.broken(cases.judged.view, len(cases))).any()
        )


def test_a_rule_that_may_be_left_out_proves_nothing() -> None:
    """That gradOutput and self have one dtype is assumed: a device may take calls that break it."""
    one = member("avg_pool2d_backward", "wrong_tensor", "gradOutput.dtype")
    assert not broken_besides(page("avg_pool2d_backward"), one)


@pytest.mark.parametrize(
    ("rule", "factor"), [("memory", 4), ("memory_of_halves", 2), ("memory_of_doubles", 8)]
)
def test_no_call_lies_between_limits_of_a_multiple(rule: str, factor: int) -> None:
    one = member("upsample_trilinear3d_backward", "limit_shifted", rule)
    assert between(one) == f"what it limits is a multiple of {factor}, and never {60 * 2**30 - 1}"
    told = member("upsample_trilinear3d_backward", "limit_shifted", "rows")
    assert not between(told)  # one extent may be 2**31 - 1, and all others 1


def test_a_rule_that_is_never_broken_alone_is_masked(kept: MutationScore) -> None:
    result = next(
        result for result in kept.of("avg_pool2d_backward") if result.mutant == "not_enforced"
    )
    one = next(one for one in result.members if one.mutant == "not_enforced/gradInput.dtype")
    assert one.outcome == MASKED and "same_dtype" in one.why


def test_a_null_pointer_on_which_a_library_ends_the_host_is_left_to_the_tier_of_crashes(
    tmp_path: Path,
) -> None:
    with opgen.open(written(tmp_path / "one.h5", Request(("softplus_backward",)))) as bundle:
        (result,) = score(bundle, [find("not_enforced")]).results
    members = {member.mutant.partition("/")[2]: member for member in result.members}
    for name in ("beta", "threshold"):
        assert members[f"{name}.null"].outcome == IMPOSSIBLE
        assert "end the host process" in members[f"{name}.null"].why
    assert members["self.null"].outcome == members["gradOutput.null"].outcome == CAUGHT


def test_what_a_dtype_leaves_as_it_is_shows_no_device_that_computes_in_it(tmp_path: Path) -> None:
    """HFLOAT32 holds all that FLOAT16 does but the least numbers; BFLOAT16 has fewer digits."""
    request = Request(("avg_pool2d_backward",), where="gradOutput.dtype == 'FLOAT16'")
    with opgen.open(written(tmp_path / "one.h5", request)) as bundle:
        chosen = [find("computes_hfloat32"), find("computes_bfloat16")]
        results = {result.mutant: result for result in score(bundle, chosen).results}
    kept = {
        name: next(one for one in result.members if one.mutant.endswith("(line 60): FLOAT16"))
        for name, result in results.items()
    }
    assert kept["computes_hfloat32"].outcome == IMPOSSIBLE
    assert kept["computes_bfloat16"].outcome == CAUGHT


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("empty-everywhere", []),
        ("one-short-of-the-kernel-in-depth", ["empty_reach_depth"]),
        ("one-short-of-the-kernel-in-height", ["empty_reach_height"]),
        ("no-output-channels", ["weight.dims", "weight.empty"]),
    ],
)
def test_handwritten_convolutions_break_what_they_are_for(name: str, broken: list[str]) -> None:
    spec = page("convolution_backward.2026-08")
    calls = {pin.id: call for pin, call in handwritten_calls(plan(spec.op), spec, ["standard"])}
    judged = judge(spec, from_calls(spec.api, spec.kinds, [calls[name]]))
    assert [one.rule for one in judged.expectation(0).breaks] == broken


# the device, the command, the manual --------------------------------------------------------------
@pytest.mark.parametrize("name", ["edge_repeated", "nothing"])
def test_the_device_answers_as_the_score_says(name: str, pads: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "results.h5"
    run(pads, backend(f"mutant:{name}"), path)
    caught = {verdict.case for verdict in diff(pads, path).bad()}
    assert caught == (
        set()
        if name == "nothing"
        else {case for result in score(pads, [find(name)]).results for case in result.catching}
    )
    assert caught or name == "nothing"


@pytest.mark.parametrize(
    "name",
    [
        "not_enforced/pad_height",
        "wrong_code/divisorOverride.range",
        "limit_flipped/pad_height",
        "null_unchecked/self.null",
        "limit_shifted/pad_height",
        "not_enforced",
    ],
)
def test_a_device_with_a_wrong_checker_answers_as_the_score_says(
    name: str, folder: Path, tmp_path: Path
) -> None:
    """Of one rule, or of all the rules of a family at once."""
    family, _, rule = name.partition("/")
    if not (folder / "pools.h5").exists():
        written(folder / "pools.h5", Request(("avg_pool2d_backward",), ("ascend910b",)))
    with opgen.open(folder / "pools.h5") as pools:
        run(pools, backend(f"mutant:{name}"), tmp_path / "results.h5")
        caught = {verdict.case for verdict in diff(pools, tmp_path / "results.h5").bad()}
        (result,) = score(pools, [find(family)]).results
    expected = {one.mutant: set(one.cases) for one in result.members if one.outcome == CAUGHT}
    if rule:
        assert caught == expected[name]
    else:
        assert len(expected) > 10 and caught >= set().union(*expected.values())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "length_unchecked/padding.lenght",
            " (did you mean 'padding.length'?); known: padding.length\n",
        ),
        (
            "length_unchecked/kernelSize.length",
            "no such rule on the bundle's pages; known: padding.length\n",
        ),  # another operator's
        ("length_unchecked/", "no such rule on the bundle's pages; known: padding.length\n"),
        ("not_enforced/padding.null", "no such rule on the bundle's pages; known: none\n"),
        (
            "not_enforced/padding.length",
            "is no fault that this rule can have; those that it can have:"
            " not_enforced_no_code/padding.length, length_unchecked/padding.length\n",
        ),
        (
            "edge_repeated/padding.length",
            "is not a rule of a family; edge_repeated is the whole name\n",
        ),
        ("nothing/", "mutant: nothing/: is not a rule of a family; nothing is the whole name\n"),
    ],
)
def test_a_rule_that_a_mutant_does_not_hold_is_told(
    name: str, message: str, pads: Bundle, tmp_path: Path
) -> None:
    """A device that silently is a correct one would be taken for a suite that catches nothing."""
    args = [
        "run",
        str(pads.path),
        "--backend",
        f"mutant:{name}",
        "-o",
        str(tmp_path / "results.h5"),
        "-q",
    ]
    told = CliRunner().invoke(main, args)
    assert told.exit_code == 2 and message in told.stderr and len(told.stderr.splitlines()) == 1, (
        told.output
    )
    assert list(tmp_path.iterdir()) == []


def test_a_mutant_that_does_not_exist() -> None:
    with pytest.raises(FileError, match="did you mean 'stride_swapped'"):
        find("stride_swaped")


def invoke(*args: str) -> Result:
    return CliRunner().invoke(main, ["mutants", *args], prog_name="opgen")


def test_results_of_a_mutant_say_so_and_one_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    """Its answers would be those of a correct device, and its fault look as if nobody caught it."""
    request = Request(("reflection_pad2d_backward",), ("ascend910b",))
    bundle, results = written(tmp_path / "pads.h5", request), tmp_path / "r.h5"

    def shown(name: str) -> Result:
        command = ["run", str(bundle), "--backend", f"mutant:{name}", "-o", str(results)]
        return CliRunner().invoke(main, command)

    refused = shown("stride_swapped")
    assert refused.exit_code == 2 and not results.exists()
    assert "stride_swapped: changes nothing in aclnnReflectionPad2dBackward;" in refused.stderr
    idle = invoke(
        "reflection_pad2d_backward", *["--mutant=stride_swapped", "--mutant=stride_ignored"]
    )
    assert (
        idle.exit_code == 2 and idle.stderr.count(": changes nothing in aclnnReflectionPad2d") == 2
    )
    for spec in catalog().specs:
        refuse_idle([find("nothing")], [spec])  # a control is right everywhere
    told = f"a mutant: {find('corners_missing').wrong}"
    assert f"{results}: {told}" in shown("corners_missing").stderr.splitlines()
    assert told in opgen.diff(bundle, results).notes


def test_a_wrong_checker_computes_what_it_accepts(tmp_path: Path) -> None:
    """Calls that the page forbids and names no code for have data where libraries take them:
    accepted, they have outputs.
    """
    bundle, results = (
        written(tmp_path / "pools.h5", Request(("avg_pool2d_backward",))),
        tmp_path / "r.h5",
    )
    run = CliRunner().invoke(
        main, ["run", str(bundle), "--backend", "mutant:not_enforced_no_code", "-o", str(results)]
    )
    assert run.exit_code == 0, run.output
    report = opgen.diff(bundle, results)
    assert not [one for one in report if "not returned" in one.detail] and report.totals["lenient"]


def test_the_command() -> None:
    args = (
        "reflection_pad2d_backward",
        "--product",
        "ascend910b",
        "--mutant",
        "corners_missing",
        "--mutant",
        "not_enforced_no_code",
    )
    text = invoke(*args, "--rules")
    assert text.exit_code == 0
    assert (
        "1 of 1 mutants caught, 100.0 %" in text.output
        and "rules whose wrong checker" in text.output
    )
    data = json.loads(invoke(*args, "--json").stdout)
    assert (data["score"], data["control"], data["plan"]) == (100.0, [], "smoke")
    assert [mutant["outcome"] for mutant in data["mutants"]] == ["caught", "noticed"]
    assert "not_enforced_no_code/padding.length" in {
        rule["mutant"] for rule in data["mutants"][1]["rules"]
    }


def test_operators_on_which_the_mutants_change_nothing_are_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = ["--mutant=corners_missing", "--json"]
    with caplog.at_level("INFO", "opgen.suite.planned_suite"):
        shown = invoke("silu_backward", "reflection_pad3d_backward", "tanh_backward", *asked)
    (said,) = caplog.messages
    assert said.startswith("reflection_pad3d_backward: ")
    assert json.loads(shown.stdout)["operators"] == {
        "reflection_pad3d_backward": {"caught": 1, "of": 1}
    }


@pytest.mark.parametrize("name", ["tanh_backward", "layer_norm_backward"])
def test_wrong_checkers_read_rules_about_shapes(name: str) -> None:
    """A function that stands for a comparison, slices and shapes of shapes."""
    spec = page(name)
    wrong = {one.name for family in FAMILIES for one in family.members(spec)}
    rule = "fits" if name.startswith("tanh") else "suffix"
    assert {f"not_enforced/{rule}", f"wrong_code/{rule}"} <= wrong


def test_wrong_checkers_that_are_missed_are_named_unasked() -> None:
    fates = [
        MutantResult("x/caught", "x", "pad", cases=["a"]),
        MutantResult("x/noticed", "x", "pad", noticed=["a"], why="why noticed"),
        MutantResult("x/missed", "x", "pad", why="why missed", decided=False),
    ]
    given = MutationScore([MutantResult("x", "x", "pad", members=fates)], [])
    assert given.missed() == []
    for rules, named in ((False, ["x/missed"]), (True, ["x/noticed", "x/missed"])):
        found = [
            table
            for table in report.as_tables(given, rules)
            if str(table.title).startswith("rules whose wrong checker")
        ]
        assert [[str(row[1]) for row in table.rows] for table in found] == [named]
    assert (
        len(
            list(
                report.as_tables(
                    MutationScore([MutantResult("x", "x", "pad", members=fates[:1])], []), True
                )
            )
        )
        == 2
    )


def test_the_command_fails() -> None:
    asked = ["softmax_backward", "--mutant", "product_unchecked"]
    assert "smoke: none of these mutants can be caught here" in invoke(*asked).stdout
    assert invoke(*asked, "--fail-under", "50").exit_code == 1
    assert invoke("reflection_pad2d_backward", "--mutant", "mask_ignored").exit_code == 2
    assert invoke("--mutant", "corner_missing").exit_code == 2


def test_the_manual_names_every_mutant() -> None:
    named = re.findall(r"^\| `(\w+)` \|", MANUAL.read_text(encoding="utf-8"), re.MULTILINE)
    assert named == [*SEAMS, *names()], "faults of tiling stand first"
    assert len(set(names())) == len(names()) == len(KERNELS) + len(FAMILIES)
