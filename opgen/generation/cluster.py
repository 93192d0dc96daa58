"""Batches on a dask.distributed cluster: machines that share nothing but a network and this
package.

Workers compute; this process writes. A batch that a lost worker held is computed again elsewhere,
to the same bytes: every worker shows by fixed computations that its bits are those of this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

from opgen.generation.probes import digests
from opgen.model import FileError
from opgen.suite.batch import Batch

Needs: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The operators' specs and the recipes of all that is computed."""

PATIENCE = "10s"
"""How long to wait for a scheduler to answer."""
_AHEAD = 4
"""Chunks per worker thread that are under way at a time: what bounds memory on every side."""


def computed(
    work: Callable[[list[Batch]], list[Any]],
    cut: Callable[[int], Iterable[list[Batch]]],
    needs: Needs,
    address: str,
    patience: str = PATIENCE,
) -> Iterator[tuple[list[Batch], list[Any]]]:
    """Chunks and their arrays, in the order in which they are done. ``work`` is what a worker does
    with a chunk, ``cut`` gives the chunks for a number of workers, ``patience``
    says how long the scheduler may take to answer.

    Raises FileError where dask is not installed, nobody answers at ``address``, the cluster has no
    worker or keeps losing them, or a worker computes what ``needs`` names to other bits.
    """
    try:
        from distributed import Client, KilledWorker, as_completed
        from distributed.comm import resolve_address
    except ImportError:
        raise FileError.of(
            "`dask`", address, "needs dask.distributed: pip install distributed"
        ) from None
    try:
        client = Client(resolve_address(address), timeout=patience, set_as_default=False)
    except (OSError, ValueError) as error:
        raise FileError.of(
            "`dask`", address, f"no scheduler answers: {error or type(error).__name__}"
        ) from None
    with client:
        threads = sum(
            worker["nthreads"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()
        )
        if not threads:
            raise FileError.of(
                "`dask`", address, "the cluster has no worker; start one with 'dask worker ADDRESS'"
            )
        waiting, expected = iter(cut(threads)), _probed(needs)
        under_way: dict[str, list[Batch]] = {}

        def submit() -> Any:
            chunk = next(waiting, None)
            if chunk is None:
                return None
            future = client.submit(_proven, work, chunk, needs, pure=False, retries=2)
            under_way[future.key] = chunk
            return future

        done = as_completed(
            [
                future
                for future in (submit() for _ in range(_AHEAD * threads))
                if future is not None
            ],
            loop=client.loop,
        )
        for future in done:
            try:
                worker, found, arrays = future.result()
            except KilledWorker:
                text = (
                    "one worker after the other died of the same piece of work; give them more"
                    " memory, or split the suite by `shard`"
                )
                raise FileError.of("`dask`", address, text) from None
            if found != expected:
                unlike = [name for name in expected if found.get(name) != expected[name]]
                text = (
                    f"{worker} has another opgen, numpy or ml_dtypes than this process: other"
                    f" results of {', '.join(unlike)}; install the same there"
                )
                raise FileError.of("`dask`", address, text)
            yield under_way.pop(future.key), arrays
            following = submit()
            if following is not None:
                done.add(following)


def _proven(
    work: Callable[[list[Batch]], list[Any]], chunk: list[Batch], needs: Needs
) -> tuple[str, Mapping[str, str], list[Any]]:
    """On a worker: its name, the digests of what it computed before its first case, its work."""
    from distributed import get_worker

    worker = get_worker()
    return f"worker {worker.name} ({worker.address})", _probed(needs), work(chunk)


@cache
def _probed(needs: Needs) -> Mapping[str, str]:
    return digests(*needs)
