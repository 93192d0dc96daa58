"""Every reader of files that others wrote, against code, links, escapes and bombs.

SECURITY.md names these files. Nothing in them may run, lead elsewhere, write to a terminal or take
the machine's memory: each command ends with one refusal, or reads the file as what it is.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import re
import resource
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from click.testing import CliRunner, Result

import opgen
from opgen.bundle.format import first_block
from opgen.cli import main
from tests.support import device_sample, unmeasured

ROOT = Path(__file__).resolve().parents[2]
PAD = "reflection_pad1d_backward"
PAGE = "aclnnReflectionPad2dBackward.txt"

READERS: dict[str, tuple[str, ...]] = {
    "bundle.h5": (
        "inspect {}",
        "verify {}",
        "run {} --backend mutant:nothing -o out/r.h5",
        "diff {} good/results.h5",
        "unpack {} -o out/tree.h5",
        "merge {} -o out/merged.h5",
        "export npz {} -o out/npz",
        "export gtest {} -o out/test.cpp",
        "coverage {} --plan smoke",
        "explain --bundle {} *",
        "minimize {} good/results.h5 * --backend mutant:nothing -o out/minimal",
    ),
    "results.h5": (
        "inspect {}",
        "verify {}",
        "diff good/bundle.h5 {}",
        "merge {} -o out/merged.h5",
    ),
    "calls.jsonl": (
        "judge {}",
        "judge --format text {}",
        "cases --ids --calls {}",
        "generate --calls {} -o out/calls.h5",
        f"cases {PAD} --ids --seed-calls {{}}",
        "coverage --calls {}",
        "backtest {}",
        "learn {}",
    ),
    "smoke.lock": (f"refresh {PAD} --check --lock {{}}", "audit --pages good --lock {}"),
    PAGE: (
        "audit reflection_pad2d_backward --pages {folder}",
        "audit reflection_pad2d_backward --digests --pages {folder}",
        "page reflection_pad2d_backward --pages {folder}",
    ),
    "atk.json": ("import atk {} --product ascend910b -o out/atk.jsonl",),
    "ttk.csv": ("import ttk {} -o out/ttk.jsonl",),
    "report.json": ("compare {} {}",),
    "waivers.yaml": ("diff good/bundle.h5 good/results.h5 --waivers {}",),
}
"""A file of each kind, and the commands that read it."""
CASES = [(name, line) for name, lines in READERS.items() for line in lines]


class Code:
    """What a pickle of this runs."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, ("ran",)


PYTHON = "__import__('os').mkdir('ran')"
CODE = {
    "pickle": pickle.dumps(Code()),
    "yaml": f"!!python/object/apply:os.mkdir ['ran']\n? {PYTHON}\n".encode(),
    "json": json.dumps({"id": PYTHON, "op": PYTHON, "product": PYTHON, "args": PYTHON}).encode(),
    "csv": b"testcase_name,op_name\n=cmd|'/C mkdir ran'!A1," + PYTHON.encode() + b"\n",
}


def run(line: str, file: str) -> Result:
    words = [word.replace("{}", file).format(folder=Path(file).parent) for word in line.split()]
    return CliRunner().invoke(main, words, prog_name="opgen")


def call(name: str = "pad", **more: Any) -> str:
    return json.dumps({"id": name, **device_sample.pad(), **more}) + "\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a good file of every kind, and places for bad files and for outputs."""
    monkeypatch.chdir(tmp_path)
    for name in ("good", "bad", "out"):
        Path(name).mkdir()
    with opgen.open(
        device_sample.write(Path("good/bundle.h5"), {"pad": device_sample.pad()})
    ) as bundle:
        device_sample.answer(bundle, Path("good/results.h5"))
    return tmp_path


def contents(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.parent.name != "good"}


# code ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "line"), CASES)
def test_code_in_a_file_is_text(name: str, line: str, here: Path) -> None:
    for kind, content in CODE.items():
        file = Path("bad", name)
        file.write_bytes(content)
        told = run(line, str(file))
        page = name == PAGE  # any text may be a page
        assert told.exit_code in ((0, 1, 2) if page else (1, 2)), (kind, told.output)
        assert "Traceback" not in told.output, (kind, told.output)
        assert contents(here) == {Path("bad"), Path("out"), Path("good"), file}, kind


def test_data_of_a_call_are_numbers(here: Path) -> None:
    """An archive may hold a pickle; numpy would run it."""
    np.savez("bad/dump.npz", gradOutput=np.array([Code()], dtype=object))
    Path("bad/calls.jsonl").write_text(call(data="dump.npz"))
    told = run("generate --calls {} -o out/x.h5", "bad/calls.jsonl")
    assert told.exit_code == 2 and "holds Python objects" in told.stderr
    assert not Path("ran").exists() and os.listdir("out") == []


# links --------------------------------------------------------------------------------------------
def resealed(path: Path, change: Callable[[h5py.File], None]) -> None:
    """Change a file through h5py, and give it the size and digest that it has then."""
    with h5py.File(path, "r+") as file:
        change(file)
    first = path.read_bytes()[: first_block.SIZE]
    ranges = tuple(
        (int(a), int(b)) for a, b in re.findall(rb"^data (\d+) (\d+)$", first, re.MULTILINE)
    )
    size = path.stat().st_size
    with open(path, "r+b") as raw:
        digest = first_block.file_digest(path, raw.fileno(), ranges, size)
        first = re.sub(rb"xxh3 \w+", b"xxh3 " + digest.encode(), first)
        first = re.sub(rb"bytes \d+", b"bytes %d" % size, first)
        raw.write(first[: first_block.SIZE].ljust(first_block.SIZE, b"\0"))


@pytest.mark.parametrize(("name", "line"), [case for case in CASES if case[0].endswith(".h5")])
@pytest.mark.parametrize(
    "link",
    [
        h5py.ExternalLink("/etc/passwd", "/"),
        h5py.ExternalLink("secret.h5", "x"),
        h5py.SoftLink("/"),
    ],
)
def test_a_link_in_a_bundle_leads_nowhere(name: str, line: str, link: object, here: Path) -> None:
    file = Path("bad", name)
    file.write_bytes(Path("good", name).read_bytes())
    with h5py.File("bad/secret.h5", "w") as secret:
        secret["x"] = np.arange(4)

    def change(opened: h5py.File) -> None:
        del opened["strings"]
        opened["strings"] = link

    resealed(file, change)
    told = run(line, str(file))
    assert told.exit_code in (1, 2) and "Traceback" not in told.output, told.output
    assert str(file) in told.stderr and os.listdir("out") == []


@pytest.mark.parametrize("line", ["export npz {} -o out/npz", "export ttk {} -o out/ttk"])
def test_an_id_does_not_lead_out_of_an_export(line: str, here: Path) -> None:
    odd = ("../../evil", "/tmp/evil", "a/../../evil")
    device_sample.write(Path("bad/bundle.h5"), {name: device_sample.pad() for name in odd})
    run(line, "bad/bundle.h5")
    assert all(path.parts[0] in ("out", "bad", "good") for path in contents(here))
    assert not list(here.parent.glob("evil*")) and not Path("/tmp/evil").exists()


# escapes ------------------------------------------------------------------------------------------
ODD = "x\x1b[31m\x9b2J\u202e\u2066\r\n::error::forged\n"


def odd_file(name: str) -> bytes:
    """A good file of a kind, whose texts are written by somebody who wants to be seen."""
    match name:
        case "calls.jsonl":
            return (call(ODD) + call(ODD + "2", status=0, firm=True)).encode()
        case "smoke.lock":
            made = CliRunner().invoke(main, ["refresh", PAD, "--lock", "out/x.lock", "-q"])
            assert made.exit_code == 0
            text = Path("out/x.lock").read_text(encoding="utf-8")
            return re.sub(r"(?m)^\S+\.910b", lambda m: m[0] + "\x1b[31m\u202e", text).encode()
        case "aclnnReflectionPad2dBackward.txt":
            return ("\x1b[31m\u202e::error::forged\n" * 30).encode()
        case "atk.json":
            return json.dumps([{"name": ODD, "aclnn_name": ODD, ODD: ODD}, ODD]).encode()
        case "ttk.csv":
            return f'testcase_name,op_name,"{ODD}"\n"{ODD}","{ODD}","{ODD}"\n'.encode()
        case "report.json":
            told = CliRunner().invoke(
                main, ["diff", "bad/bundle.h5", "bad/results.h5", "--json"], prog_name="opgen"
            )
            return told.stdout.encode()
        case _:
            waiver = {"case": "*", "verdict": "failed", "reason": ODD, "until": "2099-01-01"}
            return json.dumps([waiver]).encode()


@pytest.mark.parametrize(("name", "line"), CASES)
def test_no_file_writes_to_the_terminal(name: str, line: str, here: Path) -> None:
    shown = "x\x1b[31m\u202e::error::forged"  # a bundle keeps no id of two lines
    with opgen.open(
        device_sample.write(Path("bad/bundle.h5"), {shown: device_sample.pad()})
    ) as bundle:
        device_sample.answer(bundle, Path("bad/results.h5"))
    if not name.endswith(".h5"):
        Path("bad", name).write_bytes(odd_file(name))
    told = run(line.replace("good/", "bad/"), f"bad/{name}")
    assert "Traceback" not in told.output
    if line == "judge {}":  # JSON for programs escapes what JSON must
        told.stdout_bytes, told.output_bytes = b"", told.stderr_bytes
    assert not set("\x1b\x9b\r\u202e\u2066") & set(told.output), repr(told.output)
    assert not re.search(r"^::", told.output, re.MULTILINE), repr(told.output)


# bombs --------------------------------------------------------------------------------------------
SECONDS, BYTES = 30, 2 << 30
"""What a bomb may cost: with a machine's other work, and address space with all libraries."""


def archive_bomb() -> bytes:
    """An .npz of a few kilobytes whose array has gigabytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 29,)}
        )
        with archive.open("gradOutput.npy", "w", force_zip64=True) as member:
            member.write(header.getvalue())
            for _ in range(64):
                member.write(bytes(1 << 20))
    return packed.getvalue()


def gzip_bomb() -> bytes:
    """A few megabytes that expand to four gigabytes of blanks."""
    piece = gzip.compress(b" " * (1 << 24))
    return piece * 256


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "gzip": ("calls.jsonl.gz", gzip_bomb),
    "a deep call": ("calls.jsonl", lambda: b"[" * 10_000_000),
    "a long number": ("calls.jsonl", lambda: b'{"id": ' + b"9" * 10_000_000 + b"}"),
    "deep cases of ATK": ("atk.json", lambda: b"[" * 10_000_000),
    "a wide table": ("ttk.csv", lambda: b"a," * 5_000_000 + b"\n"),
    "a deep report": ("report.json", lambda: b"[" * 10_000_000),
    "waivers of waivers": (
        "waivers.yaml",
        lambda: "\n".join(
            ["a0: &a0 [1, 1]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60))]
        ).encode(),
    ),
    "deep waivers": ("waivers.yaml", lambda: b"[" * 1_000_000),
    "a page of one line": (PAGE, lambda: b"x" * (1 << 26)),
    "a lock of one line": ("smoke.lock", lambda: b"opgen lock 1\n" + b"x" * (1 << 26)),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_costs_little(bomb: str, here: Path) -> None:
    name, make = BOMBS[bomb]
    Path("bad", name).write_bytes(make())
    for line in READERS[name.removesuffix(".gz")][:3]:
        refused(line.replace("{}", f"bad/{name}").format(folder="bad"), page=name == PAGE)


@pytest.mark.parametrize("name", ["gradOutput", "gradOutpuz"])
def test_an_archive_that_expands_is_refused(name: str, here: Path) -> None:
    """Whether or not the call has an input of the array's name."""
    Path("bad/dump.npz").write_bytes(archive_bomb().replace(b"gradOutput", name.encode()))
    Path("bad/calls.jsonl").write_text(call(data="dump.npz"))
    refused("generate --calls bad/calls.jsonl -o out/x.h5")


def refused(line: str, page: bool = False) -> None:
    """A command ends soon, with one refusal, in little memory."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "opgen", *line.split()],
        env={**unmeasured.ENVIRONMENT, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=2 * SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES)),
    )
    assert time.monotonic() - began < SECONDS, line
    assert done.returncode in ((0, 1) if page else (1, 2)), (line, done.stderr[-500:])
    assert "Traceback" not in done.stderr and "not enough memory" not in done.stderr, line
    assert len(done.stderr) < 5_000, line
