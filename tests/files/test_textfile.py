"""Text files: what cannot be read is one message, before it takes all memory."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from opgen.calls.jsonl import LONGEST_LINE, read_calls
from opgen.cli import main
from opgen.files import yamlfile
from opgen.files.textfile import read_text
from opgen.lock.lockfile import read_lock
from opgen.model import FileError

ENDLESS = Path("/dev/zero")


def test_whole_texts(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("# 填充\r\n".encode())
    assert read_text(tmp_path / "a") == "# 填充\r\n"
    assert read_text(str(tmp_path / "a"), most=10) == "# 填充\r\n"


@pytest.mark.parametrize(
    ("content", "most", "said"),
    [
        (b"0123456789\n", 10, "cannot be read: has more than 10 B"),
        (b"ab\xff", 10, "not UTF-8: byte 2 is 0xff"),
        (b"opgen bundle\n\x89HDF\r\n\x1a\n", 99, "is an HDF5 file, .* see opgen inspect"),
        (None, 10, "No such file"),
    ],
)
def test_what_is_no_text_is_said(
    tmp_path: Path, content: bytes | None, most: int, said: str
) -> None:
    if content is not None:
        (tmp_path / "a").write_bytes(content)
    with pytest.raises(FileError, match=said) as caught:
        read_text(tmp_path / "a", shown="the spec", most=most)
    assert str(caught.value).startswith("the spec: ")


@pytest.mark.skipif(not ENDLESS.exists(), reason="this system has no /dev/zero")
@pytest.mark.parametrize(
    "reader", [yamlfile.read, read_lock, read_text, lambda path: read_calls(path, {})]
)
def test_endless_files(reader: Callable[[Path], Any]) -> None:
    with pytest.raises(
        FileError, match=r"^/dev/zero: cannot be read: .*more than (16.8|268.4) MB$"
    ):
        reader(ENDLESS)


def test_lines_of_calls_have_an_end(tmp_path: Path) -> None:
    """Few bytes that unpack to one line of many, and a pipe that never ends it."""
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b" " * (LONGEST_LINE + 1)))
    with pytest.raises(
        FileError, match=r"a\.jsonl\.gz: cannot be read: a line of more than 16.8 MB$"
    ):
        read_calls(tmp_path / "a.jsonl.gz", {})
    judged = CliRunner().invoke(main, ["judge", "-"], input=b" " * (LONGEST_LINE + 1))
    assert judged.stderr == "<stdin>: cannot be read: a line of more than 16.8 MB\n"
    (tmp_path / "b.jsonl").write_bytes(b" " * (LONGEST_LINE - 1) + b"\n")
    assert read_calls(tmp_path / "b.jsonl", {}) == []
