"""What a report is about: its files, its device, when it was judged; and how a case runs again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from shlex import quote

from opgen.comparison.diff_report import DiffReport

STATUS_CODES = {
    "page": "those of the page",
    "library": "those of the library",
    "both": "those of the page; what the library is known to do instead is a known deviation",
}
"""Which status codes a device must return, by the word of ``--truth``."""


def facts(report: DiffReport) -> Iterator[tuple[str, object]]:
    """What the report is about, for its head."""
    origin = report.origin
    for name in ("bundle", "results"):
        digest = str(origin.get(f"{name}_digest") or "")[:12]
        yield name, f"{origin.get(name, '')} {digest and f'({digest})'}"
    device = origin.get("device", {})
    told = (f"{key} {value}" for key, value in device.items() if not isinstance(value, Mapping))
    yield "device", "; ".join(told) or "not said"
    suite = {
        **{name: origin.get(name) for name in ("plan", "seed", "opgen_version")},
        "editions": ", ".join(sorted(set(origin.get("editions", {}).values()))),
    }
    yield from (
        (name.replace("_", " "), value) for name, value in suite.items() if value not in (None, "")
    )
    yield "status codes", STATUS_CODES[origin.get("truth", "both")]
    yield "judged", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


def command(report: DiffReport) -> list[str]:
    """The command that runs a case again, in the pieces that the case's id, in the words of a
    shell, stands between; none where no backend of opgen's ran it.
    """
    device = report.origin.get("device", {})
    if not device.get("backend"):
        return []
    bundle = str(report.origin.get("bundle", "suite.h5"))
    file = quote(f"./{bundle}" if bundle.startswith("-") else bundle)
    where = f" --device={quote(str(device['device']))}" if device.get("device") else ""
    before = f"opgen run {file} --backend={quote(str(device['backend']))}{where} --case="
    return [before, f" -o one.h5 --force && opgen diff {file} one.h5 --case=", ""]
