"""What a person asks for, found: pages, plans, a tier, calls; and the suite that comes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from opgen.calls.call_json import to_json
from opgen.calls.ids import match_ids, select_ids
from opgen.calls.jsonl import NamedCall, read_calls
from opgen.calls.vocabulary import known_products
from opgen.files.resources import cases_folder
from opgen.model import CALL_PLANS, LONGEST_ID, TIERS, FileError, Problem, did_you_mean, unkept
from opgen.numerics.arrays import Array
from opgen.numerics.recipes import DEFAULT, RECIPES
from opgen.oracle.errata import Errata
from opgen.oracle.errata_folder import errata_of
from opgen.spec.catalog import Catalog, catalog
from opgen.spec.spec import Spec
from opgen.suite.cases_by_condition import where
from opgen.suite.given_calls import call_suite
from opgen.suite.given_data import read_dumps
from opgen.suite.planned_suite import Each, plan_suite
from opgen.suite.planning.plan import Plan
from opgen.suite.planning.plan_check import plans_of, shipped_plan
from opgen.suite.shard import shard, shard_of
from opgen.suite.suite import Suite

CALL_FILES = (".jsonl", ".jsonl.gz")
"""How the names of call files end: ``plan`` takes them too."""


@dataclass(frozen=True)
class Request:
    """A suite as it is asked for: all operators and products of the smoke tier, unless something
    else is said.
    """

    operators: Sequence[str] = ()
    products: Sequence[str] = ()
    plan: str = "smoke"
    calls: str = ""
    patterns: Sequence[str] = ()
    shard: str = ""
    seed_calls: str = ""
    recipe: str = ""
    edition: str = ""
    library: str = ""
    where: str = ""

    def __post_init__(self) -> None:
        """A plan that is a file of calls stands for these calls."""
        if self.plan.endswith(CALL_FILES) and not self.calls:
            object.__setattr__(self, "calls", self.plan)
            object.__setattr__(self, "plan", Request.plan)

    @property
    def name(self) -> str:
        """What a file of this suite is called by default: the tier, the plan file's stem, or
        ``calls``.
        """
        return "calls" if self.calls else Path(self.plan.partition("::")[0]).stem

    @property
    def files(self) -> list[str]:
        """The call files whose calls are the cases: a person's own, or the shipped
        ones of :data:`opgen.model.CALL_PLANS`; none where a plan makes calls.
        """
        if self.calls or self.plan not in CALL_PLANS:
            return [self.calls] if self.calls else []
        return sorted(map(str, (cases_folder() / self.plan).glob("*.jsonl")))

    def suite(self, each: Each = map) -> Suite:
        """Find everything and enumerate, ``each`` page by page; raises FileError where something
        does not exist or nothing is left.
        """
        self.check()
        if self.files:
            suite = self._of_calls(catalog(self.edition))
        else:
            pages, tier = self.pages()
            suite = plan_suite(
                pages,
                tier,
                self.products,
                self.patterns,
                [entry.call for entry, _ in self.given],
                each,
                source=self.errata,
            )
        text = "no case matches the request; opgen cases lists all cases"
        unmet = (
            []
            if self.files
            else [
                pattern
                for pattern, rows in match_ids(suite.cases.id, self.patterns).items()
                if not rows
            ]
        )
        if unmet:
            raise FileError([Problem("`patterns`", None, pattern, text) for pattern in unmet])
        if not len(suite.cases):
            lost = "; ".join(map(str, suite.left_out))
            raise FileError.of(self.calls or "opgen", "", lost or text)
        suite = where(suite, self.where) if self.where else suite
        return shard(suite, self.shard) if self.shard else suite

    def check(self) -> None:
        """Find everything that is named, and enumerate nothing; raises FileError where something
        does not exist.
        """
        known_products(self.products)
        _ = self.errata
        if self.files and self.seed_calls:
            raise FileError.of(
                "`seed_calls`",
                self.seed_calls,
                "is for a plan, not for `calls`; leave one of them out",
            )
        if self.recipe:
            self._recipe()
        if self.shard:
            shard_of(self.shard)
        if not self.files:
            self.pages()
        elif self.plan not in CALL_PLANS:
            plans_of(self.plan, ())  # is not used, but refused where there is none of that name
        _ = self.given

    def pages(self) -> tuple[list[tuple[Spec, Plan]], str]:
        """The pages that are asked for, each with its operator's plan, and the tier."""
        known = catalog(self.edition)
        apis = [known.api(name) for name in self.operators] or list(known.kinds)
        plans, tier = plans_of(self.plan, apis, self.edition)
        others = ", ".join(api for api in apis if api not in plans) if self.operators else ""
        if others and self.plan in TIERS:
            raise FileError.of(
                "`plan`",
                self.plan,
                f"no such tier in the plan of {others}; leave these operators out",
            )
        for plan in plans.values() if others else ():
            raise FileError.of(plan.file, plan.op, f"is a plan of one operator; leave out {others}")
        return [(spec, plans[spec.api]) for spec in known.pages(plans)], tier

    @cached_property
    def errata(self) -> Mapping[str, Errata]:
        """Api -> errata: the library side of the cases."""
        return errata_of(self.library)

    @cached_property
    def given(self) -> list[tuple[NamedCall, Mapping[str, Array]]]:
        """The calls that are asked for or that exist already, with their own tensors; none where a
        plan alone says what is tried.
        """
        known = catalog(self.edition)
        if not self.files:
            return (
                [(entry, {}) for entry in read_calls(self.seed_calls, known.kinds)]
                if self.seed_calls
                else []
            )
        apis = {known.api(name) for name in self.operators}
        calls = [entry for file in self.files for entry in read_calls(file, known.kinds)]
        if not calls:
            raise FileError.of(self.calls, "", "holds no call")
        named = [calls[place] for place in select_ids([entry.id for entry in calls], self.patterns)]
        some = [
            entry
            for entry in named
            if (not apis or entry.call.api in apis)
            and (not self.products or entry.call.product in self.products)
        ]
        problems = [
            Problem(self.calls, entry.line, "", why) for entry in some for why in _faults(entry)
        ]
        if problems:
            raise FileError(problems)
        pages = known.pages({entry.call.api for entry in some})
        outputs = {spec.api: [p.name for p in spec.outputs] for spec in pages}
        return list(zip(some, read_dumps(some, self.calls, outputs), strict=True))

    @property
    def digest(self) -> str:
        """SHA-256 over :attr:`given`, ids, arguments and tensors; empty where nothing is given."""
        digest = sha256()
        for entry, arrays in self.given:
            recipe = [entry.extra["recipe"]] if "recipe" in entry.extra else []
            said = [entry.id, entry.call.api, entry.call.product, to_json(entry.call), *recipe]
            digest.update(json.dumps(said).encode() + b"\n")
            for name, array in sorted(arrays.items()):
                digest.update(name.encode() + array.tobytes())
        return digest.hexdigest() if self.given else ""

    def _of_calls(self, known: Catalog) -> Suite:
        given = {entry.id: arrays for entry, arrays in self.given}
        calls = [entry for entry, _ in self.given]
        page, plan = (
            lambda call: known.by_page[call.api, call.product],
            lambda spec: shipped_plan(spec.api, self.edition),
        )
        return call_suite(
            calls,
            page,
            plan,
            given=given,
            recipe=self.recipe or DEFAULT,
            source=self.errata,
            file=self.calls,
        )

    def _recipe(self) -> None:
        """FileError unless the recipe exists and is for calls."""
        if why := _no_recipe(self.recipe):
            raise FileError.of("`recipe`", self.recipe, why)
        if not self.files:
            raise FileError.of(
                "`recipe`", self.recipe, "is for `calls`; a plan names the recipes of its cases"
            )


def _faults(entry: NamedCall) -> Iterator[str]:
    """Why a call can be no case: no bundle can keep its id, or nobody knows its recipe."""
    if why := _unkept(entry.id):
        yield f"the id {entry.id[:60]!r} {why}"
    if "recipe" in entry.extra and (why := _no_recipe(entry.extra["recipe"])):
        yield f"recipe: {str(entry.extra['recipe'])[:60]}: {why}"


def _no_recipe(name: object) -> str:
    """What is said of a recipe that does not exist; empty for one that does."""
    if isinstance(name, str) and name in RECIPES:
        return ""
    return f"no such recipe{did_you_mean(str(name), RECIPES)}; known: {', '.join(RECIPES)}"


def _unkept(name: str) -> str:
    """Why no bundle can keep a case of this id; an empty text where it can."""
    reason = unkept(name) or (
        f"has more than {LONGEST_ID} bytes" if len(name.encode()) > LONGEST_ID else ""
    )
    return reason and f"{reason}, and no bundle can keep it"
