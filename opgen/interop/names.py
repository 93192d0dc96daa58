"""The words of other tools in the words of calls: parameters, dtypes, formats, products.

>>> dtype("fp16"), dtype("torch.bfloat16"), layout("nchw")
('FLOAT16', 'BFLOAT16', 'NCHW')
>>> match("kernel_size", ["self", "kernelSize"])
'kernelSize'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from opgen.calls.vocabulary import vocabulary
from opgen.model import did_you_mean
from opgen.spec.catalog import Catalog

_ALIASES = {
    "fp16": "FLOAT16",
    "half": "FLOAT16",
    "fp32": "FLOAT",
    "float32": "FLOAT",
    "fp64": "DOUBLE",
    "float64": "DOUBLE",
    "bf16": "BFLOAT16",
    "int": "INT64",
    "long": "INT64",
    "bool_": "BOOL",
    "fp8_e4m3fn": "FLOAT8_E4M3FN",
    "fp8_e5m2": "FLOAT8_E5M2",
    "hif8": "HIFLOAT8",
}
"""The words that are not the vendor's own in small letters, behind a prefix of some libraries."""
_PREFIX = re.compile(r"^(torch\.|np\.|numpy\.|acl_|dt_|format_)*")
NUMPY = {"FLOAT": "float32", "DOUBLE": "float64"}
"""What numpy calls those dtypes that it does not spell like the vendor."""
ATK = {"FLOAT16": "fp16", "FLOAT": "fp32", "DOUBLE": "fp64", "BFLOAT16": "bf16"}
"""What ATK calls those dtypes that it does not spell like the vendor."""


class Unreadable(Exception):
    """Why one case of a file cannot become a call: key, value and remedy, in one line."""


def shown(value: object, most: int = 80) -> str:
    """A value of a file in a message: one line of printable characters, cut where it is long."""
    try:
        text = ascii(value)
    except (
        ValueError,
        RecursionError,
    ):  # a number of more digits than Python prints, or a nest of lists
        text = f"<{type(value).__name__}>"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def plain(name: str) -> str:
    """A name as it is compared: without underscores, in small letters."""
    return name.replace("_", "").lower()


def match(name: str, known: Iterable[str]) -> str | None:
    """The one of ``known`` that ``name`` means, whatever its case and underscores; ``None`` where
    there is none.
    """
    return next((candidate for candidate in known if plain(candidate) == plain(name)), None)


def dtype(word: object) -> str:
    """The vendor's word of a dtype; raises :class:`Unreadable`."""
    return _vendor("dtype", word)


def layout(word: object) -> str:
    """The vendor's word of a format; raises :class:`Unreadable`."""
    return _vendor("format", word)


def _vendor(kind: str, word: object) -> str:
    index = vocabulary().index[kind]
    bare = _PREFIX.sub("", str(word).strip().lower())
    vendor = _ALIASES.get(bare, bare.upper())
    if vendor in index:
        return vendor
    known = [*index, *(alias for alias, meant in _ALIASES.items() if meant in index)]
    raise Unreadable(f"no such {kind} {shown(word)}{did_you_mean(str(word)[:40], known)}")


def spelled(vendor: str, others: Mapping[str, str]) -> str:
    """A dtype as another tool spells it: as in ``others``, else in small letters.

    >>> spelled("FLOAT", NUMPY), spelled("COMPLEX64", NUMPY)
    ('float32', 'complex64')
    """
    return others.get(vendor, vendor.lower())


def product(soc: str) -> str:
    """The product of a SoC by its short name, as series have it, else by its full name; empty where
    it is none that pages list.

    >>> product("Ascend910"), product("Ascend910B"), product("Ascend910ProB")
    ('ascend910', 'ascend910b', 'ascend910')
    """
    short = {facts["soc"].lower(): name for name, facts in vocabulary().products.items()}
    return short.get(soc.lower()) or vocabulary().product_of(soc)


def api(name: object, catalog: Catalog) -> str:
    """The vendor's name of an operator, given with or without ``aclnn`` and ``GetWorkspaceSize``;
    raises :class:`Unreadable`.
    """
    if isinstance(name, str):
        bare = name.strip().removesuffix("GetWorkspaceSize")
        for op, known in catalog.operators.items():
            if plain(bare) in (plain(known), plain(known.removeprefix("aclnn")), plain(op)):
                return known
    raise Unreadable(
        f"no such operator {shown(name)}{did_you_mean(str(name)[:60], catalog.kinds)}; known:"
        f" {', '.join(catalog.kinds)}"
    )
