"""Files of calls that several processes judge, each a part: what is printed is that of one."""

from __future__ import annotations

import gzip
import json
from itertools import chain
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.calls.jsonl import LARGEST_PART, LONGEST_LINE, SMALLEST_PART, parts, read_calls
from opgen.cli import main
from opgen.generation.processes import mapped
from opgen.model import FileError, Truth
from opgen.oracle.callfiles import json_lines, judge_calls
from opgen.oracle.printing import Printed, in_parts
from opgen.spec.catalog import catalog
from tests.calls.test_calls import NORM, PAD, POOL

REFUSED = {7: {"product": "ascend310b"}, 50: {"product": "ascend310b"}}
LINES = [
    json.dumps(
        {**(PAD, POOL, NORM)[i % 3], "id": f"{i}-测试", **REFUSED.get(i, {})}, ensure_ascii=False
    )
    for i in range(60)
]


def shared_and_alone(path: Path, data: bytes, truth: Truth = "both") -> list[list[Printed] | str]:
    """What is printed for a file in parts by two processes, and at once, or the fault that is
    told; and that there were parts.
    """
    path.write_bytes(data)
    pages, cut = catalog(), parts(path, 4, smallest=1)
    assert len(cut) > 2

    def work(part: range | None) -> Printed:
        answers = judge_calls(read_calls(path, pages.kinds, part=part), pages)
        return Printed.of(answers, json_lines(answers, pages, truth), truth)

    done: list[list[Printed] | str] = []
    for places in (cut, []):
        try:
            done.append(in_parts(work, places, mapped(2)))
        except FileError as error:
            done.append(str(error))
    return done


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("number", [1, 2, 3, 40])
def test_parts_are_the_whole_file_and_end_with_lines(
    tmp_path: Path, ends: str, number: int
) -> None:
    path, data = tmp_path / "calls.jsonl", ends.join(LINES).encode()
    path.write_bytes(data)
    cut = parts(path, number, smallest=1)
    assert b"".join(data[part.start : part.stop] for part in cut) == data
    assert len(cut) == (1 if ends == "\r" else number) or len(cut) > 20
    assert all(data[part.stop - 1 : part.stop] == b"\n" for part in cut[:-1])


def test_a_small_file_has_one_part_and_a_large_one_more(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join(LINES), encoding="utf-8")
    assert len(parts(path, 2)) == 1
    with open(path, "r+b") as file:
        file.truncate(3 * LARGEST_PART)  # a hole: no line ends there
    assert max(map(len, parts(path, 2))) <= LARGEST_PART + LONGEST_LINE


def test_what_cannot_be_cut_has_no_parts(tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl.gz").write_bytes(gzip.compress(LINES[0].encode()))
    for path in ("-", tmp_path, tmp_path / "calls.jsonl.gz", tmp_path / "none"):
        assert parts(path, 2) == []


@pytest.mark.parametrize("truth", ["both", "page", "library"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\n\n \n"])
def test_parts_print_what_the_whole_file_prints(tmp_path: Path, truth: Truth, ends: str) -> None:
    data = ("\ufeff" + ends.join(LINES)).encode()
    shared, (alone,) = shared_and_alone(tmp_path / "calls.jsonl", data, truth)
    assert len(shared) > 2 and isinstance(alone, Printed)
    for what in ("text", "ids", "refused"):
        told = chain.from_iterable(getattr(part, what) for part in shared)
        assert list(told) == list(getattr(alone, what))
    assert len(alone.ids) == 60 and 0 < len(alone.refused) < 60


@pytest.mark.parametrize(
    ("at", "line", "told"),
    [
        (40, "{", ":41: not JSON"),
        (40, LINES[3], ":41: the id '3-测试' stands on line 4 already"),
        (59, LINES[58], ":60: the id '58-测试' stands on line 59 already"),
        (0, "[", ": is JSON over several lines, or an array"),
        (55, LINES[55].replace("FLOAT", "FLAOT"), ":56: args.gradOutput.dtype: no such dtype"),
        (59, "\xff", ": not UTF-8: byte"),
    ],
)
def test_a_fault_of_one_part_is_told_as_that_of_the_file(
    tmp_path: Path, at: int, line: str, told: str
) -> None:
    lines = [*(text.encode() for text in LINES[:at]), line.encode("latin-1", "replace")]
    if line in LINES:
        lines[-1] = line.encode()
    data = b"\n".join([*lines, *(text.encode() for text in LINES[at + 1 :])])
    shared, alone = shared_and_alone(tmp_path / "calls.jsonl", data)
    assert shared == alone and f"calls.jsonl{told}" in str(alone)


def test_a_mark_of_byte_order_stands_at_the_start_of_a_file_only(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join(LINES), encoding="utf-8")
    data, place = path.read_bytes(), parts(path, 4, smallest=1)[1].start
    data = data[:place] + "\ufeff".encode() + data[place:]
    path.write_bytes(data)
    assert place in {part.start for part in parts(path, 4, smallest=1)}
    shared, alone = shared_and_alone(path, data)
    assert shared == alone and ": not JSON" in str(alone)


@pytest.mark.parametrize("form", ["json", "text"])
def test_the_command_prints_a_large_file_in_order_or_nothing_of_it(
    tmp_path: Path, form: str
) -> None:
    """On one core it is not cut."""
    path = tmp_path / "calls.jsonl"
    lines = [
        line.replace("-测试", f"-{i}") for i in range(3 * SMALLEST_PART // 60_000) for line in LINES
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert len(parts(path, 2)) == 2
    shared = CliRunner().invoke(main, ["judge", "--format", form, str(path)])
    packed = tmp_path / "calls.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    alone = CliRunner().invoke(main, ["judge", "--format", form, str(packed)])
    assert (shared.exit_code, shared.output) == (0, alone.output)
    with open(path, "a", encoding="utf-8") as file:
        file.write("\n{\n")
    bad = CliRunner().invoke(main, ["judge", "--format", form, str(path)])
    assert (bad.exit_code, bad.stdout) == (2, "")
    assert bad.stderr.startswith(f"{path}:{len(lines) + 1}: not JSON")
    some = CliRunner().invoke(main, ["judge", "--format", form, "--skip-bad-lines", str(path)])
    assert (some.exit_code, some.stdout, some.stderr) == (1, shared.stdout, bad.stderr)


class Gone(FileError):
    """A fault that is not the file's."""


def test_a_process_that_is_gone_is_no_fault_of_the_file() -> None:
    def each(work: object, cut: object) -> list[Printed]:
        raise Gone([])

    with pytest.raises(Gone):
        in_parts(lambda part: Printed("", (), ()), [range(1), range(1, 2)], each)
