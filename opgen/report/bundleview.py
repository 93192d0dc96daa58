"""How a bundle, a results file and their cases look in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.text import Text

from opgen.model import BUCKETS, size
from opgen.report.layout import Paragraph, TextTable, show
from opgen.report.terminal import argument_text, counted, literal

if TYPE_CHECKING:
    from rich.console import Console

Plain: TypeAlias = Mapping[str, Any]
"""What :mod:`opgen.bundle.results.summary` says, as JSON has it."""


def show_summary(out: Console, summary: Plain) -> None:
    """The header, cases per operator, product and bucket, bytes per dtype, the largest cases."""
    header = summary["header"]
    about = (
        f"{size(summary['bytes'])}, {counted(summary['cases'], 'case')},"
        f" {summary['with_data']} with data, {summary['inconclusive']} inconclusive"
        " on any device"
    )
    _line(out, f"[bold]{literal(summary['file'])}[/]  {about}")
    names = ("plan", "shard", "seed", "opgen_version", "format_version")
    facts = {name.removesuffix("_version"): header.get(name, "") for name in names}
    facts["digest"] = summary["digest"]
    _line(out, "  ".join(f"{name} {literal(x)}" for name, x in facts.items() if x != ""))
    _counts(out, summary["counts"])
    data = ((name, size(count)) for name, count in summary["data"].items())
    _table(out, "data of dtype", "bytes", rows=data, right=("bytes",))
    recipes = (f"{name or 'no data'} {count}" for name, count in summary["recipes"].items())
    _line(out, f"recipes: {', '.join(recipes)}")
    if summary["largest"]:
        _line(out, "largest cases:")
        for case in summary["largest"]:
            show(out, Paragraph(case["id"], f"{size(case['bytes']):>8}", 10))


def _counts(out: Console, counts: list[Plain]) -> None:
    """A row per operator, product and kind, a column per bucket that occurs."""
    buckets = [bucket for bucket in BUCKETS if any(entry["bucket"] == bucket for entry in counts)]
    heads = tuple(bucket.removesuffix("_product") for bucket in buckets)
    cells: dict[tuple[str, str, str], dict[str, int]] = {}
    for entry in counts:
        key = entry["op"], entry["product"], entry["kind"]
        cells.setdefault(key, {})[entry["bucket"]] = entry["cases"]
    rows, before = [], ("", "")
    for (op, product, kind), by_bucket in cells.items():
        named = (
            op if op != before[0] else "",
            product if (op, product) != before else "",
        )
        rows.append([*named, kind, *(by_bucket.get(bucket, "") for bucket in buckets)])
        before = (op, product)
    _table(out, "operator", "product", "kind", *heads, rows=rows, right=heads)


def show_case(out: Console, case: Plain) -> None:
    """One case: what it is for, the call, both answers, the tensors."""
    _line(out, f"[bold]{literal(case['id'])}[/]  {case['kind']}, phase {case['phase']}")
    intent = f": {literal(case['intent'])}" if case["intent"] else ""
    _line(out, f"{literal(case['op'])} on {case['product']}{intent}")
    page, library = case["page"], case["library"]
    answers = [("page", _codes(page["codes"]), page["bucket"])]
    if library:
        basis = f"{library['basis']}, release {library['release']}"
        answers.append(("library", _codes(library["codes"]), basis))
    _table(out, "source", "may answer", "why", rows=answers)
    if page["breaks"]:
        breaks = (
            (
                broken["rule"],
                broken["clause"] or "",
                broken["at"] or "",
                broken["requires"],
                broken["found"],
            )
            for broken in page["breaks"]
        )
        broken_heads = ("breaks rule", "clause", "line", "requires", "found")
        _table(out, *broken_heads, rows=breaks, right=("line",))
    names = ("recipe", "compute", "nearest_valid", "inconclusive")
    facts = [f"{name.replace('_', ' ')}: {literal(case[name])}" for name in names if case[name]]
    if facts:
        _line(out, "  ".join(facts))
    args, near = case["args"], case["differs"]
    columns = [list(args), [argument_text(value) for value in args.values()]]
    if near:
        columns.append([argument_text(near[name]) if name in near else "" for name in args])
    heads = ("argument", "value", "nearest valid")[: len(columns)]
    _table(out, *heads, rows=zip(*columns, strict=True))
    _tensors(out, case["tensors"])


def show_answers(out: Console, summary: Plain) -> None:
    """The header of a results file, and the statuses that were answered."""
    about = f"{size(summary['bytes'])}, {counted(summary['cases'], 'case')}"
    _line(out, f"[bold]{literal(summary['file'])}[/]  {about}")
    for name, value in {**summary["header"], "digest": summary["digest"]}.items():
        if name not in ("format", "format_version") and value != "":
            _line(out, f"{literal(name.removesuffix('_version'))}: {literal(value)}")
    rows = (
        (_status(count["status"]), _status(count["run_status"]), count["cases"])
        for count in summary["counts"]
    )
    _table(out, "first phase", "second phase", "cases", rows=rows, right=("cases",))


def show_answer(out: Console, answer: Plain) -> None:
    """One case's answer: statuses, what the backend said, the outputs."""
    took = "" if answer["time"] is None else f", {answer['time']:.6g} s"
    first, second = _status(answer["status"]), _status(answer["run_status"])
    phases = f"first phase {first}, second phase {second}{took}"
    _line(out, f"[bold]{literal(answer['id'])}[/]  {literal(phases)}")
    if answer["error"]:
        _line(out, literal(answer["error"]))
    _tensors(out, answer["tensors"])


def _status(status: object) -> str:
    return "-" if status is None else str(status)


def _tensors(out: Console, tensors: list[Plain]) -> None:
    """What tensors hold, a row each."""
    rows = (
        (
            tensor["name"],
            tensor["role"],
            f"{tensor['dtype']} {tensor['shape']}",
            _number(tensor["least"]),
            _number(tensor["greatest"]),
            " ".join(map(_number, tensor["first"]))
            + (" ..." if prod(tensor["shape"]) > len(tensor["first"]) else ""),
        )
        for tensor in tensors
    )
    if tensors:
        heads = ("data", "role", "stored as", "least", "greatest", "first values")
        _table(out, *heads, rows=rows, right=("least", "greatest"))


def _line(out: Console, text: str) -> None:
    """A sentence in rich's markup."""
    show(out, Paragraph(Text.from_markup(text, emoji=False)))


def _table(
    out: Console, *heads: str, rows: Iterable[Iterable[object]], right: tuple[str, ...] = ()
) -> None:
    """A table with air below it."""
    show(out, TextTable(*heads, rows=rows, right=right), apart=True)


def _codes(codes: list[object]) -> str:
    return " or ".join(map(str, codes))


def _number(value: object) -> str:
    """A number in six digits; a complex one by its parts."""
    if value is None:
        return "-"
    if isinstance(value, list):
        return f"({_number(value[0])},{_number(value[1])})"
    return value if isinstance(value, str) else f"{value:.6g}"
