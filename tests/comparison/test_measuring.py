"""Outputs measured in blocks are what each is alone, at its precision."""

from __future__ import annotations

import numpy as np
import pytest

import opgen
from opgen.bundle.format.dtypes import ROLES
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import ResultsFile
from opgen.comparison import measuring, metrics
from opgen.comparison.alignment import align, goldens_of
from tests.support import device_sample as sample


@pytest.mark.parametrize("block", [1, 7, 100, measuring.BLOCK])
def test_outputs_measured_together_are_what_each_is_alone(bundle, tmp_path, block):
    """In blocks that an output fills, overflows or shares: against numpy on each output, a complex
    one by its parts.
    """
    draw = np.random.default_rng(4)
    devices = {}

    def off(case, outputs):
        for name, array in outputs.items():
            off = 1 + np.asarray(draw.choice([0, 0.01, -0.03], array.shape), array.real.dtype)
            devices[case.id, name] = np.multiply(array, off, out=array)
        return outputs

    results, goldens = sample.answer(bundle, tmp_path / "r.h5", off), goldens_of(bundle)
    with ResultsFile(results) as file:
        answers, which = align(bundle, goldens, file), measuring.precisions(bundle, goldens)
        every = np.arange(len(goldens))
        table = measuring.measured(bundle, goldens, answers, which, every, block)
    row = {
        (bundle.ids[case], bundle.names[name]): i
        for i, (case, name) in enumerate(zip(goldens.case, goldens.name, strict=True))
    }
    plain = metrics.plain(table, {}, {}, every)
    for (one, name), answer in devices.items():
        device, golden, bound = (
            part.reshape(-1).view(part.real.dtype).astype(np.float64)
            for part in (answer, bundle[one].golden[name], bundle[one].bound[name])
        )
        error = np.abs(device - golden)
        found = plain[row[one, name]]
        assert (found["elements"], found["beyond"], found["error"]) == (
            golden.size,
            (error > bound).sum(),
            error.max(),
        ), (one, name)
        ratios = [e and (e / b if b else np.inf) for e, b in zip(error, bound, strict=True)]
        assert found["ratio"] == max(ratios) and (
            ratios[found["worst"]] == max(ratios) if any(ratios) else found["worst"] == -1
        )
        assert (
            found["mare"] == pytest.approx((error / (np.abs(golden) + 1e-7)).max())
            and found["nonfinite"] == 0
        )
        assert (found["rmse"], found["mere"]) == pytest.approx(
            (np.sqrt((error**2).mean()), (error / (np.abs(golden) + 1e-7)).mean())
        )
    assert len(devices) > 40


def test_a_golden_whose_bound_has_another_length_is_damage(bundle, tmp_path):
    class Shortened(Bundle):
        def tensor(self, row):
            return super().tensor(row)[: -1 if row.role == ROLES["bound"] else None]

    results = sample.answer(bundle, tmp_path / "r.h5")
    with (
        Shortened(bundle.path) as shortened,
        pytest.raises(opgen.BundleError, match="golden and bound differ in length"),
    ):
        opgen.diff(shortened, results)


def test_outputs_are_held_to_the_precision_that_they_are_computed_in(bundle):
    """The coarser of dtype and compute mode; a sum that no mode rounds, to its dtype."""
    outputs = goldens_of(bundle)
    found = measuring.precisions(bundle, outputs)
    names = zip(
        [bundle.ids[n] for n in outputs.case], [bundle.names[n] for n in outputs.name], strict=True
    )
    pairs = {
        key: (dtype, name) for key, dtype, name in zip(names, found.dtype, found.name, strict=True)
    }
    modes = {"pool-old": "FLOAT16", "pool-mode1": "HFLOAT32", "conv-hf32": "HFLOAT32"}
    parts = {"COMPLEX64": "FLOAT", "COMPLEX128": "DOUBLE"}
    for (one, name), pair in pairs.items():
        dtype = bundle[one].call["args"][name]["dtype"]
        assert pair == (
            dtype,
            modes[one] if one in modes and name != "gradBias" else parts.get(dtype, dtype),
        ), (one, name)
    assert set(modes) <= {one for one, _ in pairs} and ("conv-hf32", "gradBias") in pairs
