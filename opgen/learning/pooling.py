"""Findings of several rules that are one finding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from opgen.calls.factorize import by_key
from opgen.learning.conditions import about_emptiness
from opgen.learning.lesson import Finding, enforced, holding
from opgen.learning.precedence import kind, subject
from opgen.learning.splitting import LEAST
from opgen.learning.statuses import Returned
from opgen.spec.rules import Rule


def pooled(findings: Iterable[Finding], rules: Mapping[str, Rule]) -> Iterator[Finding]:
    """Findings that say the same of rules of one kind, as one; and those that only name the code
    that a page leaves open.
    """
    alike: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for place, finding in enumerate(findings):
        rule = rules[finding.rules[0]]
        settled = not finding.differs and not finding.when
        alike_in = (place,) if finding.against else ("",) if settled else kind(rule)
        alike[alike_in, finding.when, finding.status, finding.differs].append(finding)
    for group in alike.values():
        yield _one(group)


def widened(
    findings: Sequence[Finding], returned: Returned, decided: Sequence[np.ndarray]
) -> Iterator[Finding]:
    """The same; what a condition lets pass, it lets pass of other rules, too, of which all
    calls were accepted that meet it: there may be few of each. These rules are about the same
    thing, such as dtypes, or about anything where the condition is that a tensor is empty.
    ``decided``: the rows of the calls that decide each rule. Of a rule of which few calls speak,
    and all of them so, the condition is all that they show.
    """
    few = [each for each in findings if _is_of_few_calls(each)]
    findings = [each for each in findings if not _is_of_few_calls(each)]
    left = enforced(returned.judgement, findings)
    covered: set[int] = set()
    for finding in findings:
        if not finding.when or finding.status != 0 or finding.hint:
            yield finding
            continue
        held, more = holding(returned.judgement, finding), {}
        subjects = {subject(returned.spec.rule[rule]) for rule in finding.rules}
        for i, rule in enumerate(returned.spec.rules):
            rows = decided[i][(held & left[i])[decided[i]]]
            alike = subject(rule) in subjects or about_emptiness(finding.when)
            if alike and rule.forbids and len(rows) and not returned.status[rows].any():
                more[rule.id] = rows.tolist()
                left[i] &= ~held
        covered.update(*more.values())
        calls = tuple(sorted({*finding.calls, *chain.from_iterable(more.values())}))
        asked = finding.asked + len(calls) - len(finding.calls)
        rules = tuple(dict.fromkeys((*finding.rules, *more)))
        yield replace(finding, rules=rules, calls=calls, asked=asked)
    yield from (each for each in few if not covered.issuperset(each.calls))


def together(findings: Iterable[Finding], rules: Mapping[str, Rule]) -> Iterator[Finding]:
    """The same; what few calls show of each of several rules, whatever the call, is one finding:
    first of rules about the same thing, then of any. The few that are left then join the finding of
    that kind which most calls show: it is about all rules that the library treats so.
    """
    few: list[Finding] = []
    enough: list[Finding] = []
    for finding in findings:
        alone = finding.hint and not finding.when and not finding.against
        (few if alone else enough).append(finding)
    for alike in (subject, lambda rule: ""):
        groups = by_key(
            ((alike(rules[each.rules[0]]), each.status, each.differs), each) for each in few
        )
        merged = [_one(group) for group in groups.values()]
        few = [each for each in merged if each.hint]
        enough += (each for each in merged if not each.hint)
    for finding in few:
        said = finding.status, finding.differs
        kin = [e for e in enough if not (e.when or e.hint) and (e.status, e.differs) == said]
        if kin:
            most = max(kin, key=lambda each: len(each.calls))
            enough[enough.index(most)] = _one([most, finding])
        else:
            enough.append(finding)
    yield from enough


def _one(findings: Sequence[Finding]) -> Finding:
    """Findings that say the same of several rules."""
    if len(findings) == 1:
        return findings[0]
    calls = tuple(sorted({call for each in findings for call in each.calls}))
    ids = tuple(dict.fromkeys(rule for each in findings for rule in each.rules))
    asked = max(len(calls), sum(each.asked for each in findings))
    return replace(findings[0], rules=ids, calls=calls, asked=asked)


def _is_of_few_calls(finding: Finding) -> bool:
    return not finding.when and finding.status == 0 and len(finding.calls) < LEAST
