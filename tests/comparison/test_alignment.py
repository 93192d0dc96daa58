"""Results files that are damaged, strange, or of another bundle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import opgen
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.results.answers import answers_of
from opgen.bundle.results.answers import write as write_answers
from opgen.bundle.results.reader import ResultsFile
from opgen.numerics.formats import DTYPES
from tests.support import device_sample as sample
from tests.support.device_sample import only


def test_an_empty_results_file_passes_nothing(bundle, tmp_path):
    with opgen.Results.create(tmp_path / "r.h5", bundle):
        pass
    assert opgen.diff(bundle, tmp_path / "r.h5").totals == {"missing": len(bundle)}


def test_results_of_another_bundle(bundle, tmp_path):
    other = sample.write(tmp_path / "other.h5", {"pad-FLOAT": sample.pad()})
    with opgen.open(other) as one:
        results = sample.answer(one, tmp_path / "r.h5")
    with pytest.raises(opgen.BundleError, match="results of another bundle"):
        opgen.diff(bundle, results)


def test_a_torn_results_file(bundle, tmp_path):
    results = sample.answer(bundle, tmp_path / "r.h5")
    results.write_bytes(results.read_bytes()[:-100])
    with pytest.raises(opgen.BundleError, match=r"r\.h5: .*truncated"):
        opgen.diff(bundle, results)


def test_a_flipped_bit_in_an_output_is_no_fault_of_the_device(bundle, tmp_path):
    results = sample.answer(bundle, tmp_path / "r.h5")
    raw = bytearray(results.read_bytes())
    with opgen.Results.open(results) as file:
        dtype, _, _ = file.blobs[0]
        start = file.blobs[0][1]
    raw[start + 1] ^= 1
    results.write_bytes(bytes(raw))
    assert dtype == DTYPES["FLOAT"].numpy
    with pytest.raises(
        opgen.BundleError, match=r"r\.h5: damaged: \S+: \w+ does not match its digest$"
    ):
        opgen.diff(bundle, results)


def rewritten(path: Path, change) -> Path:
    """A results file whose answers are no longer those that a harness may give."""
    with ResultsFile(path) as file:
        answers = change({answer.id: answer for answer in answers_of(file)})
        write_answers(path.with_name("odd.h5"), file.header, file.names, answers)
    return path.with_name("odd.h5")


def test_an_answer_given_twice(bundle, tmp_path):
    def twice(answers):
        first, second, *others = answers.values()
        return [first, second._replace(row=first.row, id=first.id), *others]

    with pytest.raises(BundleError, match="odd.h5: unsound: two cases have the same id"):
        opgen.diff(bundle, rewritten(sample.answer(bundle, tmp_path / "r.h5"), twice))


def test_an_output_given_twice(bundle, tmp_path):
    """The first of the two is right, and the case has all of its outputs."""

    def twice(answers):
        answer = answers["conv-masked"]
        *outputs, last = answer.outputs
        again = last._replace(name=outputs[0].name)
        return (answers | {answer.id: answer._replace(outputs=(*outputs, again))}).values()

    more = only("conv-masked", lambda o: {**o, "gradWeight": np.zeros((4, 4, 3, 3), np.float16)})
    results = rewritten(sample.answer(bundle, tmp_path / "r.h5", more), twice)
    (bad,) = opgen.diff(bundle, results).bad()
    assert (bad.case, bad.verdict, bad.detail) == (
        "conv-masked",
        "failed",
        "gradInput: returned more than once",
    )


def test_a_case_that_the_bundle_does_not_have(bundle, tmp_path):
    def strange(answers):
        first, second, *others = answers.values()
        return [first, second._replace(id="nobody"), *others]

    results = rewritten(sample.answer(bundle, tmp_path / "r.h5"), strange)
    with pytest.raises(opgen.BundleError, match="'nobody'"):
        opgen.diff(bundle, results)


@pytest.mark.parametrize("use", ["against", "again"])
def test_a_damaged_file_of_another_run(bundle, tmp_path, use):
    mine, other = (sample.answer(bundle, tmp_path / name) for name in ("r.h5", "other.h5"))
    raw = bytearray(other.read_bytes())
    with opgen.Results.open(other) as file:
        row = file.tables["tensors"][-1]
        dtype, start, _ = file.blobs[int(row["dtype"])]
        raw[start + int(row["position"]) * dtype.itemsize] ^= 1
    other.write_bytes(bytes(raw))
    with pytest.raises(
        opgen.BundleError, match=r"other\.h5: damaged: \S+: \w+ does not match its digest$"
    ):
        opgen.diff(bundle, mine, **{use: other})
