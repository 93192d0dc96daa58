"""Files that commands write: nothing but a regular file is replaced, nothing that they read is
lost, and a name is given at the end.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import opgen
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.write.output import write_text
from opgen.cli import main
from tests.support import device_sample
from tests.support.limits import largest_file

CALL = (
    '{"id": "one", "op": "aclnnReflectionPad2dBackward", "product": "ascend910b", "args":'
    ' {"gradOutput": {"shape": [1, 4, 4], "dtype": "FLOAT", "format": "ND"}, "self": {"shape": [1,'
    ' 2, 2], "dtype": "FLOAT", "format": "ND"}, "padding": [1, 1, 1, 1], "gradInput": {"shape": [1,'
    ' 2, 2], "dtype": "FLOAT", "format": "ND"}}}\n'
)


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args, prog_name="opgen")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    with opgen.open(device_sample.write(folder / "b.h5", {"pad": device_sample.pad()})) as bundle:
        device_sample.answer(bundle, folder / "r.h5")
    (folder / "c.jsonl").write_text(CALL)
    (folder / "w.yaml").write_text("[]\n")
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a bundle, its results, a call file and waivers; the current one."""
    folder = shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(folder)
    return folder


# what is there ------------------------------------------------------------------------------------
WRITE = [
    "generate --calls c.jsonl --workers 1 -q --force -o {}",
    "unpack b.h5 -q --force -o {}",
    "run b.h5 --backend mutant:corners_missing --force -o {}",
    "merge b.h5 --force -o {}",
    "export gtest b.h5 --force -o {}",
    "import ttk c.jsonl --force -o {}",
    "diff b.h5 r.h5 --html {}",
    "diff b.h5 r.h5 --junit {}",
]


@pytest.mark.parametrize("line", WRITE)
@pytest.mark.parametrize("name", ["pipe", "link"])
def test_what_is_no_regular_file_stays(line: str, name: str, here: Path) -> None:
    os.mkfifo("pipe")
    Path("link").symlink_to("pipe")
    told = run(*line.format(name).split())
    assert told.exit_code == 2 and f"{name}: is not a regular file" in told.stderr
    assert (
        Path("pipe").is_fifo()
        and Path("link").is_symlink()
        and not Path(f"{name}.partial").exists()
    )


def test_nor_does_anything_become_the_file_that_is_being_written(here: Path) -> None:
    os.mkfifo("out.h5.partial")
    told = run("unpack", "b.h5", "-o", "out.h5")
    assert told.exit_code == 2 and "out.h5.partial: is not a regular file" in told.stderr
    assert Path("out.h5.partial").is_fifo() and not Path("out.h5").exists()


# what is read -------------------------------------------------------------------------------------
SHARED = [
    ("diff b.h5 r.h5 --html r.h5", "--html: r.h5: is also given as RESULTS"),
    ("diff b.h5 r.h5 --html ./b.h5", "--html: ./b.h5: is also given as BUNDLE"),
    ("diff b.h5 r.h5 --junit link.h5", "--junit: link.h5: is also given as BUNDLE"),
    (
        "diff b.h5 r.h5 --waivers w.yaml --junit w.yaml",
        "--junit: w.yaml: is also given as --waivers",
    ),
    (
        "diff b.h5 r.h5 --again r.h5 --again x.partial --html ./x.partial",
        "--html: ./x.partial: is also given as --again",
    ),
    ("diff b.h5 r.h5 --html hard.h5", "--html: hard.h5: is also given as RESULTS"),
    ("diff b.h5 r.h5 --html new --junit ./new", "--html: new: is also given as --junit"),
    ("diff x.partial r.h5 --html x", "--html: x: is also given as BUNDLE"),
    ("run b.h5 --backend torch --force -o b.h5", "-o: b.h5: is also given as BUNDLE"),
    ("unpack b.h5 --force -o b.h5", "-o: b.h5: is also given as BUNDLE"),
    ("merge r.h5 b.h5 --force -o b.h5", "-o: b.h5: is also given as FILE..."),
    ("export gtest b.h5 --force -o b.h5", "-o: b.h5: is also given as BUNDLE"),
    ("import ttk c.jsonl --force -o c.jsonl", "-o: c.jsonl: is also given as FILE"),
    ("generate --calls c.jsonl --force -o c.jsonl", "-o: c.jsonl: is also given as --calls"),
    (
        "generate --seed-calls c.jsonl --force -o c.jsonl",
        "-o: c.jsonl: is also given as --seed-calls",
    ),
    ("generate --plan w.yaml::smoke --force -o w.yaml", "-o: w.yaml: is also given as --plan"),
    ("coverage b.h5 --html b.h5", "--html: b.h5: is also given as [OP]..."),
    ("coverage --calls c.jsonl --html c.jsonl", "--html: c.jsonl: is also given as --calls"),
    ("refresh --lock w.yaml --summary w.yaml", "--lock: w.yaml: is also given as --summary"),
]


@pytest.mark.parametrize(("line", "message"), SHARED, ids=[line for line, _ in SHARED])
def test_no_command_writes_over_what_it_reads(line: str, message: str, here: Path) -> None:
    Path("link.h5").symlink_to("b.h5")
    os.link("r.h5", "hard.h5")
    shutil.copy("b.h5", "x.partial")
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    told = run(*line.split())
    assert (told.exit_code, told.stderr) == (2, f"{message}; name another\n")
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_a_lock_is_written_over_itself(here: Path) -> None:
    for _ in range(2):
        assert (
            run(
                "refresh", "reflection_pad2d_backward", "--lock", "new.lock", "-o", "new.lock", "-q"
            ).exit_code
            == 0
        )
    assert Path("new.lock").read_text().startswith("opgen lock")


@pytest.mark.parametrize("line", WRITE)
def test_an_empty_name_is_none(line: str, here: Path) -> None:
    told = run(*("" if word == "{}" else word for word in line.split()))
    assert told.exit_code == 2 and "names no file" in told.stderr
    assert sorted(path.name for path in here.iterdir()) == ["b.h5", "c.jsonl", "r.h5", "w.yaml"]


# reports ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("option", ["--html", "--junit"])
def test_a_report_that_cannot_be_written_is_named_and_leaves_the_old_one(
    option: str, here: Path
) -> None:
    Path("old").write_text("as it was")
    with largest_file(100):
        told = run("diff", "b.h5", "r.h5", option, "old", "--force")
    assert told.exit_code == 2 and told.stderr.endswith("old: cannot write: File too large\n")
    assert Path("old").read_bytes() == b"as it was" and not Path("old.partial").exists()


def test_a_text_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "text"
    write_text(path, "é\n")
    assert path.read_bytes() == "é\n".encode()
    with pytest.raises(BundleError, match="exists already"):
        write_text(path, "other")
    write_text(path, "other", force=True)
    assert path.read_text() == "other" and list(tmp_path.iterdir()) == [path]


def test_answers_are_dropped_only_where_that_is_asked_for_and_told(here: Path) -> None:
    results = opgen.Results.create("new.h5", "b.h5")
    results.add("pad", 0)
    results.leave()
    left = Path("new.h5.partial").read_bytes()
    done = run("run", "b.h5", "--backend", "mutant:nothing", "-o", "new.h5")
    held = (
        "new.h5.partial: holds answers of an unfinished run, which opgen run --resume continues"
        " from; name another file, or --force drops"
    )
    assert (
        done.exit_code == 2
        and done.stderr == f"{held} it\n"
        and Path("new.h5.partial").read_bytes() == left
    )
    done = run("run", "b.h5", "--backend", "mutant:nothing", "-o", "new.h5", "--force")
    assert done.exit_code == 0 and done.stderr.splitlines()[:2] == [
        "new.h5: dropped 1 answer of an unfinished run, which --resume would have kept",
        "new.h5: 1 ran",
    ]
