"""The spec files of a folder: which they are, read whole, and whether they agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from opgen.calls.vocabulary import vocabulary
from opgen.files.gc_pause import gc_paused
from opgen.model import FileError, Problem, collecting
from opgen.spec import specfile
from opgen.spec.spec import Spec

TABLES = ("sizes.yaml", "tables.yaml")
"""The files of a folder of specs that speak of several operators."""


def spec_files(folder: Path) -> Iterable[Path]:
    """The spec files of a folder: every YAML file but the shared tables."""
    return (path for path in sorted(folder.glob("*.yaml")) if path.name not in TABLES)


@gc_paused()
def read_specs(paths: Sequence[Path], digests: bool = True) -> list[Spec]:
    """The specs of some files; FileError with all problems of all of them."""
    specs: list[Spec] = []
    problems: list[Problem] = []
    for path in paths:
        with collecting(problems):
            specs.append(specfile.load(path, f"specs/{path.name}", digests))
    if not problems:
        problems = list(disagreements(specs))
    if problems:
        raise FileError(problems)
    return specs


def disagreements(specs: Sequence[Spec]) -> Iterable[Problem]:
    """Pages of one operator must share the prototype, and those of one edition share out the
    products among them.
    """
    first = {spec.api: spec for spec in reversed(specs)}
    for spec in specs:
        if list(spec.kinds.items()) != list(first[spec.api].kinds.items()):
            text = f"another prototype than in {first[spec.api].file}"
            yield Problem(spec.file, None, spec.api, text)
    for api, edition in dict.fromkeys((spec.api, spec.edition) for spec in specs):
        pages = [spec for spec in specs if (spec.api, spec.edition) == (api, edition)]
        for product in vocabulary().known_to_every_page:
            judges = [spec.file for spec in pages if product in spec.judges]
            if len(judges) != 1:
                by = ", ".join(judges) or "no page"
                text = f"{product} is judged by {by}; exactly one is needed (key 'judges')"
                yield Problem(pages[0].file, None, api, text)
