"""Results files: what a device answered is read back, in the order of the bundle, and damage is
found.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opgen
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.read.reader import Bundle
from opgen.bundle.read.verify import verify
from opgen.bundle.results.reader import ResultsFile
from opgen.numerics.formats import DTYPES
from tests.support import device_sample
from tests.support.bundle_sample import BFLOAT16, bits, same_bits, sample


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    with opgen.open(sample().write(tmp_path_factory.mktemp("results") / "bundle.h5")) as opened:
        yield opened


def dtype_of(case: Any, name: str) -> str:
    return str(case.call["args"][name]["dtype"])


def answers(bundle: Bundle) -> dict[str, dict[str, Any]]:
    draw = np.random.default_rng(3)
    found: dict[str, dict[str, Any]] = {
        case.id: {
            "status": 0,
            "outputs": {
                name: bits(draw, dtype_of(case, name), a.shape) for name, a in case.golden.items()
            },
        }
        for case in bundle
        if case.golden
    }
    found["one/BFLOAT16/1"] = {
        "status": 0,
        "run_status": 361001,
        "time": 0.25,
        "error": "超时",
        "outputs": {"gradInput": bits(draw, "BFLOAT16", (2, 3))},
        "unwritten": {"gradInput": np.int32(6)},
    }
    found["one/invalid"] = {"status": 161002}
    found["one/handwritten"] = {"status": "crash", "error": "signal 11"}
    found["one/given"] = {"status": -1, "run_status": "skipped", "time": np.float32(0.5)}
    found["one/FLOAT/2"] |= {"status": np.int64(2**63 - 1), "run_status": np.uint8(200)}
    return found


def write(path: Path, bundle: Bundle, names: list[str]) -> Path:
    found = answers(bundle)
    with opgen.Results.create(path, bundle, header={"backend": "torch"}) as results:
        for name in names:
            results.add(name, **found[name])
    return path


def test_round_trip(bundle: Bundle, tmp_path: Path) -> None:
    found = answers(bundle)
    with ResultsFile(write(tmp_path / "r.h5", bundle, list(found))) as results:
        assert results.bundle_digest == bundle.digest and results.header["backend"] == "torch"
        assert [one.id for one in results] == [name for name in bundle.ids if name in found]
        for name, wanted in found.items():
            one = results[name]
            whole = {"run_status": None, "time": None, "error": "", "outputs": {}, **wanted}
            assert {
                key: getattr(one, key) for key in ("status", "run_status", "time", "error")
            } == {key: whole[key] for key in ("status", "run_status", "time", "error")}
            assert one.unwritten == whole.get("unwritten", {})
            outputs = whole["outputs"]
            assert isinstance(outputs, dict) and list(one.outputs) == list(outputs)
            assert all(same_bits(one.outputs[key], array) for key, array in outputs.items())
        assert results["one/BFLOAT16/1"].outputs["gradInput"].dtype == BFLOAT16
        with pytest.raises(KeyError, match="no case 'x'"):
            results["x"]
    assert verify(tmp_path / "r.h5") == []


def test_several_outputs_stay_apart_in_the_order_in_which_they_were_given(tmp_path: Path) -> None:
    calls = {"norm": device_sample.CALLS["norm-plain"]}
    with opgen.open(device_sample.write(tmp_path / "norm.h5", calls)) as bundle:
        golden = bundle["norm"].golden
        given = {name: golden[name].astype(np.float32) for name in reversed([*golden])}
        with opgen.Results.create(tmp_path / "r.h5", bundle) as results:
            results.add("norm", 0, given, 0, unwritten={"gradGammaOut": 2})
    with opgen.Results.open(tmp_path / "r.h5") as found:
        one = found["norm"]
        assert list(one.outputs) == list(given) and len(given) == 3
        assert all(same_bits(one.outputs[name], array) for name, array in given.items())
        assert one.unwritten == {"gradGammaOut": 2}


def test_a_wider_dump_is_rounded_to_the_dtype_of_its_tensor(bundle: Bundle, tmp_path: Path) -> None:
    case = next(
        case for case in bundle if case.golden and dtype_of(case, "gradInput") == "BFLOAT16"
    )
    values = np.linspace(-3, 3, case.golden["gradInput"].size).reshape(
        case.golden["gradInput"].shape
    )
    for i, kind in enumerate((np.float32, np.float64)):
        with opgen.Results.create(tmp_path / f"{i}.h5", bundle) as results:
            results.add(case.id, 0, {"gradInput": values.astype(kind)})
        with ResultsFile(tmp_path / f"{i}.h5") as read:
            found = read[case.id].outputs["gradInput"]
            assert (
                found.dtype == BFLOAT16
                and (found == values.astype(np.float32).astype(BFLOAT16)).all()
            )
    with opgen.Results.create(tmp_path / "narrow.h5", bundle) as results:
        results.add(case.id, 0, {"gradInput": values.astype(np.float16)})
    with ResultsFile(tmp_path / "narrow.h5") as read:
        assert (
            read[case.id].outputs["gradInput"].dtype == np.float16
        )  # for the comparison to refuse


@pytest.mark.parametrize("dtype", ["FLOAT16", "BFLOAT16", "FLOAT", "COMPLEX64"])
def test_a_wider_dump_is_rounded_once(bundle: Bundle, tmp_path: Path, dtype: str) -> None:
    case = next(case for case in bundle if case.golden and dtype_of(case, "gradInput") == dtype)
    wide, part = np.complex128 if dtype == "COMPLEX64" else np.float64, DTYPES[dtype].part
    values = np.zeros(case.golden["gradInput"].shape, dtype=wide)
    near_a_tie = (
        1 + part.unit + 2.0**-40
    )  # float32 drops the last term, and what is left of BFLOAT16 is a tie that goes to 1
    values.flat[:5] = near_a_tie, -near_a_tie, np.nan, np.inf, 2 * part.max
    values.view(np.uint64).flat[-1] = 0x7FF0_0000_0000_0001  # a signalling NaN
    with opgen.Results.create(tmp_path / "r.h5", bundle) as results:
        results.add(case.id, 0, {"gradInput": values})
    with ResultsFile(tmp_path / "r.h5") as read:
        found = read[case.id].outputs["gradInput"]
        assert found.dtype == DTYPES[dtype].numpy
        first = found.astype(wide).flat[:5].real.tolist()
        assert (
            first[:2] == [1 + 2 * part.unit, -1 - 2 * part.unit]
            and np.isnan(first[2])
            and first[3:] == [np.inf, np.inf]
        )
        assert np.isnan(found.astype(wide).flat[-1])


def test_the_order_of_the_device_does_not_matter(bundle: Bundle, tmp_path: Path) -> None:
    names = list(answers(bundle))
    one = write(tmp_path / "a.h5", bundle, names)
    random.Random(1).shuffle(names)
    assert write(tmp_path / "b.h5", bundle, names).read_bytes() == one.read_bytes()


def test_no_results_at_all(bundle: Bundle, tmp_path: Path) -> None:
    assert len(opgen.Results.open(write(tmp_path / "r.h5", bundle, []))) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nobody", 0), "'nobody' is not a case of"),
        (("one/given", 0), "has been added already"),
        (
            ("two 0", 0, {"gradInput": np.zeros(2, "S3")}),
            "two 0: gradInput of type |S3: no file keeps it",
        ),
        (
            ("two 0", 0, {"gradMystery": np.zeros(2)}),
            "two 0: 'gradMystery' is not an output of the call (outputs: gradInput)",
        ),
        (
            ("two 0", 0, {"input": np.zeros(2)}),
            "two 0: 'input' is not an output of the call (outputs: gradInput)",
        ),
        (
            ("one/invalid", 0, {"gradInput": np.zeros(2)}),
            "'gradInput' is not an output of the call (outputs: none)",
        ),
        *(
            (
                ("two 0", word),
                (
                    f"two 0: status {word!r} is not a status: give a number or one of crash,"
                    " timeout, skipped, unusable, overrun"
                ),
            )
            for word in (
                "none",
                "",
                "crahs",
                "161002",
                True,
                1.5,
                np.float64(1),
                np.bool_(True),
                [],
            )
        ),
        *(
            (("two 0", number), f"two 0: status {number} does not fit the 64 bits")
            for number in (2**63, 2**70, np.uint64(2**64 - 1))
        ),
        (("two 0", 0, {}, 2**64 - 1), "two 0: run_status 18446744073709551615 does not fit"),
        (("two 0", 0, {}, "crahs"), "two 0: run_status 'crahs' is not a status"),
        (("two 0", 0, {}, 0, "1 s"), "two 0: time '1 s' is not a number of seconds"),
        (("two 0", 0, {}, 0, 10**400), "0 is not a possible time"),
        (("two 0", 0, {}, 0, -0.5), "two 0: time -0.5 is not a possible time"),
        (("two 0", 0, {}, 0, float("inf")), "two 0: time inf is not a possible time"),
        (
            ("two 0", 0, {}, 0, None, ValueError("no")),
            "two 0: error ValueError('no') is not a text; str(error) makes one",
        ),
        (("two 0", 0, {}, 0, None, None), "two 0: error None is not a text"),
        (("two 0", 0, {}, 0, None, "a\0"), "two 0: error 'a\\x00' holds a NUL character"),
        *(
            (
                ("two 0", 0, outputs),
                (
                    f"two 0: outputs of type {type(outputs).__name__} are not a mapping of names to"
                    " arrays"
                ),
            )
            for outputs in ([], [np.zeros(2)], np.zeros(2), "gradInput")
        ),
        (
            ("two 0", 0, {"gradInput": [[1], [2, 3]]}),
            "two 0: numpy cannot make an array of gradInput: setting an array element",
        ),
        (
            ("two 0", 0, {"gradInput": object()}),
            "two 0: gradInput of type object: no file keeps it",
        ),
        ((["two 0"], 0), "['two 0'] is not a case of"),
        *(
            (
                ("two 0", 0, {"gradInput": np.zeros(2)}, 0, None, "", {name: count}),
                f"two 0: unwritten: {name}: {count!r} is not a number of elements",
            )
            for name, count in (
                ("gradInput", 3),
                ("gradInput", -1),
                ("gradInput", 1.0),
                ("gradWeight", 0),
            )
        ),
        (("two 0", 0, {}, 0, None, "", [0]), "two 0: unwritten [0] is not a mapping of outputs"),
    ],
)
def test_what_cannot_be_added(
    bundle: Bundle, tmp_path: Path, arguments: tuple[Any, ...], message: str
) -> None:
    with opgen.Results.create(tmp_path / "r.h5", bundle) as results:
        results.add("one/given", 0)
        with pytest.raises(BundleError) as raised:
            results.add(*arguments)
        assert message in str(raised.value)
    assert [one.id for one in opgen.Results.open(tmp_path / "r.h5")] == ["one/given"]


def test_an_existing_file_stays(bundle: Bundle, tmp_path: Path) -> None:
    write(tmp_path / "r.h5", bundle, [])
    with pytest.raises(BundleError, match="r.h5: exists already; force=True replaces it$"):
        opgen.Results.create(tmp_path / "r.h5", bundle)
    with pytest.raises(
        BundleError, match="is an opgen results file, not a bundle file; opgen generate writes one$"
    ):
        opgen.open(tmp_path / "r.h5")
    (tmp_path / "other.h5").write_bytes(b"\x89HDF" * 2000)
    with pytest.raises(
        BundleError,
        match="not an opgen results file, .*; opgen run writes one, and so does opgen.Results$",
    ):
        opgen.Results.open(tmp_path / "other.h5")


def test_a_bundle_may_be_a_path(bundle: Bundle, tmp_path: Path) -> None:
    expected = write(tmp_path / "a.h5", bundle, list(answers(bundle))).read_bytes()
    for kind in (str, Path):
        with opgen.Results.create(
            tmp_path / "b.h5", kind(bundle.path), header={"backend": "torch"}, force=True
        ) as results:
            for name, answer in answers(bundle).items():
                results.add(name, **answer)
        assert (tmp_path / "b.h5").read_bytes() == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bundle": 5}, "r.h5: bundle 5 is neither what opgen.open returns nor a path"),
        ({"bundle": "nowhere.h5"}, "nowhere.h5: cannot read: No such file"),
        ({"header": "torch"}, "header 'torch' is not a mapping"),
        ({"header": {1: 2}}, "1: a header cannot hold this name"),
        ({"header": {"": 2}}, "'': a header cannot hold this name"),
        ({"header": {"a\0b": 2}}, r"'a\\x00b': a header cannot hold this name"),
        (
            {"header": {"bundle": "mine"}},
            "bundle: is written by opgen itself; leave it out of the header",
        ),
        (
            {"header": {"driver": 1 << 70}},
            "driver: 1180591620717411303424 is nothing that a header can hold",
        ),
        ({"header": {"driver": {"name": "\ud800"}}}, "is not Unicode text"),
    ],
)
def test_what_cannot_be_begun(
    bundle: Bundle, tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(BundleError, match=message):
        opgen.Results.create(tmp_path / "r.h5", **{"bundle": bundle, **given})
    assert os.listdir(tmp_path) == []


def test_a_header_that_changes_is_kept_by_the_same_rules(bundle: Bundle, tmp_path: Path) -> None:
    with opgen.Results.create(tmp_path / "r.h5", bundle) as results:
        results.header |= {"cards": np.int64(3), "drivers": ("a", 2), "bundle": "another"}
        results.add("one/given", 0)
        results.header["driver"] = b"1.2"
        with pytest.raises(BundleError, match="driver: b'1.2' is nothing that a header can hold"):
            results.add("one/handwritten", 0)
        assert "one/handwritten" not in results
        results.header["driver"] = np.float64(1.5)
    with ResultsFile(tmp_path / "r.h5") as file:
        assert {"cards": 3, "drivers": ["a", "2"], "driver": 1.5}.items() <= file.header.items()
        assert file.bundle_digest == bundle.digest and file.ids == ["one/given"]


def test_damage_is_found(bundle: Bundle, tmp_path: Path) -> None:
    whole = write(tmp_path / "r.h5", bundle, list(answers(bundle))).read_bytes()
    draw = random.Random(2)
    target = tmp_path / "torn.h5"
    for _ in range(1_000):
        torn = bytearray(whole)
        torn[draw.randrange(len(torn))] ^= 1 << draw.randrange(8)
        target.write_bytes(torn)
        assert verify(target)
    for size in range(0, len(whole), 2999):
        target.write_bytes(whole[:size])
        assert verify(target)


def test_a_bundle_is_not_replaced_by_its_results(tmp_path: Path) -> None:
    path = sample().write(tmp_path / "suite.h5")
    before, link = path.read_bytes(), tmp_path / "link.h5"
    link.symlink_to(path)
    with opgen.open(path) as bundle:
        for given, target in ((bundle, path), (path, link)):
            with pytest.raises(BundleError, match="is the bundle itself; name another file$"):
                opgen.Results.create(target, given, force=True)
    assert path.read_bytes() == before and sorted(tmp_path.iterdir()) == [link, path]


def test_numbers_of_the_other_byte_order_are_kept_as_numbers(
    tmp_path: Path, bundle: Bundle
) -> None:
    case = next(
        case for case in bundle if any(array.dtype == np.float64 for array in case.golden.values())
    )
    name = next(
        name
        for name, array in case.golden.items()
        if array.dtype == np.float64 and case.call["args"][name]["dtype"] == "FLOAT"
    )
    values = np.arange(case.golden[name].size, dtype=">f4").reshape(case.golden[name].shape)
    with opgen.Results.create(tmp_path / "r.h5", bundle) as results:
        results.add(case.id, 0, {name: values})
    with ResultsFile(tmp_path / "r.h5") as file:
        kept = file[case.id].outputs[name]
        assert kept.dtype == np.float32 and kept.dtype.isnative and np.array_equal(kept, values)
