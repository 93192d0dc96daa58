"""Which tensors of a call are kept in a bundle, and how many elements each takes."""

from __future__ import annotations

import numpy as np

from opgen.calls.categorical import Categorical
from opgen.calls.layout import storage_elements, volume
from opgen.calls.stored_tensors import StoredTensors, TensorKind
from opgen.calls.vocabulary import vocabulary
from opgen.numerics.formats import DTYPES
from opgen.oracle.judgement import Judgement


def stored(judged: Judgement, used: np.ndarray, of: np.ndarray) -> StoredTensors:
    """Every input, and a golden and a bound per output that is asked for.

    Case ``i`` makes the call in row ``used[of[i]]`` of a judged table; where ``of[i]`` is -1 it has
    no data, and keeps nothing.
    """
    wanted, tensors = judged.wanted, judged.table.tensors
    slots = [(p.name, "input") for p in judged.spec.inputs]
    slots += [(name, role) for name in wanted for role in ("golden", "bound")]
    there, dtypes, sizes = [], [], []
    for name, role in slots:
        column, read = tensors[name], role == "input"
        there.append((~column.null if read else wanted[name])[used])
        dtypes.append(column.dtype[used])
        sizes.append((storage_elements(column) if read else volume(column.shape))[used])
    held, known = np.array(there).T, vocabulary().names["dtype"]
    codes = (np.array(dtypes, dtype=np.int64).T + np.arange(len(slots)) * len(known))[held]
    present, number = np.unique(codes, return_inverse=True)
    places = [divmod(int(code), len(known)) for code in present]
    kinds = [_kept(*slots[slot], known[dtype]) for slot, dtype in places]
    counts = np.concatenate([[0], np.count_nonzero(held, axis=1)])
    sizes_held = np.array(sizes).T[held].astype(np.int64)
    return StoredTensors(Categorical.coded(kinds, number), sizes_held, counts, of + 1)


def _kept(name: str, role: str, dtype: str) -> TensorKind:
    """A tensor of a parameter of this dtype in the dtype that it is kept in, of which goldens and
    bounds of several have the same.
    """
    numbers = DTYPES[dtype]
    return name, role, {"golden": numbers.golden, "bound": numbers.bound}.get(role, dtype)
