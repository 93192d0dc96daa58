"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias

import click

from opgen.cli.completion import (
    complete_cases,
    complete_operators,
    complete_plans,
    complete_products,
)
from opgen.cli.number_types import Number
from opgen.cli.paths import OutputPath, PlanPath
from opgen.model import CALL_PLANS, GUARD, TIME_LIMIT, USUAL

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


def examples(*lines: str) -> str:
    """The block of examples at the end of a command's help; tests run each line that starts with
    ``opgen``.

    A comment ``# exit 1`` says how the command ends where that is not 0.
    """
    return "\b\nExamples:\n" + "\n".join(f"  $ {line}" for line in lines)


def only_one(**given: object) -> None:
    """UsageError where more than one of some options is given that say the same in other ways, by
    the names of their parameters.
    """
    told = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if len(told) > 1:
        raise click.UsageError(f"{' and '.join(told)}: give only one of them")


def operators_argument(type: click.Path | None = None) -> Decorator:
    """``[OP ...]``: operators by either of their names, or what else ``type`` says."""
    return click.argument(
        "operators", metavar="[OP]...", nargs=-1, type=type, shell_complete=complete_operators
    )


def file_argument(name: str, metavar: str = "FILE") -> Decorator:
    """A file that exists, such as a ``BUNDLE``."""
    return click.argument(name, metavar=metavar, type=click.Path(exists=True, dir_okay=False))


def product_option() -> Decorator:
    """``--product P``, repeatable."""
    return click.option(
        "--product",
        "products",
        metavar="P",
        multiple=True,
        shell_complete=complete_products,
        help="Only this product (repeatable); opgen ops lists them.",
    )


def edition_option() -> Decorator:
    """``--edition E``."""
    return click.option(
        "--edition",
        metavar="E",
        default="",
        help="Judge by this edition of the pages.  [default: for each product, its oldest]",
    )


def library_option(what: str) -> Decorator:
    """``--library NAME|DIR``."""
    return click.option("--library", metavar="NAME|DIR", default="", help=what)


def plan_option(default: str = "smoke") -> Decorator:
    """``--plan smoke|standard|full|models|determinism|FILE``."""
    return click.option(
        "--plan",
        metavar="|".join((*USUAL, *CALL_PLANS, "FILE")),
        type=PlanPath(),
        default=default,
        show_default=True,
        shell_complete=complete_plans,
        help=(
            "How much to try. models: layers of known networks. determinism: long sums, whose order"
            " may vary. Or a plan of your own: FILE stands for its first tier, FILE::TIER for"
            " another. Or a call file, *.jsonl."
        ),
    )


def seed_option() -> Decorator:
    """``--seed N``."""
    return click.option(
        "--seed",
        metavar="N",
        type=click.IntRange(0, 2**63 - 1),
        default=0,
        show_default=True,
        help="Seed of the random data.",
    )


def case_option(name: str = "cases", what: str = "these cases") -> Decorator:
    """``--case ID|GLOB``, repeatable."""
    return click.option(
        "--case",
        name,
        metavar="ID|GLOB",
        multiple=True,
        shell_complete=complete_cases,
        help=f"Only {what} (repeatable); * ? [] are wildcards.",
    )


def where_option() -> Decorator:
    """``--where CONDITION``."""
    return click.option(
        "--where",
        metavar="CONDITION",
        default="",
        help=(
            "Only cases for which this is true, such as 'dtype == \"FLOAT16\" and padH > 0'. Names:"
            " the parameters and letters of the operator (see opgen page OP), product, dtype, kind,"
            " recipe, bucket, rule and, where results are given, verdict."
        ),
    )


def suite_options() -> Decorator:
    """What says which cases a suite has: the fields of :class:`opgen.suite.selection.Request`."""
    return _several(
        operators_argument(),
        product_option(),
        edition_option(),
        library_option(
            "Take the library's answers from this release, or from this folder of errata."
        ),
        plan_option(),
        click.option(
            "--calls",
            metavar="FILE",
            type=click.Path(),
            default="",
            help="Make a case of each call in this file, without a plan; - is standard input.",
        ),
        click.option(
            "--recipe",
            metavar="NAME",
            default="",
            help=(
                "How to draw the data of --calls: grid (the default), integers, normal or another"
                " that opgen explain recipes lists."
            ),
        ),
        click.option(
            "--seed-calls",
            metavar="FILE",
            type=click.Path(),
            default="",
            help="Existing calls; opgen adds only what they do not cover.",
        ),
        case_option("patterns", "these cases, and the valid calls nearest to invalid ones"),
        where_option(),
        click.option(
            "--shard", default="", metavar="I/N", help="Only part I of N; each case is in one part."
        ),
    )


def _several(*options: Decorator) -> Decorator:
    """Options in the order in which ``--help`` shows them."""
    return lambda command: reduce(lambda inner, option: option(inner), reversed(options), command)


def backend_options(required: bool = True) -> Decorator:
    """``--backend`` and how its device is run."""
    return _several(
        click.option(
            "--backend",
            metavar="NAME",
            default=None if required else "",
            required=required,
            help="What runs the calls: torch, aclnn, mutant:NAME, cmd:COMMAND or FILE.py:CLASS.",
        ),
        click.option(
            "--device",
            metavar="DEVICE",
            default="",
            help="cpu, cuda or npu:0; by default what the backend picks.",
        ),
        click.option(
            "--timeout",
            metavar="SECONDS",
            type=Number(min=0, min_open=True),
            default=TIME_LIMIT,
            show_default=True,
            help="Time limit for one call; torch and mutants have none.",
        ),
        click.option(
            "--product",
            metavar="P",
            default="",
            shell_complete=complete_products,
            help="The device's product, if it does not say; cases of others are skipped.",
        ),
        click.option(
            "--guard",
            metavar="BYTES",
            type=click.IntRange(min=0),
            default=GUARD,
            show_default=True,
            help="Guard bytes before and after each buffer of aclnn; a multiple of 512.",
        ),
    )


def output_option(
    what: str = "File to write.", metavar: str = "FILE", required: bool = True, dash: bool = False
) -> Decorator:
    """``-o FILE``; as ``metavar`` says, it may be a folder, or, with ``dash``, standard output."""
    kind = OutputPath(folder="DIR" in metavar, file_okay="FILE" in metavar, allow_dash=dash)
    return click.option("-o", "--output", metavar=metavar, type=kind, help=what, required=required)


def force_option(what: str = "Replace an existing file.") -> Decorator:
    """``--force``."""
    return click.option("--force", is_flag=True, help=what)


def json_option(what: str = "Print JSON, for programs.") -> Decorator:
    """``--json``."""
    return click.option("--json", "as_json", is_flag=True, help=what)


def all_option(what: str) -> Decorator:
    """``--all``: everything where a summary would do."""
    return click.option("--all", "everything", is_flag=True, help=what)


def quiet_option(what: str = "Show no messages and no progress.") -> Decorator:
    """``--quiet``."""
    return click.option("-q", "--quiet", is_flag=True, help=what)
