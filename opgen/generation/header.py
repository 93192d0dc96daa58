"""What a bundle says of where its cases come from: what was asked for, which suite that is, and the
versions of what made its data.

Parts are joined, and an unfinished file is continued, where they say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opgen.calls.vocabulary import vocabulary
from opgen.generation.versions import versions
from opgen.model import UNDATED
from opgen.suite.identity import errata_digest, spec_digest

if TYPE_CHECKING:
    from opgen.suite.selection import Request
    from opgen.suite.suite import Suite

KEYS = (
    "operators",
    "products",
    "edition",
    "specs",
    "editions",
    "plans",
    "errata",
    "library",
    "suite",
    "versions",
    "plan",
    "chosen",
    "shard",
    "seed",
    "recipe",
    "given",
    "inputs",
    "golden",
)
"""What :func:`header` may say, in the order in which a file keeps it: its bytes depend on that."""


def header(
    request: Request, suite: Suite, seed: int, seeded: bool = False, samples: int = 0
) -> dict[str, object]:
    """The header of the bundle of a request; ``edition``, ``library`` (its releases), ``recipe``,
    ``given``, ``inputs`` and ``golden`` stand in it where one was asked for, calls were given,
    inputs are ``seeded``, and at most ``samples`` elements of each output are looked at.
    """
    whole, named = suite.identity, request.errata.values() if request.library else ()
    said = {
        "operators": sorted({spec.api for spec in suite.specs.values()}),
        "products": [p for p in vocabulary().products if p in suite.cases.product.values],
        "specs": {spec.name: spec_digest(spec) for spec in suite.specs.values()},
        **({"edition": request.edition} if request.edition else {}),
        "editions": {spec.name: spec.edition or UNDATED for spec in suite.specs.values()},
        "plans": {} if request.files else {plan.op: plan.digest for plan in suite.plans.values()},
        "errata": {spec.op: errata_digest(spec, request.errata) for spec in suite.specs.values()},
        **({"library": sorted({own.release for own in named})} if request.library else {}),
        "suite": whole.cases,
        "versions": versions(whole.operators, whole.recipes),
        "plan": "calls" if request.calls else request.plan,
        "chosen": [
            *request.products,
            *request.patterns,
            *([f"where {request.where}"] if request.where else []),
            *([f"seeded by {request.seed_calls}"] if request.seed_calls else []),
        ],
        "shard": request.shard,
        "seed": seed,
        **({"recipe": request.recipe} if request.recipe else {}),
        **({"given": request.digest} if request.given else {}),
        **({"inputs": "seeded"} if seeded else {}),
        **({"golden": f"sampled:{samples}"} if samples else {}),
    }
    return {key: said[key] for key in KEYS if key in said}
