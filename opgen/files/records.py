r"""Records: mappings whose keys a dataclass declares, each with the form of its value.

>>> from dataclasses import dataclass
>>> from opgen.files.forms import text, whole
>>> from opgen.files.yamlfile import parse
>>> @dataclass
... class Crop:
...     name: str = key(text("a name"), "", required=True)
...     rows: int = key(whole("how many rows", 1), 1)
>>> document = parse("name: 7\nrow: 3")
>>> record(Crop).read(document, (), document.data)
Crop(name='', rows=1)
>>> print(*document.problems, sep="\n")
<text>:2: row: no such key (did you mean 'rows'?); known: name, rows
<text>:1: name: expects a name, not 7
>>> record(Crop).schema()["required"]
['name']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any, cast

from opgen.files.forms import Form, S, Schema, T
from opgen.files.yamlfile import Document, Location


def key(
    form: Form[T], default: S, *, required: bool = False, only: Callable[[Any], bool] | None = None
) -> T | S:
    """A field of a record, and what it is where it is absent or wrong. ``only``: of which records
    it is a field (:func:`record`).
    """
    known = {"form": form, "required": required, "only": only}
    return cast("T | S", field(default_factory=lambda: default, metadata=known))


def keys(cls: type, of: object = None) -> list[str]:
    """The keys of a record; some may be those of some records only."""
    return [
        f.name.rstrip("_")
        for f in fields(cls)
        if f.metadata["only"] is None or f.metadata["only"](of)
    ]


def record(cls: type[T], what: str = "key", of: object = None) -> Form[T]:
    """A mapping with the keys of a dataclass, which :func:`key` declares, and with no other:
    messages call one ``what``. ``of`` chooses among keys that not all such records have. The field
    of a key that is a word of Python ends in ``_``.
    """
    all_fields = {f.name.rstrip("_"): f for f in fields(cast("Any", cls))}
    declared = {name: all_fields[name] for name in keys(cls, of)}
    forms: Mapping[str, Form[Any]] = {name: f.metadata["form"] for name, f in declared.items()}
    required = [name for name, f in declared.items() if f.metadata["required"]]

    def inside(document: Document, where: Location, body: dict[str, object]) -> T:
        document.known(where, body, forms, what)
        for name in required:
            if name not in body:
                document.problem(where, f"the key '{name}' is missing")
        read = {
            name: form.read(document, (*where, name), body[name])
            for name, form in forms.items()
            if name in body
        }
        return cls(**{declared[k].name: value for k, value in read.items() if value is not None})

    def schema() -> Schema:
        return {
            "type": "object",
            "properties": {
                name: {"description": form.expects, **form.schema()} for name, form in forms.items()
            },
            "required": required,
            "additionalProperties": False,
        }

    expects = f"a mapping with some of {', '.join(forms)}"
    return Form(expects, schema, lambda v: isinstance(v, dict), inside)
