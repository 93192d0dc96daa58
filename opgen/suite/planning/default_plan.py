"""The plan that follows from the pages of an operator, where nobody has written another: an axis
for everything that a call may choose, with sizes that matter.

It is plain data in the form of a plan file, so that what reads a file reads it too, and a file may
say ``extends: default`` and then only what it adds or changes. What no legal call can have is left
out of the calls, not of the plan: which values go together is the pages' business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from opgen.calls.factorize import by_key
from opgen.calls.kinds import KINDS
from opgen.calls.vocabulary import vocabulary
from opgen.numerics.recipes import RECIPES
from opgen.spec.language.parse import reference
from opgen.spec.language.term import Reference
from opgen.spec.parameter import Parameter
from opgen.spec.spec import Spec
from opgen.suite.planning import usual_values as usual
from opgen.suite.planning.name_rules import NameRules

Data = dict[str, Any]
"""A plan, or a part of one, as YAML has it."""


def default_plan(
    pages: Sequence[Spec], taken: Collection[Reference] = (), saved: Collection[str] = ()
) -> Data:
    """The plan of an operator with some pages; names that are ``taken`` are set elsewhere, and the
    inputs that a forward ``saved``.
    """
    axes = _Axes(pages, taken, saved)
    strongest = [name for name in ("product", "dtype", "rank") if name in axes.data]
    groups = [{"axes": strongest, "strength": 3}] if len(strongest) == 3 else []
    return {
        "op": pages[0].api,
        "axes": axes.data,
        "let": axes.let,
        "tiers": {
            "smoke": {"strength": 1, "elements": 65536},
            "standard": {"strength": 2, "invalid": 2, "groups": groups},
            "full": {"strength": 3, "invalid": 6, "limits": 3, "groups": groups},
        },
    }


class _Axes:
    """The axes that follow from pages, in the order of a plan, and what follows from others."""

    def __init__(
        self, pages: Sequence[Spec], taken: Collection[Reference], saved: Collection[str]
    ) -> None:
        self.pages = pages
        self.taken = taken
        self.rules = NameRules(pages, taken)
        self.saved = saved
        self.parameters = list(pages[0].parameters.values())
        self.tensors = [p for p in self.parameters if p.is_tensor]
        self.data: Data = {}
        self.let: Data = {}
        judged = [product for spec in pages for product in spec.products if product in spec.judges]
        self.add(["product"], judged, "the products of the page", least=1)
        self.words("dtype")
        self.ranks()
        self.words("format")
        self.shapes()
        for parameter in self.parameters:
            if parameter.is_array:
                self.array(parameter)
            elif parameter.is_list:
                self.add(
                    [f"len({parameter.name})"],
                    self.rules.members((parameter.name, "len")),
                    "each length of the page",
                )
            elif not parameter.is_tensor:
                self.scalar(parameter)
        for parameter in self.parameters:
            if parameter.is_pointer and not parameter.of and not self.rules.demanded(parameter):
                self.add([f"{parameter.name}.null"], [False, True], "it may be left out")
        for tensor in self.tensors:
            self.views(tensor)
        if pages[0].status_only:
            return
        modes = any(spec.modes for spec in pages)
        recipes = [
            name
            for name in RECIPES
            if name not in ("zeros", "inconsistent", "" if modes else "overflow")
        ]
        self.add(["recipe"], recipes, "one kind of fault each: opgen explains them", usual.FEW)

    def add(
        self,
        names: list[str],
        values: Iterable[Any],
        why: str,
        narrowed: Data | None = None,
        least: int = 2,
        axis: str = "",
    ) -> None:
        """An axis, where there is a choice; several names have the same value."""
        free = [name for name in names if reference(name) not in self.taken]
        values = list(dict.fromkeys(tuple(v) if isinstance(v, list) else v for v in values))
        if not free or len(values) < least:
            return
        levels = [list(v) if isinstance(v, tuple) else v for v in values]
        self.data[axis or free[0]] = {
            "sets": free,
            "values": [[level] * len(free) if len(free) > 1 else level for level in levels],
            "why": why,
            **(narrowed or {}),
        }

    def words(self, what: str) -> None:
        """One axis for all tensors of the same list of dtypes, or of formats; that of the first
        tensor's list has the plain name.
        """
        if (what, "") in self.taken:
            return
        names = vocabulary().names[what]
        lists = {
            t.name: tuple(names[i] for i in self.rules.members((t.name, what)))
            for t in self.tensors
        }
        for words, tensors in by_key(
            (lists[t.name], t.name)
            for t in self.tensors
            if len(lists[t.name]) > 1 and not self.rules.bound((t.name, what))
        ).items():
            everywhere = set(map(frozenset, lists.values())) == {frozenset(words)}
            self.add(
                [what] if everywhere else [f"{name}.{what}" for name in tensors],
                words,
                f"each {what} of the page",
                axis=what if words == lists[self.tensors[0].name] else "",
            )

    def ranks(self) -> None:
        """The ranks of tensors whose axes have letters."""
        lettered = {t.name: tuple(t.shapes) for t in self.tensors if t.shapes}
        if ("rank", "") in self.taken or not lettered:
            return
        why = "with and without a batch axis"
        if len(set(map(frozenset, lettered.values()))) == 1:
            self.add(["rank"], next(iter(lettered.values())), why)
            return
        for name, ranks in lettered.items():
            if not self.rules.bound((name, "rank")) and (name, "shape") not in self.taken:
                self.add([f"{name}.rank"], ranks, why)

    def shapes(self) -> None:
        """Extents of letters, and shapes of tensors whose axes have none."""
        free = [t for t in self.tensors if (t.name, "shape") not in self.taken]
        letters = list(
            dict.fromkeys(
                letter
                for t in free
                for rank in sorted(t.shapes, reverse=True)
                for letter in t.shapes[rank]
                if isinstance(letter, str) and not self.rules.defined((letter, ""))
            )
        )
        for i, letter in enumerate(letters):
            legal = self.rules.legal([(letter, "")], usual.extents(i, len(letters)))
            self.add([letter], legal, "few, one, more than a block holds", {"smoke": legal[::2]})
        plain = [t for t in free if not t.shapes and not self.rules.bound((t.name, "shape"))]
        ranks = {t.name: self.rules.members((t.name, "rank")) or range(9) for t in plain}
        rows = {t.name: usual.row(self.pages, t) for t in plain if 1 in ranks[t.name]}
        self.let |= {f"{name}.shape": row for name, row in rows.items() if row}
        plain = [t for t in plain if not rows.get(t.name)]
        for i, tensor in enumerate(plain):
            if i:
                self.let[f"{tensor.name}.shape"] = f"{plain[0].name}.shape"
                continue
            fit = [str(shape) for shape in usual.SHAPES if len(shape) in ranks[tensor.name]]
            self.add(
                [f"{tensor.name}.shape"],
                fit[: usual.MOST_SHAPES],
                "several ranks, just below and above multiples of 16, 64 and 256",
                {"smoke": fit[:2]},
                least=1,
            )

    def array(self, parameter: Parameter) -> None:
        """How many items, and which; of flags every mask that asks for something."""
        name, kind = parameter.name, KINDS[parameter.kind].element.term
        lengths = self.rules.members((name, "len")) or sorted(parameter.items)
        if (name, "") in self.taken or self.rules.bound((name, "values")):
            return
        if kind == "bool":
            if lengths and not self.rules.bound((name, "len")):
                self.add(
                    [name],
                    usual.masks(max(lengths)),
                    "every mask that asks for an output",
                    least=1,
                )
            return
        items = dict.fromkeys(
            item for slots in parameter.items.values() for slot in slots for item in slot
        )
        if not self.rules.bound((name, "len")):
            longest = sorted(lengths, reverse=True)
            self.add([f"len({name})"], longest, "fewer items stand for more", axis=f"{name}.items")
        for i, item in enumerate(items):
            if not self.rules.bound((item, "")):
                values = (
                    usual.ITEMS[i % len(usual.ITEMS)] if kind == "int" else usual.numbers(parameter)
                )
                extent = usual.axis(self.pages, item)
                values, step = (usual.extents(*extent), 2) if extent else (values, 1)
                legal = self.rules.legal([(name, "lowest"), (name, "highest"), (item, "")], values)
                self.add([item], legal, "several, one, none", {"smoke": legal[::step][:2]})

    def scalar(self, parameter: Parameter) -> None:
        """The words of a list, or usual numbers within the limits."""
        name = parameter.name
        if KINDS[parameter.kind].family == "typed":
            dtypes = [vocabulary().names["dtype"][i] for i in self.rules.members((name, "dtype"))]
            if not self.rules.bound((name, "dtype")):
                self.add([f"{name}.dtype"], dtypes, "each dtype of the page")
        if self.rules.bound((name, "")):
            return
        listed = self.rules.members((name, ""))
        extent = usual.axis(self.pages, name)
        legal = self.rules.legal(
            [(name, "")], usual.extents(*extent) if extent else usual.numbers(parameter)
        )
        if not listed and len(legal) == 1 and (name, "") not in self.taken:
            self.let[name] = repr(legal[0])
        self.add([name], listed or legal, "each that the page lists" if listed else "usual ones")

    def views(self, tensor: Parameter) -> None:
        """How a tensor lies in its storage, as far as its ranks allow."""
        ranks = tensor.shapes or self.rules.members((tensor.name, "rank")) or [8]
        first = tensor.name == self.tensors[0].name
        views = usual.views(tensor, max(ranks), first, tensor.name in self.saved)
        if not self.rules.bound((tensor.name, "strided")):
            why = "non-contiguous tensors are supported"
            self.add([f"{tensor.name}.view"], views["full"], why, views)
