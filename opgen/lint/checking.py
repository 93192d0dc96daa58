"""Checking files that people write: specs, plans and errata, all their problems at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opgen.files import yamlfile
from opgen.files.resources import cases_folder, specs_folder
from opgen.generation.kernels import whole
from opgen.lint.facts import Difference, differences
from opgen.model import FileError, Problem
from opgen.oracle import erratafile
from opgen.oracle.errata import Errata
from opgen.spec import specfile
from opgen.spec.catalog import Catalog, disagreements, load_catalog, spec_files
from opgen.spec.spec import Spec
from opgen.suite.planning.fitting import fitting_plan
from opgen.suite.planning.plan import Plan, load_plan

SIGNS: Mapping[str, tuple[str, ...]] = {
    "spec": ("parameters", "returns", "page"),
    "plan": ("axes", "tiers", "op"),
    "errata": ("stages", "tolerates", "release"),
}
"""What a file is -> keys that only such files have at their top."""


@dataclass
class Checked:
    """What was read, and every problem found on the way."""

    specs: list[Spec] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    errata: list[Errata] = field(default_factory=list)
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
    """Read the given files, or everything that opgen ships; plans and errata are held against the
    specs.

    Specs among ``paths`` take the place of shipped ones of the same name.
    """
    paths = list(paths)
    found = Checked()
    sorted_out: dict[str, list[tuple[Path, str]]] = {"spec": [], "plan": [], "errata": []}
    for path, shown in [(path, str(path)) for path in paths] or _shipped():
        try:
            sorted_out[_what(path, shown)].append((path, shown))
        except FileError as error:
            found.problems += error.problems
    for path, shown in sorted_out["spec"]:
        try:
            found.specs.append(specfile.load(path, shown))
        except FileError as error:
            found.problems += error.problems
    catalog = _catalog(found, paths)
    for path, shown in sorted_out["plan"]:
        _plan(path, shown, catalog, found)
    if catalog is not None:
        for path, shown in sorted_out["errata"]:
            try:
                found.errata.append(erratafile.load(path, catalog, shown))
            except FileError as error:
                found.problems += error.problems
    if not paths:
        planned = {Path(plan.file).stem for plan in found.plans} | {
            Path(problem.file).stem for problem in found.problems
        }
        missing = {spec.op: None for spec in found.specs if spec.op not in planned}
        found.problems += [
            Problem(f"cases/{op}.yaml", None, "", "is missing: a spec needs a plan of what to try")
            for op in missing
        ]
        for op in {spec.op: None for spec in found.specs}:
            try:
                whole(op)
            except FileError as error:
                found.problems += error.problems
    return found


def _shipped() -> list[tuple[Path, str]]:
    specs, cases = specs_folder(), cases_folder()
    files = [(path, f"specs/{path.name}") for path in spec_files(specs)]
    files += [
        (path, f"specs/errata/{path.name}") for path in sorted((specs / "errata").glob("*.yaml"))
    ]
    return files + [(path, f"cases/{path.name}") for path in sorted(cases.glob("*.yaml"))]


def _what(path: Path, shown: str) -> str:
    """spec, plan or errata, by the keys at the top; FileError where it is none of them."""
    data = yamlfile.read(path, shown).data
    keys = data if isinstance(data, dict) else {}
    votes = {what: sum(key in keys for key in signs) for what, signs in SIGNS.items()}
    best = max(votes, key=lambda what: votes[what])
    if not votes[best]:
        known = "; ".join(f"a {what} has {', '.join(signs)}" for what, signs in SIGNS.items())
        raise FileError([Problem(shown, None, "", f"is no spec, plan or errata file: {known}")])
    return best


def _catalog(found: Checked, paths: Sequence[Path]) -> Catalog | None:
    """The specs to hold plans and errata against; None where a spec is broken, so that no problem
    is said twice.
    """
    names, given = {spec.name for spec in found.specs}, {path.resolve() for path in paths}
    try:
        shipped = (
            [spec for spec in load_catalog(specs_folder()).specs if spec.name not in names]
            if paths
            else []
        )
    except FileError as error:
        found.problems += [
            one
            for one in error.problems
            if (specs_folder() / Path(one.file).name).resolve() not in given
        ]
        return None
    specs = sorted([*found.specs, *shipped], key=lambda spec: spec.name)
    found.problems += disagreements(specs)
    return None if found.problems else Catalog(tuple(specs))


def _plan(path: Path, shown: str, catalog: Catalog | None, found: Checked) -> None:
    """A plan, and whether every tier of it fits every page of its operator."""
    try:
        found.plans.append(
            load_plan(path, shown) if catalog is None else fitting_plan(path, catalog, shown)
        )
    except FileError as error:
        found.problems += error.problems
