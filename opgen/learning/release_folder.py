"""A user's own second source: a folder of errata, one file for each operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from opgen.learning.agreement import answered
from opgen.learning.errata_text import text
from opgen.learning.lesson import Lesson
from opgen.learning.statuses import Returned, Statuses
from opgen.model import FileError
from opgen.oracle import erratafile
from opgen.oracle.errata import Errata
from opgen.spec.catalog import Catalog


def read_of(release: str, known: Mapping[str, Errata]) -> dict[str, Errata]:
    """The errata of a release that a person read in its sources: they win over what is learnt."""
    return {
        api: own
        for api, own in known.items()
        if own.release == release and not any(page.as_page for page in own.pages.values())
    }


def conflicts(pages: Sequence[Returned], read: Mapping[str, Errata]) -> dict[str, list[str]]:
    """Operator -> the ids of firm calls that returned what its errata do not say."""
    result: dict[str, list[str]] = {}
    for page in pages:
        if page.spec.api in read:
            right, known = answered(page, read[page.spec.api])
            wrong = np.flatnonzero(known & ~right & page.firm).tolist()
            result.setdefault(page.spec.api, []).extend(page.ids[row] for row in wrong)
    return result


def write(
    folder: Path,
    lessons: Mapping[str, Sequence[Lesson]],
    statuses: Statuses,
    release: str,
    pages: Catalog,
    force: bool = False,
) -> list[Path]:
    """Write the errata of each operator as ``FOLDER/OP.yaml``; raises FileError where one is there
    already, unless ``force``: what people wrote in it stays with entries that say the same.
    """
    names = {api: folder / f"{own[0].returned.spec.op}.yaml" for api, own in lessons.items()}
    there = [path for path in names.values() if path.exists()]
    if there and not force:
        raise FileError.of(str(there[0]), "", "exists already; give --force to replace it")
    before = {api: erratafile.form(path) for api, path in names.items() if path in there}
    texts = {api: text(own, statuses, release, before.get(api)) for api, own in lessons.items()}
    for api, content in texts.items():
        erratafile.loads(content, pages, str(names[api]))
    folder.mkdir(parents=True, exist_ok=True)
    for api, content in texts.items():
        names[api].write_text(content, encoding="utf-8")
    return list(names.values())
