"""Inputs whose numbers are alike, whatever their shapes."""

from __future__ import annotations

from opgen.generation.kernels import Parts
from opgen.generation.numbers import Numbers, numbers_of
from opgen.spec.catalog import catalog
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.plan import plan_for


def test_inputs_are_alike_where_recipe_dtype_and_precision_are_and_no_matter_their_shapes() -> None:
    spec = catalog().of("aclnnReflectionPad1dBackward")[0]
    suite = plan_suite([(spec, plan_for(spec.op))], "smoke")
    kernel = Parts.of(spec.op)
    of_kind: dict[tuple[str, ...], list[tuple[tuple[int, ...], Numbers]]] = {}
    for batch in suite.batches:
        tensor = batch.tensors["gradOutput"]
        kind = batch.recipe, tensor.dtype, batch.compute
        numbers = numbers_of(batch, kernel, 1)["gradOutput"]
        if numbers.alike is not None:
            of_kind.setdefault(kind, []).append((tensor.shape, numbers))
    alike = [{id(numbers.alike) for _, numbers in some} for some in of_kind.values()]
    assert len(of_kind) > 2 and all(len(kinds) == 1 for kinds in alike)
    assert len(set.union(*alike)) == len(of_kind)
    assert any(len({shape for shape, _ in some}) > 1 for some in of_kind.values())
