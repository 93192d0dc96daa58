"""A bundle from what is asked for: enumerated, computed and written in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opgen.generation import engine, processes
from opgen.generation.header import header
from opgen.suite.selection import Request, remarks
from opgen.suite.suite import Suite


@dataclass(frozen=True)
class GeneratedBundle:
    """A bundle that was written: its file, how many cases it has, how many of them have data, and
    the digest of the whole file.

    ``remarks`` are what a person should know of it, ``without_data`` says for each case whose call
    is accepted, and that has no data all the same, why.
    """

    path: Path
    cases: int
    with_data: int
    digest: str
    remarks: tuple[str, ...]
    without_data: Mapping[str, str]


def generate(
    operators: Sequence[str] = (),
    *,
    products: Sequence[str] = (),
    plan: str = "smoke",
    calls: str | Path = "",
    recipe: str = "",
    seed_calls: str | Path = "",
    cases: Sequence[str] = (),
    shard: str = "",
    seed: int = 0,
    output: str | Path = "",
    force: bool = False,
    resume: bool = False,
    workers: int | None = None,
    dask: str = "",
    progress: Callable[[int], None] | None = None,
) -> GeneratedBundle:
    """Write a bundle of test cases, as ``opgen generate`` does.

    ``operators`` go by either name; none are all. ``plan`` is a tier or a file; ``calls`` is a file
    of calls, and then each call is one case. ``cases`` are ids or patterns. ``output`` is by
    default ``opgen-PLAN.h5``. ``workers`` processes compute, by default one per core; the bytes do
    not depend on them. ``progress`` is told how many more cases are done. Raises FileError where
    something that is asked for does not exist, and BundleError where the file cannot be written.

    >>> import opgen, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = opgen.generate(
    ...         ["reflection_pad1d_backward"], output=f"{folder}/pad.h5", workers=1
    ...     )
    >>> made.path.name, made.cases == made.with_data
    ('pad.h5', True)
    """
    request = Request(operators, products, plan, str(calls), cases, shard, str(seed_calls), recipe)
    suite = request.suite(processes.mapped(workers))
    return write_suite(
        request,
        suite,
        output or f"opgen-{request.name}.h5",
        seed=seed,
        workers=workers,
        dask=dask,
        force=force,
        resume=resume,
        progress=progress,
    )


def write_suite(
    request: Request,
    suite: Suite,
    output: str | Path,
    *,
    seed: int = 0,
    workers: int | None = None,
    **rest: Any,
) -> GeneratedBundle:
    """Compute the suite of a request and write its bundle; ``rest`` is for
    :func:`opgen.generation.engine.write`.
    """
    digest = engine.write(
        suite,
        output,
        header(request, suite, seed),
        seed=seed,
        workers=workers or processes.cores(),
        **rest,
    )
    return GeneratedBundle(
        Path(output),
        len(suite.cases),
        int((suite.cases.phase == 2).sum()),
        digest,
        tuple(remarks(request, suite)),
        suite.without_data,
    )
