"""Covering arrays under constraints: few rows that contain every feasible t-tuple of factor values.

Knows nothing of operators: a factor is a number of levels, a constraint is a table of allowed
combinations. :func:`cover` makes rows; :func:`count` counts what rows cover by code of its own, so
that neither vouches for itself; :func:`explain` names the tables that rule a tuple out.
"""

from __future__ import annotations

from opgen.suite.covering.counter import count, explain
from opgen.suite.covering.cover import cover
from opgen.suite.covering.model import STRONGEST, Model, Tally, tuples_asked

__all__ = ["STRONGEST", "Model", "Tally", "count", "cover", "explain", "tuples_asked"]
