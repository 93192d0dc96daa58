"""The collector of cyclic garbage, where it would only cost."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Many small objects without a cycle: the collector would look at all of them again and
    again.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # and thawed they count as old, so that the next collection of young objects passes them by
        gc.freeze()
        gc.unfreeze()
        if was:
            gc.enable()
