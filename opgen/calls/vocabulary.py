"""The words that calls are written in: products, dtypes, formats and status codes, each with a
small number.

Read once from ``specs/tables.yaml``. In a column a word is its position in these tuples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, fields
from functools import cache, cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from opgen.files import yamlfile
from opgen.files.resources import specs_folder
from opgen.model import FileError, did_you_mean


@dataclass(frozen=True)
class Vocabulary:
    """The shared tables; ``index`` maps each word of each kind to its position."""

    products: dict[str, dict[str, Any]]
    dtypes: dict[str, dict[str, int]]
    promotion: dict[str, dict[str, str]]
    formats: dict[str, int]
    status: dict[int, str]

    @cached_property
    def index(self) -> dict[str, dict[str, int]]:
        """Kind (``product``, ``dtype``, ``format``) to word to position."""
        kinds: dict[str, dict[str, Any]] = {
            "product": self.products,
            "dtype": self.dtypes,
            "format": self.formats,
        }
        return {kind: {word: i for i, word in enumerate(table)} for kind, table in kinds.items()}

    @cached_property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Kind to the words in the order of their positions."""
        return {kind: tuple(table) for kind, table in self.index.items()}

    @cached_property
    def known_to_every_page(self) -> tuple[str, ...]:
        """The products that pages of every edition know."""
        return self.known_to(())

    def known_to(self, listed: Container[str]) -> tuple[str, ...]:
        """The products that a page knows which lists some: those of every edition, and the newer
        ones among its own.
        """
        return tuple(
            key for key, facts in self.products.items() if "since" not in facts or key in listed
        )

    def digest(self, listed: Container[str]) -> str:
        """SHA-256 of all tables as a page knows them that lists some products."""
        tables = {field.name: getattr(self, field.name) for field in fields(self)}
        tables["products"] = {key: self.products[key] for key in self.known_to(listed)}
        return sha256(json.dumps(tables).encode()).hexdigest()

    @cached_property
    def promoted(self) -> np.ndarray:
        """(dtypes, dtypes) int16: what a pair promotes to; -1 where the pages know no promotion."""
        position = self.index["dtype"]
        result = np.full((len(position), len(position)), -1, dtype=np.int16)
        np.fill_diagonal(result, np.arange(len(position)))
        for name, others in self.promotion.items():
            for other, to in others.items():
                a, b = position[name], position[other]
                result[a, b] = result[b, a] = position[to]
        return result

    def product_of(self, soc: str) -> str:
        """The product that a SoC's full name belongs to, whatever its case; empty where it is none
        that pages list.

        >>> socs = "Ascend910B3", "ascend910_9391", "Ascend910ProB", "Ascend910B", "Ascend950PR"
        >>> [vocabulary().product_of(soc) for soc in socs]
        ['ascend910b', 'ascend910_93', 'ascend910', 'ascend910', 'ascend950']
        """
        return next(
            (
                key
                for key, facts in self.products.items()
                if re.match(facts["socs"], soc, re.IGNORECASE)
            ),
            "",
        )


FEW_BITS = re.compile(r"(?:HI)?FLOAT[48](?:_E\d+M\d+(?:FN)?)?")
"""How the vendor names floating-point dtypes of 4 or 8 bits."""


def dtype_hint(word: object, known: Iterable[object]) -> str:
    """What is said of a dtype that is none of those known: one of 4 or 8 bits is no slip of the
    pen.

    >>> dtype_hint("FLOAT8_E8M0", ["FLOAT8_E5M2"]), dtype_hint("FLOAT32", ["FLOAT"])
    ('; opgen has no such FP8 or FP4 dtype', " (did you mean 'FLOAT'?)")
    """
    if FEW_BITS.fullmatch(str(word)):
        return "; opgen has no such FP8 or FP4 dtype"
    return did_you_mean(word, known)


def known_products(names: Iterable[str]) -> tuple[str, ...]:
    """Products that are asked for, once each; raises FileError with a suggestion for what is
    none.
    """
    known = vocabulary().products
    for name in names:
        if name not in known:
            whole = f"ascend{name}".lower()
            hint = f" (did you mean '{whole}'?)" if whole in known else ""
            hint = hint or did_you_mean(name, known)
            raise FileError.of(
                "`products`", name, f"no such product{hint}; known: {', '.join(known)}"
            )
    return tuple(dict.fromkeys(names))


@cache
def vocabulary() -> Vocabulary:
    """The tables of ``specs/tables.yaml``."""
    document = yamlfile.read((specs_folder() / "tables.yaml"), "specs/tables.yaml")
    document.raise_problems()
    return Vocabulary(**document.data)
