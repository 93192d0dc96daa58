"""What a killed process left where another file is to be written now: what would be lost there is
said first.
"""

from __future__ import annotations

from opgen.bundle import resuming
from opgen.bundle.claim import Claim
from opgen.bundle.dtypes import BundleError
from opgen.bundle.ledger import Ledger


def refuse(claim: Claim, force: bool, *, bundles: bool = True, answers: bool = True) -> None:
    """BundleError where the unfinished file holds a bundle (if ``bundles``) or answers (if
    ``answers``) that this writer would overwrite; the claim is let go of then.
    """
    found = "" if force else _held(claim, bundles, answers)
    if found:
        claim.leave()
        raise BundleError(
            f"{claim.partial}: holds {found} goes on from; name another file, or --force drops it"
        )


def _held(claim: Claim, bundles: bool, answers: bool) -> str:
    if resuming.begun(claim):
        return "an unfinished bundle, which opgen generate --resume" if bundles else ""
    number = len(Ledger(claim.partial, claim.fd).answers) if answers else 0
    return (
        f"{number} {'answer' if number == 1 else 'answers'} of an unfinished run, which opgen run"
        " --resume"
        if number
        else ""
    )
