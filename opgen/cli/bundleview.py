"""How a bundle, a results file and their cases look in a terminal of 120 columns."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from opgen.model import BUCKETS, size
from opgen.report.terminal import counted, literal, table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Plain: TypeAlias = Mapping[str, Any]
"""What :mod:`opgen.bundle.results.summary` says, as JSON has it."""


def show_summary(out: Console, summary: Plain) -> None:
    """The header, cases per operator, product and bucket, bytes per dtype, the largest cases."""
    header = summary["header"]
    about = (
        f"{size(summary['bytes'])}, {counted(summary['cases'], 'case')},"
        f" {summary['with_data']} with data, {summary['inconclusive']} inconclusive"
    )
    out.print(f"[bold]{literal(summary['file'])}[/]  {about}", soft_wrap=True)
    facts = {
        name.removesuffix("_version"): header.get(name, "")
        for name in ("plan", "shard", "seed", "opgen_version", "format_version")
    }
    facts["digest"] = summary["digest"]
    out.print(
        "  ".join(f"{name} {literal(value)}" for name, value in facts.items() if value != ""),
        soft_wrap=True,
    )
    _counts(out, summary["counts"])
    data = table("data of dtype", "bytes", right=("bytes",))
    for name, count in summary["data"].items():
        data.add_row(name, size(count))
    _print(out, data)
    recipes = ", ".join(
        f"{name or 'no data'} {count}" for name, count in summary["recipes"].items()
    )
    out.print(f"recipes: {recipes}")
    if summary["largest"]:
        largest = table("largest cases", "bytes", right=("bytes",))
        for case in summary["largest"]:
            largest.add_row(literal(case["id"]), size(case["bytes"]))
        _print(out, largest)


def _counts(out: Console, counts: list[Plain]) -> None:
    """A row per operator, product and kind, a column per bucket that occurs."""
    buckets = [bucket for bucket in BUCKETS if any(entry["bucket"] == bucket for entry in counts)]
    heads = [bucket.removesuffix("_product") for bucket in buckets]
    shown = table("operator", "product", "kind", *heads, right=tuple(heads))
    rows: dict[tuple[str, str, str], dict[str, int]] = {}
    for entry in counts:
        rows.setdefault((entry["op"], entry["product"], entry["kind"]), {})[entry["bucket"]] = (
            entry["cases"]
        )
    before = ("", "")
    for (op, product, kind), cells in rows.items():
        new = (op != before[0], (op, product) != before)
        shown.add_row(
            literal(op) if new[0] else "",
            product if new[1] else "",
            kind,
            *(str(cells.get(bucket, "")) for bucket in buckets),
        )
        before = (op, product)
    _print(out, shown)


def show_case(out: Console, case: Plain) -> None:
    """One case: what it is for, the call, both answers, the tensors."""
    out.print(
        f"[bold]{literal(case['id'])}[/]  {case['kind']}, phase {case['phase']}", soft_wrap=True
    )
    out.print(
        f"{literal(case['op'])} on {case['product']}"
        + (f": {literal(case['intent'])}" if case["intent"] else ""),
        soft_wrap=True,
    )
    page, library = case["page"], case["library"]
    answers = table("source", "may answer", "why")
    answers.add_row("page", _codes(page["codes"]), page["bucket"])
    if library:
        answers.add_row(
            "library", _codes(library["codes"]), f"{library['basis']}, release {library['release']}"
        )
    _print(out, answers)
    if page["breaks"]:
        breaks = table("breaks rule", "clause", "line", "found", right=("line",))
        for broken in page["breaks"]:
            breaks.add_row(
                broken["rule"],
                broken["clause"] or "",
                str(broken["at"] or ""),
                literal(broken["found"]),
            )
        _print(out, breaks)
    facts = {
        name: case[name]
        for name in ("recipe", "compute", "nearest_valid", "inconclusive")
        if case[name]
    }
    if facts:
        out.print(
            "  ".join(f"{name}: {literal(value)}" for name, value in facts.items()), soft_wrap=True
        )
    arguments = table("argument", "value")
    for name, value in case["args"].items():
        arguments.add_row(name, _argument(value))
    _print(out, arguments)
    _tensors(out, case["tensors"])


def show_answers(out: Console, summary: Plain) -> None:
    """The header of a results file, and the statuses that were answered."""
    out.print(
        f"[bold]{literal(summary['file'])}[/]  {size(summary['bytes'])},"
        f" {counted(summary['cases'], 'case')}",
        soft_wrap=True,
    )
    for name, value in {**summary["header"], "digest": summary["digest"]}.items():
        if name not in ("format", "format_version") and value != "":
            out.print(f"{literal(name.removesuffix('_version'))}: {literal(value)}", soft_wrap=True)
    shown = table("first phase", "second phase", "cases", right=("cases",))
    for count in summary["counts"]:
        shown.add_row(_status(count["status"]), _status(count["run_status"]), str(count["cases"]))
    _print(out, shown)


def show_answer(out: Console, answer: Plain) -> None:
    """One case's answer: statuses, what the backend said, the outputs."""
    took = "" if answer["time"] is None else f", {answer['time']:.6g} s"
    phases = (
        f"first phase {_status(answer['status'])}, second phase {_status(answer['run_status'])}"
    )
    out.print(f"[bold]{literal(answer['id'])}[/]  {phases}{took}", soft_wrap=True)
    if answer["error"]:
        out.print(literal(answer["error"]), soft_wrap=True)
    _tensors(out, answer["tensors"])


def _status(status: object) -> str:
    return "-" if status is None else literal(status)


def _tensors(out: Console, held: list[Plain]) -> None:
    """What tensors hold, a row each."""
    if held:
        tensors = table(
            "data",
            "role",
            "stored as",
            "least",
            "greatest",
            "first values",
            right=("least", "greatest"),
        )
        for tensor in held:
            more = " ..." if prod(tensor["shape"]) > len(tensor["first"]) else ""
            tensors.add_row(
                tensor["name"],
                tensor["role"],
                f"{tensor['dtype']} {_list(tensor['shape'])}",
                _number(tensor["least"]),
                _number(tensor["greatest"]),
                " ".join(map(_number, tensor["first"])) + more,
            )
        _print(out, tensors)


def _print(out: Console, shown: Table) -> None:
    """A table with air around it."""
    out.print(shown)
    out.print()


def _codes(codes: list[object]) -> str:
    return " or ".join(map(str, codes))


def _list(values: list[object]) -> str:
    return "\\[" + ", ".join(map(str, values)) + "]"


def _argument(value: Any) -> str:
    """An argument on one line, as the page's words have it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return _list([str(item).lower() if isinstance(item, bool) else item for item in value])
    if not isinstance(value, dict):
        return literal(value)
    text = f"{value['dtype']} {value['format']} {_list(value['shape'])}"
    if value.get("strides") is not None:
        text += f" strides {_list(value['strides'])}"
    if value.get("offset"):
        text += f" offset {value['offset']}"
    if value.get("storage_shape") is not None:
        text += f" storage {_list(value['storage_shape'])}"
    if value.get("range") is not None:
        text += f" range {_list(value['range'])}"
    return text


def _number(value: object) -> str:
    """A number in six digits; a complex one by its parts."""
    if value is None:
        return "-"
    if isinstance(value, list):
        return f"({_number(value[0])},{_number(value[1])})"
    return value if isinstance(value, str) else f"{value:.6g}"
