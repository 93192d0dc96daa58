"""Calls in words, column by column: what an id says of a call, in the operator's own letters.

A word is a label and a value: ``k3x2`` are the items of an array, ``c17`` is a letter of a shape,
``fp16`` the dtype of the tensors, ``weight.fp32`` that of one that differs. What is 0, false or
contiguous, or the least that the page allows, has no word, nor has what the rules tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import compress
from os.path import commonprefix
from typing import Any

import numpy as np

from opgen.calls.columns import ArrayColumn, ScalarColumn, TensorColumn, TypedColumn
from opgen.calls.factorize import by_key
from opgen.calls.typed import TYPES
from opgen.calls.vocabulary import vocabulary
from opgen.numerics.recipes import RECIPES
from opgen.spec.parameter import Parameter
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView
from opgen.suite.facts import facts_of, least_of, letters_of, told
from opgen.suite.planning.strides import VIEWS, lay_out, view_of

_FLOATS = {"FLOAT": "fp32", "FLOAT16": "fp16", "BFLOAT16": "bf16", "DOUBLE": "fp64"}
_DIGITS = "0123456789"


class CallWords:
    """The words of every row of a table; ``whole`` (rows,) bool: where they say all of its call."""

    def __init__(self, view: TableView) -> None:
        self.view = view
        self.columns = view.table.columns
        self.labels = labels_of(view.spec)
        self.facts = facts_of(view.spec)
        self.shown = {fact.reference: ~told(fact, view) for fact in self.facts}
        self.tensors = view.table.tensors
        self.layouts = {name: _layout(column) for name, column in self.tensors.items()}
        self.whole = np.ones(len(view.table), dtype=bool)
        for name, column in self.tensors.items():
            self.whole &= (self.layouts[name] >= 0) & np.isnan(column.limits).all(axis=1)

    def rows(self) -> list[list[str]]:
        """What people ask for first stands first."""
        words = (
            *self._arrays(),
            *self._facts("rank"),
            *self._letters(),
            *self._facts("shape"),
            *self._scalars(flags=False),
            *self._typed(),
            *self._facts("dtype"),
            *self._facts("format"),
            *self._scalars(flags=True),
            *self._pointers_and_layouts(),
        )
        return [list(filter(None, row)) for row in zip(*words, strict=True)]

    def _arrays(self) -> Iterator[list[str]]:
        for name, column in self.columns.items():
            if isinstance(column, ArrayColumn):
                real = column.values.dtype.kind == "f"
                values = column.values.astype(str) if real else column.values
                items = zip(values.tolist(), column.length.tolist(), strict=True)
                words = [_items(row[:length]) or ".empty" for row, length in items]
                shown = self.shown.get((name, ""), np.ones(len(words), dtype=bool))
                yield _labelled(self.labels[name], _or_null(words, column.null), shown)

    def _scalars(self, flags: bool) -> Iterator[list[str]]:
        for name, column in self.columns.items():
            if isinstance(column, ScalarColumn) and (column.values.dtype == bool) == flags:
                words = ["" if flags else _items([value]) for value in column.values]
                shown = column.null | (column.values != least_of(self.view.spec, name))
                yield _labelled(self.labels[name], _or_null(words, column.null), shown)

    def _typed(self) -> Iterator[list[str]]:
        names = vocabulary().names["dtype"]
        for name, column in self.columns.items():
            if isinstance(column, TypedColumn):
                pairs = zip(column.values.tolist(), column.dtype.tolist(), strict=True)
                words = [f"{_real(v, names[d])}.{_word(names[d])}" for v, d in pairs]
                shown = np.ones(len(words), dtype=bool)
                yield _labelled(self.labels[name], _or_null(words, column.null), shown)

    def _letters(self) -> Iterator[list[str]]:
        """Those of a group in one word, unless one of them is told."""
        rows = len(self.view.table)
        for group, letters in _groups(self.view.spec).items():
            read = [self.view.get((letter, "")) for letter in letters]
            bound = np.array([np.broadcast_to(np.asarray(x.bound), rows) for x in read])
            shown = np.array([self.shown[letter, ""] for letter in letters])
            columns = (np.array([x.data for x in read]).T, shown.T, (shown == bound).all(axis=0))
            yield [
                self._letters_of_row(
                    group, list(compress(zip(letters, x, strict=True), here)), all_
                )
                for x, here, all_ in zip(*(column.tolist() for column in columns), strict=True)
            ]

    def _letters_of_row(self, group: str, values: list[tuple[str, int]], together: bool) -> str:
        if together and values:
            return self.labels[group] + _items(x for _, x in values)
        return "-".join(self.labels[letter] + _items([x]) for letter, x in values)

    def _facts(self, what: str) -> Iterator[list[str]]:
        """A fact of tensors; that of the first has no label, unless it is a shape."""
        for fact in self.facts:
            name, kind = fact.reference
            if kind == what:
                label = f"{self.labels[name]}." if fact.before or what == "shape" else ""
                words = _values(self.tensors[name], what)
                yield _labelled(label, words, self.shown[fact.reference])

    def _pointers_and_layouts(self) -> Iterator[list[str]]:
        known = [f".{view}" for view in (*VIEWS, "strided")]  # -1 is the last
        for name, column in self.tensors.items():
            words = [known[layout] for layout in self.layouts[name].tolist()]
            shown = column.null | (self.layouts[name] != 0)
            yield _labelled(self.labels[name], _or_null(words, column.null), shown)


def _labelled(label: str, words: Iterable[str], shown: np.ndarray) -> list[str]:
    """(rows,) a label and the word of each row, where it is shown."""
    return [label + word if here else "" for word, here in zip(words, shown.tolist(), strict=True)]


def _or_null(words: Iterable[str], null: np.ndarray) -> list[str]:
    return [".null" if none else word for word, none in zip(words, null.tolist(), strict=True)]


def labels_of(spec: Spec) -> dict[str, str]:
    """Parameter, letter or group of letters -> what its words begin with: all different whatever
    their case, and none that goes on in a value.

    >>> from opgen.spec.catalog import catalog
    >>> labels = labels_of(catalog().by_page["aclnnAvgPool2dBackward", "ascend910b"])
    >>> [labels[name] for name in ("kernelSize", "ceilMode", "gradOutput", "Hin", "in")]
    ['k', 'ceil', 'go', 'hin', 'in']
    """
    ways: dict[str, tuple[str, ...]] = {x: (x,) for x in (*letters_of(spec), *_groups(spec))}
    ways |= {p.name: _ways(p) for p in spec.parameters.values()}
    words = [*map(_word, (*vocabulary().names["dtype"], *vocabulary().names["format"])), *RECIPES]
    taken = {word.rstrip(_DIGITS) for word in words}
    labels: dict[str, str] = {}
    for name, mine in ways.items():
        others = [ways[other] for other in ways if other != name]
        apart = (way for i, way in enumerate(mine) if way not in [o[i] for o in others if o[i:]])
        label = next(
            (way for way in map(str.lower, apart) if way and way not in taken), name.lower()
        )
        while label in taken or label[-1] in f"mx{_DIGITS}":
            label += "_"
        taken.add(label)
        labels[name] = label
    return labels


def _ways(parameter: Parameter) -> tuple[str, str, str]:
    """Short for a parameter, the best first: what the names of its items have in common, the first
    word of a name in camel case, the initials; empty where there is none.
    """
    items = [name for slots in parameter.items.values() for slot in slots for name in slot]
    camel = re.match("[a-z]+(?=[A-Z])", parameter.name)
    initials = "".join(re.findall("^.|[A-Z]", parameter.name)) if camel else ""
    return commonprefix(items), camel[0] if camel and not items else "", initials


def _groups(spec: Spec) -> dict[str, list[str]]:
    """The letters of shapes: those that differ in their capital alone, as Hin and Win do, under
    what they share.
    """
    groups = by_key(
        (re.sub("[A-Z]", "", letter, count=1) or letter, letter) for letter in letters_of(spec)
    )
    return {stem if letters[1:] else letters[0]: letters for stem, letters in groups.items()}


def _items(values: Iterable[Any]) -> str:
    """Numbers of a word, flags one after the other; ``-`` stands between words, a minus is ``m``.

    >>> _items([3, -1]), _items([True, False]), _items([np.float32(0.1)])
    ('3xm1', '10', '0.1')
    """
    values = list(values)
    flags = isinstance(next(iter(values), 0), bool)
    words = (str(int(x) if isinstance(x, bool) else x) for x in values)
    text = ("" if flags else "x").join(words).replace("-", "m").replace("+", "")
    return re.sub(r"[^\w.]", "_", text, flags=re.ASCII)


def _real(value: float, dtype: str) -> str:
    return _items([TYPES.get(dtype, TYPES["DOUBLE"]).type(value)])


def _word(name: str) -> str:
    """A dtype or format: ``fp16``, ``int8``, ``nchw``."""
    return _FLOATS.get(name, name.lower())


def _values(column: TensorColumn, what: str) -> list[str]:
    """A fact of a tensor in every row."""
    if what == "rank":
        return [f"{rank}d" for rank in column.rank.tolist()]
    if what == "shape":
        rows = zip(column.shape.tolist(), column.rank.tolist(), strict=True)
        return [_items(shape[:rank]) or "0d" for shape, rank in rows]
    names = vocabulary().names[what]
    return [_word(names[number]) for number in getattr(column, what).tolist()]


def _layout(column: TensorColumn) -> np.ndarray:
    """(rows,) int: which of :data:`VIEWS` says all of a layout; -1 where none does."""
    view = view_of(column)
    laid = lay_out(column.rank, column.shape, np.maximum(view, 0))
    width = min(laid.storage.shape[1], column.storage.shape[1])
    inside = np.arange(width) < column.storage_rank[:, None]
    same = ((laid.storage[:, :width] == column.storage[:, :width]) | ~inside).all(axis=1)
    same &= (laid.storage_rank == column.storage_rank) & (laid.offset == column.offset)
    return np.where(same | column.null, view, -1)
