"""No answer is lost: an exception, a killed process and a full disk leave what was answered, to be
gone on from.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import opgen
from opgen.bundle.format.digest import digest_of
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.read.reader import Bundle
from opgen.bundle.read.verify import verify
from opgen.bundle.results.reader import Result, ResultsFile
from opgen.bundle.write.output import partial
from opgen.devices import Backend
from opgen.devices.running import run
from tests.bundle.test_results import answers, bundle, write
from tests.support.backends import Scripted
from tests.support.bundle_sample import sample
from tests.support.limits import largest_file

__all__ = ["bundle"]
ROOT = Path(__file__).parents[2]


def begun(
    path: Path, bundle: Bundle, names: list[str], backend: str = "torch", **given: Any
) -> Path:
    """What a process leaves that is killed after some answers."""
    results = opgen.Results.create(path, bundle, header={"backend": backend}, **given)
    for name in names:
        results.add(name, **answers(bundle)[name])
    results.leave()
    return partial(path)


def complete(path: Path, bundle: Bundle, **given: Any) -> list[str]:
    """Go on to the end; what was there already."""
    with opgen.Results.create(path, bundle, resume=True, **given) as results:
        there = [name for name in answers(bundle) if name in results]
        assert len(results) == len(there)
        for name, answer in answers(bundle).items():
            if name not in results:
                results.add(name, **answer)
    return there


@pytest.fixture(scope="module")
def expected(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write(
        tmp_path_factory.mktemp("whole") / "r.h5", bundle, list(answers(bundle))
    ).read_bytes()


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_keeps_what_was_answered(
    bundle: Bundle, tmp_path: Path, expected: bytes, kind: type[BaseException]
) -> None:
    path, names = tmp_path / "r.h5", list(answers(bundle))[:4]
    with (
        pytest.raises(kind) as raised,
        opgen.Results.create(path, bundle, header={"backend": "torch"}) as results,
    ):
        for name in names:
            results.add(name, **answers(bundle)[name])
        raise kind
    assert raised.value.__notes__ == [
        f"{path}: is not complete; --resume (resume=True) continues from the 4 answers so far"
    ]
    assert os.listdir(tmp_path) == ["r.h5.partial"], "nobody takes them for all answers"
    assert sorted(complete(path, bundle)) == sorted(names)
    assert path.read_bytes() == expected and os.listdir(tmp_path) == ["r.h5"]


def test_an_exception_before_any_answer_leaves_what_was_there(
    bundle: Bundle, tmp_path: Path, expected: bytes
) -> None:
    path = tmp_path / "r.h5"
    ways: tuple[dict[str, Any], ...] = {}, {"force": True}, {"resume": True}
    for given in ways:
        with (
            pytest.raises(ValueError, match="no device"),
            opgen.Results.create(path, bundle, **given),
        ):
            raise ValueError("no device")
        assert os.listdir(tmp_path) == (["r.h5"] if given else [])
        path.write_bytes(expected)
    assert path.read_bytes() == expected


def test_a_full_disk_at_the_end_keeps_what_was_answered(
    bundle: Bundle, tmp_path: Path, expected: bytes
) -> None:
    path = tmp_path / "r.h5"
    begun(path, bundle, list(answers(bundle)))
    with largest_file(len(expected) // 2):
        with pytest.raises(BundleError, match=r"r.h5: cannot write: File too large$"):
            opgen.Results.create(path, bundle, resume=True).close()
        assert os.listdir(tmp_path) == ["r.h5.partial"]
        with (
            pytest.raises(ValueError, match="no room"),
            opgen.Results.create(path, bundle, resume=True),
        ):
            raise ValueError("no room")
        assert os.listdir(tmp_path) == ["r.h5.partial"]
    assert complete(path, bundle) == list(answers(bundle)) and path.read_bytes() == expected


def test_without_a_place_for_answers_the_file_is_let_go_of(bundle: Bundle, tmp_path: Path) -> None:
    before = write(tmp_path / "r.h5", bundle, ["one/given"]).read_bytes()
    descriptors = len(os.listdir("/proc/self/fd"))

    def nothing(bundle: Bundle, cases: Sequence[str]) -> Iterator[Result]:
        raise AssertionError("is not reached")

    for resume in (True, False):
        with (
            largest_file(0),
            pytest.raises(BundleError, match=r"r.h5: cannot write: File too large$"),
        ):
            run(bundle, Scripted(nothing), tmp_path / "r.h5", resume=resume, force=True)
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert os.listdir(tmp_path) == ["r.h5"] and (tmp_path / "r.h5").read_bytes() == before
    opgen.Results.create(tmp_path / "r.h5", bundle, force=True).abort()


def test_a_killed_process_leaves_what_it_answered(
    bundle: Bundle, tmp_path: Path, expected: bytes
) -> None:
    script = """
        import sys, time
        import opgen
        from tests.bundle.test_results import answers
        bundle = opgen.open(sys.argv[1])
        header = {"backend": "torch"}
        with bundle, opgen.Results.create(sys.argv[2], bundle, header=header) as results:
            for name, answer in list(answers(bundle).items())[:7]:
                results.add(name, **answer)
            print("answered", flush=True)
            time.sleep(600)
    """
    path = tmp_path / "r.h5"
    command = [sys.executable, "-c", textwrap.dedent(script), bundle.path, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None and process.stdout.readline() == b"answered\n"
        with pytest.raises(BundleError, match="another process is writing it"):
            opgen.Results.create(path, bundle, resume=True)
        process.send_signal(signal.SIGKILL)
    assert os.listdir(tmp_path) == ["r.h5.partial"] and verify(partial(path))
    with pytest.raises(BundleError, match="not an opgen results"):
        opgen.Results.open(partial(path))
    assert complete(path, bundle) == list(answers(bundle))[:7]
    assert path.read_bytes() == expected and os.listdir(tmp_path) == ["r.h5"]


def test_a_killed_run_goes_on_with_the_same_device_alone(bundle: Bundle, tmp_path: Path) -> None:
    def device(name: str) -> Backend:
        return Scripted(
            lambda bundle, cases: (Result(case, 0) for case in cases), {"backend": name}
        )

    path = tmp_path / "r.h5"
    before = begun(path, bundle, ["one/given", "one/handwritten"]).read_bytes()
    with pytest.raises(
        BundleError, match="results of torch: cannot be resumed with mine; write another file$"
    ):
        run(bundle, device("mine"), path, resume=True)
    assert partial(path).read_bytes() == before and os.listdir(tmp_path) == ["r.h5.partial"]
    assert run(bundle, device("torch"), path, resume=True) == {"kept": 2, "ran": len(bundle) - 2}
    assert os.listdir(tmp_path) == ["r.h5"] and len(opgen.Results.open(path)) == len(bundle)
    begun(path, bundle, ["one/given", "one/handwritten"], force=True)
    assert run(bundle, device("torch"), path, force=True) == {"dropped": 2, "ran": len(bundle)}


def test_only_whole_answers_count(bundle: Bundle, tmp_path: Path, expected: bytes) -> None:
    names = list(answers(bundle))
    left = begun(tmp_path / "r.h5", bundle, names)
    whole, draw, counts = left.read_bytes(), Random(4), set()
    for at in range(60):
        torn = bytearray(whole[: draw.randrange(len(whole))] if at % 2 else whole)
        if not at % 2:
            torn[draw.randrange(len(torn))] ^= 1 << draw.randrange(8)
        left.write_bytes(torn)
        there = complete(tmp_path / "r.h5", bundle, header={"backend": "torch"})
        assert there == names[: len(there)] and len(there) < len(names)
        assert (tmp_path / "r.h5").read_bytes() == expected
        (tmp_path / "r.h5").unlink()
        counts.add(len(there))
    assert len(counts) > 5


def test_what_is_left_goes_before_what_is_there(bundle: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "r.h5"
    with opgen.Results.create(path, bundle) as results:
        results.add("one/given", 7, error="an old answer")
        results.add("one/invalid", 8)
    begun(path, bundle, ["one/handwritten"], resume=True)
    with opgen.Results.create(path, bundle, resume=True) as results:
        assert [name for name in bundle.ids if name in results] == [
            "one/invalid",
            "one/handwritten",
            "one/given",
        ]
    begun(path, bundle, ["one/given"], force=True)
    with opgen.Results.create(path, bundle, resume=True) as results:
        assert (
            len(results) == 1 and "one/given" in results and 5 not in results
        )  # the old file was to be replaced
    with ResultsFile(path) as file:
        assert file["one/given"].status == -1
    begun(path, bundle, ["one/given"], force=True)
    opgen.Results.create(path, bundle, force=True).close()
    assert len(opgen.Results.open(path)) == 0 and os.listdir(tmp_path) == [
        "r.h5"
    ]  # without resume, anew


def test_answers_without_a_status_are_asked_for_again(bundle: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "r.h5"
    with opgen.Results.create(path, bundle) as results:
        results.add("one/given", None)
        results.add("one/invalid", 8)
    with opgen.Results.create(path, bundle, resume=True) as results:
        assert len(results) == 1 and "one/given" not in results
        results.add("one/given", None)
        results._worth = True
        results.leave()
    with opgen.Results.create(path, bundle, resume=True) as results:
        assert len(results) == 1 and "one/given" not in results


@pytest.mark.parametrize("left", [False, True], ids=["finished", "left"])
def test_an_answer_without_a_status_stays_until_there_is_another(
    bundle: Bundle, tmp_path: Path, left: bool
) -> None:
    path = tmp_path / "r.h5"
    results = opgen.Results.create(path, bundle)
    results.add("two 0", None, {"gradInput": np.ones((2, 3))}, error="no status, and this is why")
    results.add("one/given", 7)
    results.leave() if left else results.close()
    with opgen.Results.create(path, bundle, resume=True) as results:
        assert len(results) == 1 and "one/given" in results
    with ResultsFile(path) as file:
        kept = file["two 0"]
        assert (kept.status, kept.error, kept.outputs["gradInput"].sum()) == (
            None,
            "no status, and this is why",
            6,
        )
    with opgen.Results.create(path, bundle, resume=True) as results:
        results.add("two 0", 5)
        assert len(results) == 2 and "two 0" in results
        with pytest.raises(BundleError, match="has been added already"):
            results.add("two 0", 6)
    with ResultsFile(path) as file:
        assert [(one.status, one.error, len(one.outputs)) for one in file] == [
            (7, "", 0),
            (5, "", 0),
        ]


def test_a_status_that_is_there_goes_before_an_answer_without_one(
    bundle: Bundle, tmp_path: Path
) -> None:
    path = tmp_path / "r.h5"
    opgen.Results.create(path, bundle, resume=True).close()
    results = opgen.Results.create(path, bundle, resume=True)
    results.add("one/given", None)
    results.leave()
    with opgen.Results.create(tmp_path / "other.h5", bundle) as results:
        results.add("one/given", 7)
    (tmp_path / "other.h5").rename(path)
    with opgen.Results.create(path, bundle, resume=True) as results:
        assert "one/given" in results


@pytest.mark.parametrize("left", [True, False], ids=["left", "finished"])
def test_what_is_not_gone_on_from(bundle: Bundle, tmp_path: Path, left: bool) -> None:
    path = tmp_path / "r.h5"
    kept = begun(path, bundle, ["one/given"]) if left else write(path, bundle, ["one/given"])
    before = kept.read_bytes()
    with pytest.raises(
        BundleError,
        match=(
            rf"{kept.name}: cannot be resumed: backend 'torch' and 'mine' differ; write"
            r" another file"
        ),
    ):
        opgen.Results.create(path, bundle, resume=True, header={"backend": "mine"})
    other = sample(seed=1).write(tmp_path / "other.h5")
    with pytest.raises(
        BundleError,
        match=rf"{kept.name}: results of another bundle: cannot be resumed with .*other.h5",
    ):
        opgen.Results.create(path, other, resume=True)
    other.unlink()
    assert kept.read_bytes() == before and os.listdir(tmp_path) == [kept.name]
    with opgen.Results.create(
        path, bundle, resume=True, header={"backend": "torch", "driver": 2}
    ) as results:
        assert "one/given" in results
    with ResultsFile(path) as file:
        assert (file.header["backend"], file.header["driver"]) == ("torch", 2)


def test_two_devices_are_not_gone_on_from_as_one(bundle: Bundle, tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "r.h5", tmp_path / "elsewhere.h5"
    write(elsewhere, bundle, ["one/given"])
    left = begun(path, bundle, ["one/handwritten"], resume=True, backend="mine")
    elsewhere.rename(path)
    before = left.read_bytes(), path.read_bytes()
    message = (
        "r.h5.partial: cannot be resumed: backend 'torch' and 'mine', as .*r.h5 says, differ;"
        " move one of the two away$"
    )
    with pytest.raises(BundleError, match=message):
        opgen.Results.create(path, bundle, resume=True)
    assert (left.read_bytes(), path.read_bytes()) == before


@pytest.mark.parametrize(
    "content",
    [b"", b"opgen bundle 1", bytes(5000), b"0" * 32 + b' {"opgen answers": 3, "resumed": false}\n'],
)
def test_nothing_to_go_on_from_is_a_new_beginning(
    bundle: Bundle, tmp_path: Path, expected: bytes, content: bytes
) -> None:
    partial(tmp_path / "r.h5").write_bytes(content)
    assert complete(tmp_path / "r.h5", bundle, header={"backend": "torch"}) == []
    assert (tmp_path / "r.h5").read_bytes() == expected


def test_an_answer_that_changes_where_it_waits_is_noticed(bundle: Bundle, tmp_path: Path) -> None:
    with (
        pytest.raises(
            BundleError, match="r.h5.partial: damaged: two 0: gradInput does not match its digest$"
        ),
        opgen.Results.create(tmp_path / "r.h5", bundle) as results,
    ):
        results.add("two 0", 0, {"gradInput": np.ones((2, 3))})
        with open(partial(tmp_path / "r.h5"), "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"!")
    assert not (tmp_path / "r.h5").exists()


def entry(facts: object, *data: bytes) -> bytes:
    """An entry of a journal whose digests are right."""
    if isinstance(facts, dict):
        facts = facts | {"bytes": [(len(piece), digest_of(piece).hex()) for piece in data]}
    text = json.dumps(facts).encode()
    return digest_of(text).hex().encode() + b" " + text + b"\n" + b"".join(data)


FIRST = {"opgen answers": 3, "resumed": False}
ONE = "one/FLOAT16/0"
FORGED: list[tuple[Any, tuple[bytes, ...], str]] = [
    ({"answer": []}, (), "entry 2: is neither a header nor an answer"),
    ({"answer": None, "outputs": []}, (), "entry 2: is neither a header nor an answer"),
    ({"answer": [ONE, 0, 0], "outputs": []}, (), "entry 2: is neither a header nor an answer"),
    ({"header": []}, (), "entry 2: is neither a header nor an answer"),
    ({"header": {"bundle": 3}}, (), "entry 2: is neither a header nor an answer"),
    (
        {"answer": ["no such", 0, 0, None, ""], "outputs": []},
        (),
        "entry 2: answer: 'no such' is not a case of ",
    ),
    ({"answer": [-1, 0, 0, None, ""], "outputs": []}, (), "entry 2: answer: -1 is not a case of "),
    (
        {"answer": [ONE, "gone", 0, None, ""], "outputs": []},
        (),
        f"entry 2: answer: {ONE}: status 'gone' is not a status",
    ),
    (
        {"answer": [ONE, 0, 10**30, None, ""], "outputs": []},
        (),
        f"entry 2: answer: {ONE}: run_status {10**30} does not fit",
    ),
    (
        {"answer": [ONE, 0, 0, -1, ""], "outputs": []},
        (),
        f"entry 2: answer: {ONE}: time -1 is not a possible time",
    ),
    (
        {"answer": [ONE, 0, 0, None, []], "outputs": []},
        (),
        f"entry 2: answer: {ONE}: error .* is not a text",
    ),
    *(
        (
            {"answer": [ONE, 0, 0, None, ""], "outputs": told},
            data,
            f"entry 2: outputs: {ONE}: .* is not an output of the call",
        )
        for told, data in (
            ([["gradInput", 1, [2, 3, 4, 5], -1]], ()),
            ([], (bytes(8),)),
            ([["gradInput", 1, [2, 3, 4, 5], -1]], (bytes(8),)),
            ([["gradInput", 1, [-4, -1], -1]], (bytes(8),)),
            ([["gradInput", 1, [4, "1"], -1]], (bytes(8),)),
            ([["gradInput", 1, [4, *[1] * 40], -1]], (bytes(8),)),
            ([["padding", 1, [4], -1]], (bytes(8),)),
            ([None], (bytes(8),)),
        )
    ),
    (
        {"answer": [ONE, 0, 0, None, ""], "outputs": [["gradInput", 99, [1], -1]]},
        (bytes(8),),
        "entry 2: cannot store data as 99",
    ),
    ({"header": {"bundle": "x", "products": 3}}, (), "entry 2: products: 3 is nothing that"),
]


@pytest.mark.parametrize(("facts", "data", "message"), FORGED)
def test_a_forged_answer_is_refused_and_can_be_dropped(
    bundle: Bundle, tmp_path: Path, facts: Any, data: tuple[bytes, ...], message: str
) -> None:
    """Whoever writes a journal writes its digests, too."""
    path = tmp_path / "r.h5"
    partial(path).write_bytes(entry(FIRST) + entry(facts, *data))
    with pytest.raises(BundleError, match=f"r.h5.partial: unsound: {message}") as caught:
        opgen.Results.create(path, bundle, resume=True)
    assert str(caught.value).endswith("; move it away, or --force drops it")
    with opgen.Results.create(path, bundle, force=True) as results:
        assert results.dropped == ("answer" in facts) and len(results) == 0
    assert verify(path) == []


@pytest.mark.parametrize(
    "facts",
    [
        [],
        None,
        7,
        "opgen",
        {"answer": [], "bytes": 3},
        {"answer": [], "bytes": [3]},
        {"answer": [], "bytes": [[-1, "0" * 32]]},
        {"answer": [], "bytes": [[1 << 62, "0" * 32]]},
        {"answer": [], "bytes": [["1", 1]]},
    ],
    ids=str,
)
def test_what_is_no_entry_is_not_counted(bundle: Bundle, tmp_path: Path, facts: Any) -> None:
    path = tmp_path / "r.h5"
    text = json.dumps(facts).encode()
    for way in ({"resume": True}, {"force": True}):
        line = digest_of(text).hex().encode() + b" " + text + b"\n"
        partial(path).write_bytes(entry(FIRST) + line)
        with opgen.Results.create(path, bundle, **way) as results:
            assert len(results) == results.dropped == 0
        path.unlink()
