"""A call file that grows: calls that failed once, which opgen generate --calls makes a suite of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from opgen.bundle.write.output import write_text
from opgen.calls.jsonl import parse_call, read_calls
from opgen.spec.catalog import catalog


class Regressions:
    """The calls of a file, which need not exist yet. FileError with every line that is no call."""

    def __init__(self, path: str | Path, edition: str = "") -> None:
        self.path = Path(path)
        self.kinds = catalog(edition).kinds
        there = self.path.exists()
        self.calls = read_calls(self.path, self.kinds) if there else []
        self.text = self.path.read_text(encoding="utf-8") if there else ""

    def add(self, line: Mapping[str, object]) -> bool:
        """Write the file with one more line, unless it has the call, or its id, already."""
        text = json.dumps(line)
        named = parse_call(text, self.kinds)
        if any(named.id == known.id or named.call == known.call for known in self.calls):
            return False
        self.calls.append(named)
        self.text = "\n".join([*filter(None, [self.text.rstrip("\n")]), text, ""])
        write_text(self.path, self.text, force=True)
        return True
