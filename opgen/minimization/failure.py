"""A call that fails, with everything that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from opgen.calls.call_json import to_json
from opgen.model import GUARD, Call, Code, TensorDesc
from opgen.numerics.arrays import Array
from opgen.numerics.recipes import DEFAULT


@dataclass(frozen=True)
class Failure:
    """A call that fails: storages of its inputs, goldens, bounds, and what the device answered.

    ``own``: its data are those of the case that the search began with, and no recipe draws them.
    ``guard``: bytes before and after every buffer.
    """

    call: Call
    id: str
    recipe: str
    compute: str
    seed: int
    verdict: str
    detail: str
    status: Code | None
    run_status: Code | None
    codes: tuple[Code, ...]
    storage: Mapping[str, Array]
    golden: Mapping[str, Array]
    bound: Mapping[str, Array]
    outputs: Mapping[str, Array]
    own: bool = False
    guard: int = GUARD

    @property
    def kind(self) -> tuple[str, Code | None, Code | None]:
        """What must stay the same: the verdict, and words or codes of both phases."""
        return self.verdict, self.status, self.run_status

    @property
    def options(self) -> list[str]:
        """The options with which ``opgen generate --calls`` draws these data."""
        recipe = ["--recipe", self.recipe] if self.recipe != DEFAULT else []
        return [*recipe, "--seed", str(self.seed)] if self.seed else recipe

    @property
    def elements(self) -> int:
        """Elements of all tensors of the call."""
        return elements_of(self.call)

    def call_json(self) -> dict[str, object]:
        """The call as a line of a file of calls has it."""
        return {
            "id": self.id,
            "op": self.call.api,
            "product": self.call.product,
            "args": to_json(self.call),
        }


def elements_of(call: Call) -> int:
    """Elements of all tensors of a call."""
    return sum(prod(value.shape) for value in call.args.values() if isinstance(value, TensorDesc))
