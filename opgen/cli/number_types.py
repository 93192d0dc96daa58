"""Numbers on a command line."""

from __future__ import annotations

from math import isfinite

import click


class Number(click.FloatRange):
    """A finite number, within limits."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number
