"""The collector of cyclic garbage, where it would only cost."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Many small objects without a cycle: the collector would look at all of them again and
    again.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # thawed they count as old: the next collection of young objects passes them by, which is
        # worth 4 % of reading and judging a file of calls
        gc.freeze()
        gc.unfreeze()
        if was:
            gc.enable()
