"""What completes the arguments of commands in a shell."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from opgen.model import CALL_PLANS, TIERS


def complete_operators(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Both names of every operator."""
    from opgen.spec.catalog import catalog

    names = (*catalog().operators, *catalog().kinds)
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def complete_products(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The products of the shared tables."""
    from opgen.calls.vocabulary import vocabulary

    return [CompletionItem(name) for name in vocabulary().products if name.startswith(incomplete)]


def complete_plans(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The tiers; then files."""
    tiers = [CompletionItem(tier) for tier in (*TIERS, *CALL_PLANS) if tier.startswith(incomplete)]
    return tiers or [CompletionItem(incomplete, type="file")]


def complete_cases(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The ids of a bundle or results file that is named on the same line."""
    path = next((ctx.params[key] for key in ("file", "bundle") if ctx.params.get(key)), None)
    if path is None:
        return []
    import opgen
    from opgen.bundle.read.opening import kind_of

    try:
        with (opgen.Results if kind_of(path) == "results" else opgen).open(path) as held:
            return [CompletionItem(name) for name in held.ids if name.startswith(incomplete)]
    except (OSError, opgen.BundleError):
        return []
