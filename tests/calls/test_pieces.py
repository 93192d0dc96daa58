"""Lines that are read by pieces say what they say as a whole."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from opgen.calls.argument_reader import ArgumentReader
from opgen.calls.call_json import CallFault
from opgen.calls.jsonl import parse_call
from opgen.spec.catalog import catalog

SAMPLE = Path(__file__).parents[1] / "data" / "library_sample.jsonl.gz"
PAD = json.dumps(
    {
        "id": "a",
        "op": "aclnnReflectionPad2dBackward",
        "product": "ascend910b",
        "args": {
            "gradOutput": {"shape": [2, 6, 8], "dtype": "FLOAT", "format": "ND"},
            "self": {"shape": [2, 4, 4], "dtype": "FLOAT", "format": "ND"},
            "padding": [2, 2, 1, 1],
            "gradInput": None,
        },
    }
)
REDUCED = json.dumps(
    {
        "id": "a",
        "op": "aclnnGeluBackwardV2",
        "product": "ascend910b",
        "args": {
            "gradOutput": None,
            "self": None,
            "approximate": "tanh",
            "gradInput": {"shape": [2], "dtype": "FLOAT"},
        },
    }
)


def behind_the_id(line: str) -> str:
    return line[len('{"id": "a",') :]


def test_every_call_of_a_sample() -> None:
    """Written anew without their statuses; each second one twice, for what is known then."""
    reader, kinds = ArgumentReader(), catalog().kinds
    lines = gzip.decompress(SAMPLE.read_bytes()).decode().splitlines()
    for number, line in enumerate(lines):
        data = json.loads(line)
        written = json.dumps({"id": "a", **{key: data[key] for key in ("op", "product", "args")}})
        whole = parse_call(written, kinds).call
        ordered = list(data["args"]) == list(kinds[data["op"]])
        for _ in range(1 + number % 2):
            call = reader.by_pieces(behind_the_id(written), kinds)
            assert call == (whole if ordered else None)
            assert parse_call(written, kinds, reader).call == whole
    assert len(lines) > 1000


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        (PAD, '"FLOAT", "format"', '"FLOAT", "dtype": "FLOAT16", "format"'),
        (PAD, '"padding": ', '"padding": [1, 1, 1, 1], "padding": '),
        (PAD, '"padding": ', '"unknown": 1, "padding": '),
        (PAD, '"padding": [2, 2, 1, 1], ', ""),
        (PAD, '"gradOutput": {', '"other": {'),
        (PAD, "[2, 2, 1, 1]", "[2, 2, 1, true]"),
        (PAD, "[2, 2, 1, 1]", "[2, 2, 1, 1"),
        (PAD, "[2, 2, 1, 1]", "[2, 2, 1, 1]]"),
        (PAD, "[2, 2, 1, 1]", ""),
        (PAD, "[2, 2, 1, 1]", '"2, 2, 1, 1"'),
        (PAD, "null}}", "null}}}"),
        (PAD, "null}}", "null, 1}}"),
        (PAD, '"shape": [2, 4, 4]', '"shape": {"a": 1}'),
        (PAD, "ascend910b", "ascend"),
        (PAD, "Pad2d", "Pad9d"),
        (REDUCED, '"tanh"', "1"),
        (REDUCED, '"tanh"', '"tanh\\'),
    ],
)
def test_a_line_that_is_no_call_is_refused_as_ever(line: str, old: str, new: str) -> None:
    broken, kinds, reader = line.replace(old, new, 1), catalog().kinds, ArgumentReader()
    assert broken != line and parse_call(line, kinds, reader).call is not None
    assert reader.by_pieces(behind_the_id(broken), kinds) is None
    with pytest.raises(CallFault) as whole:
        parse_call(broken, kinds)
    with pytest.raises(CallFault) as known:
        parse_call(broken, kinds, reader)
    assert str(known.value) == str(whole.value)


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        (PAD, '"ND"}, "padding"', '"ND"},  "padding"'),
        (PAD, "null}}", "null } }"),
        (PAD, "null}}", 'null}, "extra": {}}'),
        (REDUCED, '"tanh"', '"tanh, \\"gradInput\\": "'),
        (REDUCED, '"tanh"', '", \\"gradInput\\": "'),
        (REDUCED, '"tanh"', '"a: b"'),
    ],
)
def test_a_call_that_is_written_otherwise_is_read_as_a_whole(line: str, old: str, new: str) -> None:
    other, kinds, reader = line.replace(old, new, 1), catalog().kinds, ArgumentReader()
    assert other != line and parse_call(line, kinds, reader).call is not None
    assert parse_call(other, kinds, reader) == parse_call(other, kinds)
