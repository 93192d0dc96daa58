"""A bundle from what is asked for: enumerated, computed and written in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opgen.generation import engine, processes
from opgen.generation.header import header
from opgen.generation.resources import fitting
from opgen.generation.sampling import USUAL
from opgen.model import FileError, natural
from opgen.suite.remarks import remarks
from opgen.suite.selection import Request
from opgen.suite.suite import Suite

INPUTS = ("stored", "seeded")
"""What a bundle holds of inputs: all, or what cannot be drawn again from the seed."""


def samples_of(golden: str) -> int:
    """How many elements of an output are looked at; 0: all.

    >>> samples_of("whole"), samples_of("sampled"), samples_of("sampled:300")
    (0, 1024, 300)
    """
    word, colon, count = golden.partition(":")
    number = natural(count) if colon else USUAL
    if golden == "whole":
        return 0
    if word != "sampled" or not number:
        raise FileError.of("`golden`", golden, "expects whole, sampled or sampled:N")
    return number


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
    where: str = "",
    shard: str = "",
    edition: str = "",
    library: str | Path = "",
    seed: int = 0,
    output: str | Path = "",
    force: bool = False,
    resume: bool = False,
    workers: int | None = None,
    dask: str = "",
    skip_too_large: bool = False,
    inputs: str = "stored",
    golden: str = "whole",
    progress: Callable[[int], None] | None = None,
) -> GeneratedBundle:
    """Write a bundle of test cases, as ``opgen generate`` does.

    * ``operators``: names of either form, ``aclnnAvgPool2dBackward`` or ``avg_pool2d_backward``; by
      default all.
    * ``plan``: a tier, such as ``standard``, or the path of a plan.
    * ``calls``: the path of a call file. Each call becomes one case, and the plan is not used.
    * ``cases``: ids or patterns, to write only some cases; ``where``: a condition that they meet.
    * ``edition``: the edition of the pages, such as ``2026-08``; by default, for each product,
      its oldest.
    * ``library``: a release, or a folder of errata, that says what the library answers; by default
      all that opgen ships.
    * ``skip_too_large``: keep calls whose data do not fit into memory, and check only their status.
      Without it, such calls are refused.
    * ``inputs``: ``seeded`` leaves out of the file what readers can draw again from its seed.
    * ``golden``: ``sampled`` or ``sampled:N`` computes at most N elements of each output.
    * ``output``: the path of the bundle; by default ``opgen-PLAN.h5``.
    * ``workers``: the number of processes, by default one per core. It does not change the bytes.
    * ``progress``: called with the number of cases that were finished since the last call.

    Raises FileError if something that you ask for does not exist, and BundleError if the file
    cannot be written.

    >>> import opgen, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = opgen.generate(
    ...         ["reflection_pad1d_backward"], output=f"{folder}/pad.h5", workers=1
    ...     )
    >>> made.path.name, made.cases > made.with_data > 0
    ('pad.h5', True)
    """
    request = Request(
        operators,
        products,
        plan,
        str(calls),
        cases,
        shard,
        str(seed_calls),
        recipe,
        edition,
        str(library),
        where,
    )
    suite = request.suite(processes.mapped(workers))
    if request.files:
        asked = skip_too_large, samples_of(golden), inputs == "seeded"
        suite = fitting(suite, request.calls, *asked)
    return write_suite(
        request,
        suite,
        output or f"opgen-{request.name}.h5",
        seed=seed,
        workers=workers,
        dask=dask,
        force=force,
        resume=resume,
        inputs=inputs,
        golden=golden,
        progress=progress,
    )


def write_suite(
    request: Request,
    suite: Suite,
    output: str | Path,
    *,
    seed: int = 0,
    inputs: str = "stored",
    golden: str = "whole",
    workers: int | None = None,
    **rest: Any,
) -> GeneratedBundle:
    """Compute the suite of a request and write its bundle; ``rest`` is for
    :func:`opgen.generation.engine.write`.
    """
    if inputs not in INPUTS:
        raise FileError.of("`inputs`", inputs, f"expects one of {', '.join(INPUTS)}")
    seeded, samples = inputs == "seeded", samples_of(golden)
    return GeneratedBundle(
        Path(output),
        len(suite.cases),
        int((suite.cases.phase == 2).sum()),
        engine.write(
            suite,
            output,
            header(request, suite, seed, seeded, samples),
            seed=seed,
            seeded=seeded,
            samples=samples,
            workers=workers or processes.cores(),
            **rest,
        ),
        (*remarks(request, suite), *map(str, suite.left_out)),
        suite.without_data,
    )
