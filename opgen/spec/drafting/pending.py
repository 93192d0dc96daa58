"""Which rules a sentence that nobody has decided may be about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from opgen.spec.drafting.facts import Facts
from opgen.spec.drafting.patterns import alternatives, normal
from opgen.spec.drafting.rule_ids import rule_ids
from opgen.spec.pages.page import Sentence

Left: TypeAlias = tuple[str, tuple[str, ...], Mapping[str, str]]
"""A sentence that is left, the parameters that it is about, all where it names none, and the words
by which it may be about a key."""
TELLING = {
    "dtype": "数据类型|dtype|类型",
    "format": "格式",
    "rank": "维|shape(?!.*broadcast)|dim",
    "shape": "维|shape|大小|broadcast|size",
    "axes": "维|shape|大小|broadcast|广播|size",
    "empty": "空",
    "null": "空",
    "length": "长度|size|大小|维|shape",
    "broadcast": "broadcast|Broadcast|广播|shape",
    "numel": "元素|个数|数量",
    "types": "类型",
    "product": "处理器|产品|平台|芯片",
    "": "范围|大于|小于|值|超过|满足",
}
"""Key -> words of a clause that may be about it; those of "" for keys that limit a value."""
MAY_CONSTRAIN = re.compile(
    "必须|需要|需|不能|不支持|不允许|不可|支持|仅|范围|长度|大于|小于|等于|超过|一致|相同|可选|至少|至多"
)
"""Words without which a description or a formula's text constrains no call."""
DEFINES = r"\$?(?:=|是|为|由|表示|代表)"
"""What follows an axis where a page says what it is."""
COMMON = {"N", "C", "shape"}
"""Words of a shape that say nothing by themselves."""
OPTION = re.compile("选项|转换为|降精度|进行计算|sizeof|格式处理")
"""Words of a statement about an option, or about how something is computed."""
ALL = "^参数不(?:满足|符合)|^(?:输入|输出|入参|出参)?参数(?!.*(?:shape|类型|格式)).*不(?:满足|符合)"
"""Words of a clause that may be about anything that the page demands."""
ATTRIBUTES_IN_WORDS = {
    "dtype": "类型|dtype",
    "format": "格式",
    "rank": r"\dD的",
    "shape": r"shape|\dD的",
    "empty": "空",
}
"""The same of a statement."""


def pending(facts: Facts, left: Iterable[Left]) -> Iterator[str]:
    """The rules that an undecided sentence may be about: what it says may be another value, the
    code of a rule without one, or a contradiction.
    """
    yield from facts.disputed
    for rule, (names, key) in rule_ids(facts).items():
        for words, named, telling in left:
            if telling is not TELLING and OPTION.search(words):
                continue
            if telling is TELLING and rule in facts.places:
                continue
            about = names if telling is TELLING else names[:1]
            telling_words = telling.get(key, telling.get("", "$^"))
            if telling is TELLING and key not in ("null", "product"):
                telling_words += f"|{ALL}"
            if (not named or set(named) & set(about)) and re.search(telling_words, words):
                yield rule


def axes_in(part: str) -> set[str]:
    """The names in the words of a shape, without those that say nothing by themselves."""
    return {*re.findall(r"[A-Za-z]\w*", part, re.ASCII)} - COMMON


def sizes(axes: Iterable[str], sentences: Iterable[Sentence]) -> Iterator[tuple[int, str]]:
    """The line and the words of each sentence that says how large one of these axes is."""
    names = alternatives(axes) or "(?!)"
    for sentence in sentences:
        words = normal(sentence.text)
        if re.search(rf"(?<![A-Za-z0-9_])(?:{names}){DEFINES}", words):
            yield sentence.line, words
