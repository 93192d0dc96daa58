"""The digests of all probes by the versions that they are of, in a file that is committed.

``python -m tests.generation.probes`` renews it, and refuses where results changed and no version
was raised. Where it is a probe that changed, its line is removed first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from opgen.generation.probes import Fingerprint, probes
from opgen.numerics.recipes import RECIPES
from tests.support.suites import computed

FILE = Path(__file__).with_name("probes.txt")
COMMAND = "python -m tests.generation.probes"


def every_probe() -> list[Fingerprint]:
    """Of all operators and recipes."""
    return list(probes(computed(), list(RECIPES)))


def lines(some: Iterable[Fingerprint]) -> dict[str, tuple[str, str]]:
    """Name -> the versions in words, and the digest."""
    return {
        probe.name: (
            ", ".join(f"{name} {version}" for name, version in sorted(probe.versions.items())),
            probe.digest,
        )
        for probe in some
    }


def read(path: Path = FILE) -> dict[str, tuple[str, str]]:
    """What was written."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, versions, digest = line.split(" | ")
        found[name] = versions, digest
    return found


def unraised(kept: Mapping[str, tuple[str, str]], now: Mapping[str, tuple[str, str]]) -> list[str]:
    """What is to be done about probes that have other results of the same versions, a line each."""
    return [
        f"{name}: its results changed, and no version did. Undo that, or raise the VERSION (of a"
        f" recipe, its version) whose results these are: {versions}; then run {COMMAND}"
        for name, (versions, digest) in now.items()
        if name in kept and kept[name][0] == versions and kept[name][1] != digest
    ]


def write(path: Path, now: Mapping[str, tuple[str, str]]) -> list[str]:
    """Renew the file, unless a version is to be raised first: what :func:`unraised` says."""
    faults = unraised(read(path) if path.exists() else {}, now)
    if not faults:
        text = "".join(
            f"{name} | {versions} | {digest}\n" for name, (versions, digest) in now.items()
        )
        path.write_text(text, encoding="utf-8")
    return faults


if __name__ == "__main__":
    sys.exit("\n".join(write(FILE, lines(every_probe()))) or 0)
