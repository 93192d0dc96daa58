"""A bundle as one C++ file of gtest: every case, those that must be refused among them, by status
of both phases.

The file declares the prototypes that the pages' kinds give and needs only ``acl/acl.h``,
``aclnn/acl_meta.h`` and gtest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.write.output import write_text
from opgen.calls.kinds import KINDS
from opgen.calls.vocabulary import vocabulary
from opgen.interop import exporting
from opgen.interop.exporting import Export, spec_of
from opgen.model import ANY_ERROR, CRASH, Argument, TensorDesc
from opgen.spec.spec import Spec

_HEAD = Path(__file__).with_name("gtest_head.txt")
_HOLDERS = {"tensor": "Tensor", "int_array": "IntArray", "bool_array": "BoolArray"}


def export(bundle: Bundle, target: str | Path, ids: Iterable[str], force: bool = False) -> Export:
    """Write the cases of ``ids`` to one C++ file; raises FileError, BundleError."""
    chosen = exporting.choose(bundle, ids, exporting.unknown)
    write_text(target, source(bundle, chosen.cases), force=force)
    return chosen


def source(bundle: Bundle, cases: Sequence[CaseView]) -> str:
    """The whole file."""
    specs = {case.op: spec_of(case) for case in cases}
    index = vocabulary()
    constants = [
        f"constexpr auto k{word} = static_cast<aclDataType>({facts['acl']});"
        for word, facts in index.dtypes.items()
    ]
    constants += [
        f"constexpr auto kFormat{word} = static_cast<aclFormat>({number});"
        for word, number in index.formats.items()
    ]
    used: set[tuple[str, str]] = set()
    parts = [
        f"// {len(cases)} cases of {_comment(bundle.path.name)}, sha256 {_comment(bundle.digest)}."
        " Written by opgen export gtest.\n",
        _HEAD.read_text(encoding="utf-8"),
        'extern "C" {',
        *(prototype(spec) for spec in specs.values()),
        "}\n",
        "namespace {",
        *constants,
        "}\n",
        *(test(case, specs[case.op], used) for case in cases),
    ]
    return "\n".join(parts)


def prototype(spec: Spec) -> str:
    """Both phases of one operator, as C declares them."""
    first = ", ".join(f"{KINDS[p.kind].c_type} {_local(p.name)}" for p in spec.parameters.values())
    return (
        f"aclnnStatus {spec.api}GetWorkspaceSize({first}, uint64_t* workspaceSize, aclOpExecutor**"
        f" executor);\naclnnStatus {spec.api}(void* workspace, uint64_t workspaceSize,"
        " aclOpExecutor* executor, aclrtStream stream);"
    )


def test(case: CaseView, spec: Spec, used: set[tuple[str, str]]) -> str:
    """One test: the call of the first phase, the statuses that the page admits, and the second
    phase where there are data.
    """
    library = case.library
    dies = library is not None and CRASH in library.codes
    label = name = ("DISABLED_" if dies else "") + re.sub(r"\W", "_", case.id, flags=re.ASCII)
    numbers = count(case.row)
    while (case.op, label) in used:
        label = f"{name}_{next(numbers)}"
    used.add((case.op, label))
    args = case.args
    held = [
        f"{_HOLDERS[kind]} {_local(name)}{_constructed(kind, args[name], case.phase == 2)};"
        for name, kind in spec.kinds.items()
        if kind in _HOLDERS and args[name] is not None
    ]
    passed = [_passed(kind, name, args[name]) for name, kind in spec.kinds.items()]
    codes = ", ".join(str(code) for code in case.expect.codes if isinstance(code, int))
    any_error = "true" if ANY_ERROR in case.expect.codes else "false"
    rules = ", ".join(broken.rule for broken in case.expect.breaks)
    said = " ".join(
        f"{case.id}: {case.intent or case.kind};"
        f" {case.expect.bucket}{f': {rules}' if rules else ''}".split()
    )
    ran = (
        f"ExpectRun(status, {case.op}, workspaceSize, executor);"
        if case.phase == 2
        else "(void)status;"
    )
    body = [
        (
            f"if (!OnProduct({_string(vocabulary().products[case.product]['socs'])})) {{ GTEST_SKIP() <<"
            ' "a case of another product"; }'
        ),
        *held,
        "uint64_t workspaceSize = 0;",
        "aclOpExecutor* executor = nullptr;",
        (
            f"const aclnnStatus status = {case.op}GetWorkspaceSize({', '.join(passed)},"
            " &workspaceSize, &executor);"
        ),
        f"ExpectStatus(status, {{{codes}}}, {any_error});",
        ran,
    ]
    comment = f"// {_comment(said)}" + (
        "\n// The published library is known to die here." if dies else ""
    )
    return (
        f"{comment}\nTEST({case.op}, {label})\n{{\n"
        + "".join(f"    {line}\n" for line in body)
        + "}\n"
    )


def _local(name: str) -> str:
    """The variable of a parameter: a name like no word of C++."""
    return f"{name}_"


def _passed(kind: str, name: str, value: Argument) -> str:
    if kind in _HOLDERS:
        return "nullptr" if value is None else f"{_local(name)}.get()"
    assert isinstance(value, int)
    number = _number(value)
    return number if kind in ("bool", "int64") else f"static_cast<{KINDS[kind].c_type}>({number})"


def _number(value: int) -> str:
    """A literal of a number or a truth; the lowest of int64 has none of its own."""
    return str(value).lower() if value > -(2**63) else "INT64_MIN"


def _list(values: Iterable[int]) -> str:
    return "{" + ", ".join(map(_number, values)) + "}"


def _constructed(kind: str, value: Argument, with_data: bool) -> str:
    """What stands behind the name of an argument that is made of a description."""
    if isinstance(value, tuple):
        return _list(value) if kind == "bool_array" else f"(Dims{_list(value)})"
    assert isinstance(value, TensorDesc)
    made = [f"Dims{_list(value.shape)}", f"k{value.dtype}", f"kFormat{value.format}"]
    if not value.plain:
        strides = "std::nullopt" if value.strides is None else f"Dims{_list(value.strides)}"
        made += [strides, _number(value.offset), f"Dims{_list(value.storage_extents)}"]
    if with_data:
        made.insert(
            0, f"Bytes{{{value.storage_elements * vocabulary().dtypes[value.dtype]['bits'] // 8}}}"
        )
    return f"({', '.join(made)})"


def _string(text: str) -> str:
    """A C string; what is not plain ASCII by its bytes, in octal."""
    escaped = re.sub(
        r'[^ -~]|["\\?]', lambda match: "".join(f"\\{byte:03o}" for byte in match[0].encode()), text
    )
    return f'"{escaped}"'


def _comment(text: str) -> str:
    """One line that is only a comment, whatever an id holds."""
    return text.encode("ascii", "backslashreplace").decode().replace("\\", "/").replace("?", ".")
