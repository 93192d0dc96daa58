"""Sentences that say one thing in a known form, and what the patterns take of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from opgen.calls.vocabulary import vocabulary
from opgen.spec.drafting.grammar import grammar

Section: TypeAlias = Literal["statements", "breaches"]
"""Where a sentence stands: among what a page demands, or among what it answers with a code."""
DTYPE_NAMES = {"FLOAT32": "FLOAT", "FP32": "FLOAT", "FP16": "FLOAT16"}
"""Dtypes that pages call otherwise than calls do."""
AND = "(?:、|和|与|以及|及|,|/|或者|或|跟)"
"""What stands between the members of a list."""
FORMULA_TWICE = re.compile(r"\(([^()]{3,})\1\)")
"""What a flattened page has of a formula in brackets."""
DIMS = "[1-3][dD](?:(?:、|和|或)[1-3][dD])*"
"""Numbers of spatial axes, such as "1d and 2d"."""
AXIS = "[NCDHWL](?:轴|维度?)?"
"""What pages call an axis."""
PUNCTUATION = str.maketrans("，：（）；［］【】＞＜", ",:();[][]><")


DEPENDS = re.compile("当|对于|若|如果|时|场景|否则|除|仅|只|但|或|外|其中|可|不同|例如")
"""Words by which one part of a sentence may limit another."""


APART = re.compile(r",(?![^(\[]*[)\]])|且")
"""What may stand between the parts of a sentence: no comma in brackets."""
LISTED = re.compile(r"[A-Za-z]\w*,(?!(?:undefined|shape|dtype|Device|Host)\b)[A-Za-z]", re.ASCII)
"""A comma in a list of names, which is none between parts; parts may begin with some words."""


def pieces(text: str) -> list[str]:
    """The parts of a sentence.

    >>> pieces("dtype为FLOAT16,FLOAT,取值为2,x大于0")
    ['dtype为FLOAT16,FLOAT', '取值为2', 'x大于0']
    """
    listed = {comma.end() - 2 for comma in LISTED.finditer(text)}
    commas = [comma for comma in APART.finditer(text) if comma.start() not in listed]
    begins, ends = [comma.end() for comma in commas], [comma.start() for comma in commas]
    return [text[begin:end] for begin, end in zip([0, *begins], [*ends, len(text)], strict=True)]


class Claim(NamedTuple):
    """What a sentence says: by which family of patterns, and the members of each list in it."""

    says: str
    lists: Mapping[str, tuple[str, ...]]

    def of(self, name: str) -> tuple[str, ...]:
        """A list; empty where the sentence has none of this name."""
        return self.lists.get(name, ())

    def numbers(self, name: str = "numbers") -> tuple[int, ...]:
        """A list of numbers."""
        return tuple(map(int, self.of(name)))


def normal(sentence: str) -> str:
    """A sentence as patterns read it: no blanks, quotes or last stop, and ASCII punctuation.

    >>> normal("参数 `x`，“y”：必须一致。")
    '参数x,y:必须一致'
    """
    bare = re.sub("[\\s“”\"'`‘’]|\\\\(?=[_*])", "", sentence).translate(PUNCTUATION)
    return FORMULA_TWICE.sub(r"(\1)", bare).rstrip("。.;,")


def _bare(text: str) -> str:
    """A text without what stands in brackets."""
    return re.sub(r"\([^()]*\)", "", text)


def alternatives(words: Iterable[str]) -> str:
    """A regular expression for one of these words, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


class Reader:
    """Reads sentences of a page whose prototype has these names.

    >>> reader = Reader(["x", "dy"])
    >>> claims = reader.read("数据类型需要与x一致", "statements")
    >>> [(claim.says, claim.of("names")) for claim in claims]
    [('same', ('x',))]
    >>> reader.read("数据类型需要与x大致一致", "statements") is None
    True
    """

    def __init__(self, names: Collection[str]) -> None:
        after = "(?:(?![A-Za-z0-9_])|(?=shape)|(?=_[NCDHWL](?![A-Za-z]))|(?=_shape))"
        self.names = alternatives(names)
        self.name = re.compile(rf"(?<![A-Za-z0-9_])(?:{self.names}){after}")
        lists = {name: self._list(name, member) for name, member in self._members().items()}
        lists["mask"] = rf"当(?P<mask>{self.name.pattern})\[\d\]为[Tt]rue,"
        self.patterns = {
            section: [
                (row, re.compile(_filled(row.pattern, lists)))
                for row in getattr(grammar(), section)
            ]
            for section in ("statements", "breaches", "nothing")
        }

    def read(self, text: str, section: Section, own: str = "") -> tuple[Claim, ...] | None:
        """What a sentence says, nothing perhaps; None where no pattern is sure. ``own``: the
        parameter in whose cell it stands.
        """
        claims, left = self.parts(text, section, own)
        return None if left else claims

    def parts(
        self, text: str, section: Section, own: str = ""
    ) -> tuple[tuple[Claim, ...], list[str]]:
        """What a sentence says part by part, and the parts that no pattern takes: all of it where
        one part may depend on another.
        """
        whole = self._whole(text, section)
        if whole is not None:
            return whole, []
        split = pieces(text)
        split = [
            re.sub("^(?:或者?|并且)", "", part) if section == "breaches" else part for part in split
        ]
        read = {part: self._whole(part, section) for part in split if part}
        claims = tuple(claim for said in read.values() if said for claim in said)
        left = [part for part, said in read.items() if said is None]
        owned = own and all(claim.of("subject") in ((), (own,)) for claim in claims)
        apart = len(split) > 1 and (owned or all(claim.of("subject") for claim in claims))
        if not apart or (left and (section == "breaches" or DEPENDS.search(_bare(text)))):
            return (), [text]
        return claims, left

    def named(self, text: str) -> tuple[str, ...]:
        """The parameters that a sentence names."""
        return tuple(dict.fromkeys(self.name.findall(text)))

    def _whole(self, text: str, section: Section) -> tuple[Claim, ...] | None:
        if any(pattern.fullmatch(text) for _, pattern in self.patterns["nothing"]):
            return ()
        readings: list[Claim] = []
        for row, pattern in self.patterns[section]:
            match = pattern.fullmatch(text)
            if match is not None:
                lists = {n: self._split(n, part) for n, part in match.groupdict().items() if part}
                lists |= {"rules": row.rules} if row.rules else {}
                if lists.get("what2", lists.get("what")) == lists.get("what"):
                    readings.append(Claim(row.says, lists))
        return (readings[0],) if readings and all(r == readings[0] for r in readings) else None

    def _members(self) -> dict[str, str]:
        """What the members of each list look like."""
        words = alternatives(word for said in grammar().words.values() for word in said)
        name = rf"(?:输入|输出|入参|出参)?{self.name.pattern}(?:\(非空时\))?"
        number = rf"-?\d+|{alternatives(grammar().numbers)}"
        dtypes = alternatives([*vocabulary().names["dtype"], *DTYPE_NAMES])
        return {
            "subject": name,
            "names": name,
            "sought": f"求解{self.name.pattern}",
            "what": words,
            "what2": words,
            "dtypes": rf"(?:{dtypes})(?![A-Za-z0-9_])",
            "more": rf"(?:{dtypes})(?![A-Za-z0-9_])",
            "formats": rf"(?:{alternatives(vocabulary().names['format'])})(?![A-Za-z0-9_])",
            "numbers": rf"(?:{number})",
            "ranks": rf"(?:{number})(?:维?[-~](?:{number}))?",
            "factors": name,
            "slots": r"\d+(?:\([^()]*\))",
            "shapes": r"[(\[](?:[A-Za-z0-9_,*/×]|\[\d\])*[)\]]",
            "extents": rf"(?!{self.name.pattern})[A-Za-z][A-Za-z0-9_]*",
            "items": rf"(?:{self.names})[DHW](?![A-Za-z0-9_])",
            "enum": r"\d+(?:\(\w+\)|:\w+(?:\([^()]*\))?)",
            "listed": "[^,、]+",
            "words": "(?!true|false)[a-z_]+",
        }

    def _list(self, name: str, member: str) -> str:
        between = {
            "numbers": f"维?{AND}",
            "enum": r"[|、,]",
            "ranks": f"维?{AND}",
            "factors": r"\*",
        }.get(name, AND)
        return rf"(?P<{name}>(?:{member})(?:{between}+(?:{member}))*)"

    def _split(self, name: str, text: str) -> tuple[str, ...]:
        """The members of a list, each in one spelling."""
        if name not in self._members():
            return (str(_number(text)) if name.startswith("number") else text,)
        members = [match[0] for match in re.finditer(self._members()[name], text)]
        return tuple(SPELLINGS.get(name, str)(member) for member in members)


def _filled(pattern: str, lists: Mapping[str, str]) -> str:
    """A pattern with what its placeholders stand for."""
    single = {
        "number": rf"(?P<number>-?\d+|{alternatives(grammar().numbers)})",
        "number2": rf"(?P<number2>-?\d+|{alternatives(grammar().numbers)})",
        "word": "(?P<word>[A-Z][A-Z0-9_]+)",
        "letter": "(?P<letter>[A-Z])",
        "dims": f"(?P<dims>{DIMS})",
        "value": "(?P<value>数?值|取值|元素)",
        "which": "(?P<which>最后[两二三]个|第[一二三四五]个)",
        "product": f"(?P<product>{alternatives(_product_names())})",
        "axes": f"(?P<axes>{AXIS}(?:{AND}?{AXIS})*)",
    }
    return re.sub(r"\{(\w+)\}", lambda at: {**lists, **single}.get(at[1], at[0]), pattern)


def _product_names() -> list[str]:
    """What pages call products, without blanks."""
    products = vocabulary().products.values()
    return [name.replace(" ", "") for facts in products for name in facts["names"]]


def _number(text: str) -> int:
    return int(grammar().numbers.get(text, text))


def _what(text: str) -> str:
    return next(what for what, said in grammar().words.items() if text in said)


def _name(text: str) -> str:
    return re.sub(r"^(?:输入|输出|入参|出参|求解)|\(非空时\)$", "", text)


SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "subject": _name,
    "names": _name,
    "sought": _name,
    "factors": _name,
    "what": _what,
    "what2": _what,
    "dtypes": lambda text: DTYPE_NAMES.get(text, text),
    "more": lambda text: DTYPE_NAMES.get(text, text),
    "numbers": lambda text: str(_number(text)),
    "ranks": lambda text: str(grammar().numbers.get(text, text)),
}
"""List -> the one spelling of a member."""
