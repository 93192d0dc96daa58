"""Files of calls with statuses: what is refused, and what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from opgen.cli import main
from opgen.learning import statuses
from opgen.model import FileError
from opgen.spec.catalog import catalog
from tests.learning import planted

PAD = "aclnnReflectionPad2dBackward"


@pytest.fixture
def lines() -> list[dict[str, Any]]:
    return planted.returned(planted.calls(PAD))


def read(folder: Path, *files: list[dict[str, Any]], **given: Any) -> statuses.Statuses:
    paths = [planted.write(folder / f"{i}.jsonl", lines) for i, lines in enumerate(files)]
    return statuses.read(paths, catalog(), **given)


BAD = {
    "a text": ({"status": "161002"}, "the key 'status' must be a status code"),
    "a truth": ({"status": True}, "the key 'status' must be a status code"),
    "firm": ({"firm": 1}, "the key 'firm' must be true or false, not 1"),
    "release": ({"release": 9}, "the key 'release' must be a text, not 9"),
    "from": ({"from": 3}, "the key 'from' must be the id of a call, not 3"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_lines(tmp_path: Path, lines: list[dict[str, Any]], name: str) -> None:
    change, message = BAD[name]
    with pytest.raises(FileError, match=r"0\.jsonl:3: ") as caught:
        read(tmp_path, [*lines[:2], {**lines[2], **change}])
    assert message in str(caught.value)


def test_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no call"):
        read(tmp_path, [])


def test_calls_of_another_operator_in_one_file_fill_no_other(
    tmp_path: Path, lines: list[dict[str, Any]]
) -> None:
    foreign = {**lines[0], "op": "aclnnNothing"}
    assert sum(read(tmp_path, [foreign], lines).foreign.values()) == 1
    with pytest.raises(FileError, match=r"1\.jsonl: holds no call"):
        read(tmp_path, [foreign], [])
    with pytest.raises(FileError, match="no such op 'aclnnNothing'"):
        read(tmp_path, [{**foreign, "args": "none"}], lines)


def test_two_releases(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    old, new = (
        {**line, "release": name} for line, name in zip(lines, ("8.0", "8.1"), strict=False)
    )
    with pytest.raises(FileError, match=r"is of release '8\.1', others are of '8\.0'"):
        read(tmp_path, [old, new, *lines[2:]])
    with pytest.raises(FileError, match=r"is of release '8\.0', others are of '9'"):
        read(tmp_path, [old, *lines[1:]], release="9")
    assert read(tmp_path, [old, *lines[1:]]).release == "8.0"


def test_a_lost_device(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    lost = [{**line, "status": 561000} for line in lines]
    with pytest.raises(FileError, match="as if the device were lost"):
        read(tmp_path, lost)
    assert len(read(tmp_path, lost, force=True)) == len(lines)


def test_what_teaches_nothing_is_counted(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    runtime = [{**lines[0], "status": 507899}, {**lines[1], "status": 361001}, *lines[2:]]
    foreign = {**lines[0], "id": "f", "op": "aclnnNothing"}
    output = dict(lines[0]["args"])
    output["gradSelf"] = output.pop("gradInput")
    known = read(tmp_path, [*runtime, foreign, {**lines[0], "id": "e", "args": output}])
    assert known.runtime == 2
    assert known.foreign == {
        ("aclnnNothing", (), ()): 1,
        (PAD, ("gradInput",), ("gradSelf",)): 1,
    }
    assert len(known) == len(lines) - 2


def test_equal_calls_with_two_statuses_are_left_out(
    tmp_path: Path, lines: list[dict[str, Any]]
) -> None:
    again = [{**lines[0], "id": "again", "status": 561103}, {**lines[1], "id": "equal"}]
    known = read(tmp_path, [*lines, *again])
    assert sorted(known.contradictory) == sorted([lines[0]["id"], "again"])
    assert len(known) == len(lines) - 1  # the equal call counts once


def test_the_command_prints_a_table_and_data(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    path = planted.write(tmp_path / "calls.jsonl", lines)
    shown = CliRunner().invoke(main, ["learn", str(path)])
    assert shown.exit_code == 0
    assert f"{PAD} (specs/reflection_pad2d_backward.yaml): {len(lines)} calls" in shown.output
    data = json.loads(CliRunner().invoke(main, ["learn", "--json", str(path)]).output)
    assert data["operators"][0]["page_admits"] == len(lines)
    assert {rule["became"] for rule in data["operators"][0]["rules"]} <= {
        "confirmed",
        "not enforced",
        "not seen",
    }
    lost = planted.write(tmp_path / "lost.jsonl", [{**line, "status": 161002} for line in lines])
    refused = CliRunner().invoke(main, ["learn", str(lost)])
    assert (refused.exit_code, "lost" in refused.output) == (2, True)
    assert CliRunner().invoke(main, ["learn", "--force", str(lost)]).exit_code == 0


@pytest.mark.parametrize("command", ["learn", "backtest"])
def test_bad_lines_are_skipped_where_that_is_asked_for(
    tmp_path: Path, lines: list[dict[str, Any]], command: str
) -> None:
    args = {**lines[0]["args"], "padding": ["wide"]}
    path = str(planted.write(tmp_path / "calls.jsonl", [{**lines[0], "args": args}, *lines[1:]]))
    assert CliRunner().invoke(main, [command, path]).exit_code == 2
    done = CliRunner().invoke(main, [command, "--skip-bad-lines", path])
    assert done.exit_code == 0
    assert "skipped 1 line, the first:" in done.output
    assert "calls.jsonl:1" in done.output
