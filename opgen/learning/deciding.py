"""Which calls decide what becomes of a rule.

A call decides a rule where it breaks no other rule that the library is known to enforce, or where
it was accepted.
"""

from __future__ import annotations

import numpy as np

from opgen.learning.lesson import Finding, enforced, returns
from opgen.learning.precedence import answering, kind
from opgen.learning.splitting import LEAST
from opgen.learning.statuses import DIED, Returned


class Deciding:
    """The calls of one page, and what they decide for all that is known."""

    def __init__(self, returned: Returned) -> None:
        self.returned = returned
        self.spec, self.judgement = returned.spec, returned.judgement
        self.status = returned.status
        kinds = [kind(rule) for rule in self.spec.rules]
        self.alike = np.array([[kind == other for other in kinds] for kind in kinds])
        self.enforced = self.judgement.broken.copy()
        named = np.array([rule.code == self.status for rule in self.spec.rules]) & self.enforced
        self.told = named.any(axis=0) & ~named
        self.suspects = self.enforced
        self.blamed = np.zeros_like(self.enforced)

    def decided(self, known: tuple[Finding, ...]) -> list[np.ndarray]:
        """Of each rule the calls that decide it, once what is ``known`` to be let pass counts as
        not broken.
        """
        self.enforced = enforced(self.judgement, known)
        self.suspects = self.enforced & self.returning(known)
        self.blame()
        return [self.of_rule(i) for i in range(len(self.spec.rules))]

    @property
    def free(self) -> np.ndarray:
        """(rows,) bool: calls that break nothing that is enforced or to blame."""
        return np.asarray(~self.enforced.any(axis=0) & ~self.blamed.any(axis=0))

    def returning(self, known: tuple[Finding, ...]) -> np.ndarray:
        """(rules, rows) bool: for all that is known, the rule returns the status of the call."""
        said = returns(self.judgement, known)
        return np.asarray(answering(self.spec.rules, said, self.status) | (self.status == DIED))

    def of_rule(self, i: int) -> np.ndarray:
        """The calls that decide a rule: those that break no other, or were accepted. Where these
        are too few, also those that break others which do not return what they returned, and those
        that were refused because of this rule for all that is known. A call decides nothing of a
        rule where the page names its status for another that it breaks.
        """
        broken, firm = self.judgement.broken[i] & ~self.told[i], self.returned.firm
        others = self.suspects.sum(axis=0) - self.suspects[i]
        alone = broken & ((self.enforced.sum(axis=0) == self.enforced[i]) | (self.status == 0))
        alone |= broken & (others == 0) & (self.status == self.spec.rules[i].code)
        if (alone & firm).sum() >= LEAST:
            return np.flatnonzero((alone | (broken & self.blamed[i] & (others == 0))) & firm)
        of_kind = self.enforced[self.alike[i]].sum(axis=0)
        alone |= broken & (self.enforced.sum(axis=0) == of_kind)
        return np.flatnonzero(((broken & (others == 0)) | alone | (broken & self.blamed[i])) & firm)

    def blame(self) -> None:
        """Calls that were refused though all that they break is believed to be let pass: because of
        a rule that no call breaks alone and passes.
        """
        broken = self.judgement.broken
        passes = (broken & ((broken.sum(axis=0) == 1) & (self.status == 0))).any(axis=1)
        strange = (self.status != 0) & ~self.enforced.any(axis=0)
        self.blamed |= broken & strange & ~passes[:, None]
