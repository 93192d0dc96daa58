"""A bundle as one C++ file of gtest: every case, those that must be refused among them, by status
of both phases.

The file declares the prototypes that the pages' kinds give and needs only ``acl/acl.h``,
``aclnn/acl_meta.h`` and gtest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.write.output import write_text
from opgen.calls import kinds as of_kinds
from opgen.calls.kinds import KINDS, c_literal, members
from opgen.calls.typed import raw
from opgen.calls.vocabulary import vocabulary
from opgen.interop import exporting
from opgen.interop.exporting import Export, spec_of
from opgen.model import ANY_ERROR, CRASH, AclScalar, Argument, TensorDesc
from opgen.spec.spec import Spec

_HEAD = Path(__file__).with_name("gtest_head.txt")
_NONE = "TEST(opgen, EveryCaseIsDisabled) {}\n"
"""A test that runs where no other does: else gtest ends well without setting anything up."""
_FLOAT_ARRAY = """\
class FloatArray {
public:
    FloatArray(std::initializer_list<float> values) : array_(aclCreateFloatArray(values.begin(), values.size())) {}
    FloatArray(const FloatArray&) = delete;
    FloatArray& operator=(const FloatArray&) = delete;
    ~FloatArray() { (void)aclDestroyFloatArray(array_); }
    aclFloatArray* get() const { return array_; }

private:
    aclFloatArray* array_;
};
"""
"""What the head leaves out where no operator needs it."""
_SCALAR = """\
class Scalar {
public:
    template <class T>
    Scalar(T value, aclDataType dtype) : scalar_(aclCreateScalar(&value, dtype)) {}
    Scalar(const Scalar&) = delete;
    Scalar& operator=(const Scalar&) = delete;
    ~Scalar() { (void)aclDestroyScalar(scalar_); }
    aclScalar* get() const { return scalar_; }

private:
    aclScalar* scalar_;
};
"""
_TENSOR_LIST = """\
class TensorList {
public:
    TensorList(std::initializer_list<const aclTensor*> tensors) : list_(aclCreateTensorList(tensors.begin(), tensors.size())) {}
    TensorList(const TensorList&) = delete;
    TensorList& operator=(const TensorList&) = delete;
    ~TensorList() { (void)aclDestroyTensorList(list_); }
    aclTensorList* get() const { return list_; }

private:
    aclTensorList* list_;
};
"""
_HOLDERS = {kind: facts.noun for kind, facts in KINDS.items() if facts.noun}


def export(bundle: Bundle, target: str | Path, ids: Iterable[str], force: bool = False) -> Export:
    """Write the cases of ``ids`` to one C++ file; raises FileError, BundleError."""
    chosen = exporting.choose(bundle, ids, exporting.unknown)
    write_text(target, source(bundle, chosen.cases), force=force)
    return chosen


def source(bundle: Bundle, cases: Sequence[CaseView]) -> str:
    """The whole file."""
    specs = {case.op: spec_of(case) for case in cases}
    kinds = {kind for spec in specs.values() for kind in spec.kinds.values()}
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
        *([_FLOAT_ARRAY] if "float_array" in kinds else []),
        *([_SCALAR] if "scalar" in kinds else []),
        *([_TENSOR_LIST] if any(KINDS[kind].family == "list" for kind in kinds) else []),
        'extern "C" {',
        *(prototype(spec) for spec in specs.values()),
        "}\n",
        "namespace {",
        *constants,
        "}\n",
        *(test(case, specs[case.op], used) for case in cases),
    ]
    if all(map(_dies, cases)):
        parts.append(_NONE)
    return "\n".join(parts)


def _dies(case: CaseView) -> bool:
    """Whether the published library is known to crash on a case."""
    return case.library is not None and CRASH in case.library.codes


def prototype(spec: Spec) -> str:
    """Both phases of one operator, as C declares them."""
    first = ", ".join(
        f"{KINDS[p.kind].c_type} {_local(p.name)}" for p in spec.parameters.values() if not p.of
    )
    return (
        f"aclnnStatus {spec.api}GetWorkspaceSize({first}, uint64_t* workspaceSize, aclOpExecutor**"
        f" executor);\naclnnStatus {spec.api}(void* workspace, uint64_t workspaceSize,"
        " aclOpExecutor* executor, aclrtStream stream);"
    )


def test(case: CaseView, spec: Spec, used: set[tuple[str, str]]) -> str:
    """One test: the call of the first phase, the statuses that the page admits, and the second
    phase where there are data.
    """
    label = name = ("DISABLED_" if _dies(case) else "") + re.sub(
        r"\W", "_", case.id, flags=re.ASCII
    )
    numbers = count(case.row)
    while (case.op, label) in used:
        label = f"{name}_{next(numbers)}"
    used.add((case.op, label))
    args = case.args
    whole = of_kinds.prototype(spec.kinds)
    single = [name for name in spec.kinds if args[name] is not None]
    held = [
        f"{_HOLDERS[kind]} {_local(name)}{_constructed(kind, args[name], case.phase == 2)};"
        for name in single
        if (kind := spec.kinds[name]) in _HOLDERS and KINDS[kind].family != "list"
    ]
    held += [
        f"TensorList {_local(name)}{_members(args, name)};"
        for name, kind in whole.items()
        if KINDS[kind].family == "list" and args[name] is not None
    ]
    passed = [_passed(kind, name, args[name]) for name, kind in whole.items()]
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
            f"if (!OnProduct({c_literal(vocabulary().products[case.product]['socs'])})) {{ GTEST_SKIP() <<"
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
        "\n// The published library is known to die here." if _dies(case) else ""
    )
    return (
        f"{comment}\nTEST({case.op}, {label})\n{{\n"
        + "".join(f"    {line}\n" for line in body)
        + "}\n"
    )


def _local(name: str) -> str:
    """The variable of a parameter: a name like no word of C++."""
    return f"{name.replace('[', '_').removesuffix(']')}_"


def _members(args: Mapping[str, Argument], name: str) -> str:
    """The tensors of a list."""
    number = args[name]
    assert isinstance(number, int)
    inside = members(args, name)[:number]
    given = ("nullptr" if args[each] is None else f"{_local(each)}.give()" for each in inside)
    return f"{{{', '.join(given)}}}"


def _passed(kind: str, name: str, value: Argument) -> str:
    if kind in _HOLDERS:
        return "nullptr" if value is None else f"{_local(name)}.get()"
    assert not isinstance(value, tuple | TensorDesc | AclScalar)
    plain = kind in ("bool", "int64", "uint64", "double", "string")
    return c_literal(value) if plain else f"static_cast<{KINDS[kind].c_type}>({c_literal(value)})"


def _list(values: Iterable[float]) -> str:
    return "{" + ", ".join(map(c_literal, values)) + "}"


def _constructed(kind: str, value: Argument, with_data: bool) -> str:
    """What stands behind the name of an argument that is made of a description."""
    if isinstance(value, AclScalar):
        bits = raw(value.value, value.dtype)
        word = f"uint{8 * len(bits)}_t"
        return f"({word}{{{hex(int.from_bytes(bits, 'little'))}}}, k{value.dtype})"
    if isinstance(value, tuple):
        return f"(Dims{_list(value)})" if kind == "int_array" else _list(value)
    assert isinstance(value, TensorDesc)
    made = [f"Dims{_list(value.shape)}", f"k{value.dtype}", f"kFormat{value.format}"]
    if not value.plain:
        strides = "std::nullopt" if value.strides is None else f"Dims{_list(value.strides)}"
        made += [strides, c_literal(value.offset), f"Dims{_list(value.storage_extents)}"]
    if with_data:
        made.insert(
            0, f"Bytes{{{value.storage_elements * vocabulary().dtypes[value.dtype]['bits'] // 8}}}"
        )
    return f"({', '.join(made)})"


def _comment(text: str) -> str:
    """One line that is only a comment, whatever an id holds."""
    return text.encode("ascii", "backslashreplace").decode().replace("\\", "/").replace("?", ".")
