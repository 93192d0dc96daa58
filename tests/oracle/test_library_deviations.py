"""What a library does beside its page: which entries are listed, and as what."""

from __future__ import annotations

from opgen.oracle.erratafile import loads
from opgen.oracle.library_deviations import library_deviations
from opgen.spec.catalog import catalog

POOL = """\
api: aclnnAvgPool2dBackward
release: "9.9"
otherwise: page

stages:
  late: {rules: [divisorOverride.range], code: 561103, basis: observed, evidence: E}
  dies: {rules: [padding.null], when: self.rank == 3, code: crash, basis: observed, evidence: E}
  both: {rules: [pad_height], beside: [pad_width], code: 561002, basis: observed, evidence: E}
  settled: {rules: [channels], code: 161002, basis: observed, evidence: E}
  refused: {when: self.rank == 4, code: 561002, basis: observed, evidence: E}
  wider:
    require: self.rank <= 4
    instead_of: self.rank
    code: 161002
    basis: observed
    evidence: {file: f, digest: d, n: 3, m: 4}

tolerates:
  lets: {rules: [pad_width, stride.null], basis: observed, evidence: E}
  silent: {rules: [stride.null], basis: observed, evidence: E}
""".replace(": E}", ": {file: f, digest: d, n: 3, m: 4}}")


def test_every_kind_is_listed_and_what_agrees_with_the_page_is_not() -> None:
    page = loads(POOL, catalog())
    told = [
        (one.kind, one.id, [rule.id for rule in one.rules], one.when, one.returned)
        for one in library_deviations(page.pages["avg_pool2d_backward"])
    ]
    assert told == [
        ("not enforced", "lets", ["pad_width"], "", "0"),
        ("another check", "wider", ["self.rank"], "self.rank <= 4", "161002"),
        ("another code", "both", ["pad_height"], "beside pad_width", "561002"),
        ("another code", "late", ["divisorOverride.range"], "", "561103"),
        ("crash", "dies", ["padding.null"], "self.rank == 3", "crash"),
        ("refused", "refused", [], "self.rank == 4", "561002"),
    ]


def test_the_evidence_or_the_place_is_told() -> None:
    page = loads(POOL, catalog())
    deviations = library_deviations(page.pages["avg_pool2d_backward"])
    assert {each.known for each in deviations} == {"3 of 4 calls"}
