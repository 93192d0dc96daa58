"""Checking files that people write: specs, plans, errata and sizes, all their problems at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opgen.files import yamlfile
from opgen.files.resources import cases_folder, specs_folder
from opgen.generation.kernels import whole
from opgen.lint.facts import Difference, differences
from opgen.model import FileError, Problem, collecting
from opgen.oracle import erratafile
from opgen.oracle.errata import Errata
from opgen.spec import specfile
from opgen.spec.catalog import Catalog, load_catalog
from opgen.spec.sizes import FILE as SIZES_FILE
from opgen.spec.sizes import Sizes
from opgen.spec.spec import Spec
from opgen.spec.spec_folder import disagreements, spec_files
from opgen.suite.planning.plan import Plan, load_plan
from opgen.suite.planning.plan_check import checked_plan

TELLING_KEYS: Mapping[str, tuple[str, ...]] = {
    "spec": ("parameters", "returns", "page"),
    "plan": ("axes", "tiers", "op"),
    "errata": ("stages", "tolerates", "release"),
    "sizes": ("general", "relations", "operators"),
}
"""What a file is -> keys that only such files have at their top."""


@dataclass
class Checked:
    """What was read, and every problem found on the way."""

    specs: list[Spec] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    errata: list[Errata] = field(default_factory=list)
    sizes: list[Sizes] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def differences(self) -> dict[str, tuple[list[Spec], list[Difference]]]:
        """Operator -> its pages and where they differ, for operators with several pages among those
        checked.
        """
        pages = {
            spec.api: [other for other in self.specs if other.api == spec.api]
            for spec in self.specs
        }
        return {api: (specs, differences(specs)) for api, specs in pages.items() if len(specs) > 1}


def check(paths: Iterable[Path] = ()) -> Checked:
    """Read the given files, or everything that opgen ships; plans and errata are compared with the
    specs.

    Specs among ``paths`` take the place of shipped ones of the same name.
    """
    paths = list(paths)
    checked = Checked()
    files = {kind: [] for kind in TELLING_KEYS} if paths else _shipped()
    for path in paths:
        with collecting(checked.problems):
            files[_kind_of(path, str(path))].append((path, str(path)))
    for path, shown in files["spec"]:
        with collecting(checked.problems):
            checked.specs.append(specfile.load(path, shown))
    catalog = _catalog(checked, paths)
    for path, shown in files["plan"]:
        with collecting(checked.problems):
            checked.plans.append(
                load_plan(path, shown) if catalog is None else checked_plan(path, catalog, shown)
            )
    if catalog is not None:
        for path, shown in files["errata"]:
            with collecting(checked.problems):
                checked.errata.append(erratafile.load(path, catalog, shown))
        for path, shown in files["sizes"]:
            with collecting(checked.problems):
                checked.sizes.append(Sizes(yamlfile.read(path, shown)))
                checked.sizes[-1].check(catalog.specs)
    if not paths:
        _check_completeness(checked)
    return checked


def _check_completeness(checked: Checked) -> None:
    """Every operator that has a spec has a kernel, unless only its statuses are checked."""
    for op in {spec.op: None for spec in checked.specs if not spec.status_only}:
        with collecting(checked.problems):
            whole(op)


def _shipped() -> dict[str, list[tuple[Path, str]]]:
    """Kind -> the files that opgen ships, and what messages call them."""
    specs, errata = specs_folder(), sorted((specs_folder() / "errata").glob("*.yaml"))
    return {
        "spec": [(path, f"specs/{path.name}") for path in spec_files(specs)],
        "plan": [(path, f"cases/{path.name}") for path in sorted(cases_folder().glob("*.yaml"))],
        "errata": [(path, f"specs/errata/{path.name}") for path in errata],
        "sizes": [(specs / SIZES_FILE, f"specs/{SIZES_FILE}")],
    }


def _kind_of(path: Path, shown: str) -> str:
    """spec, plan, errata or sizes, by the keys at the top; FileError where it is none of them."""
    data = yamlfile.read(path, shown).data
    top = data if isinstance(data, dict) else {}
    votes = {kind: sum(key in top for key in keys) for kind, keys in TELLING_KEYS.items()}
    best = max(votes, key=lambda kind: votes[kind])
    if not votes[best]:
        known = "; ".join(f"a {kind} has {', '.join(keys)}" for kind, keys in TELLING_KEYS.items())
        raise FileError(
            [Problem(shown, None, "", f"is not a spec, plan, errata or sizes file: {known}")]
        )
    return best


def _catalog(checked: Checked, paths: Sequence[Path]) -> Catalog | None:
    """The specs to hold plans and errata against; None where a spec is broken, so that no problem
    is said twice.
    """
    names, given = {spec.name for spec in checked.specs}, {path.resolve() for path in paths}
    shipped: list[Spec] = []
    try:
        if paths:
            shipped = [
                spec for spec in load_catalog(specs_folder()).whole if spec.name not in names
            ]
    except FileError as error:
        checked.problems += [
            problem
            for problem in error.problems
            if (specs_folder() / Path(problem.file).name).resolve() not in given
        ]
        return None
    kept = [spec for spec in shipped if spec.name not in names]
    known = Catalog.of_all([*checked.specs, *kept])
    checked.problems += disagreements(known.whole)
    return None if checked.problems else known
