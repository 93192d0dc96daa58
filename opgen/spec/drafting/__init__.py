"""From a page to the draft of its spec: facts that a strict reader takes, and what is left to
decide.

Nothing is guessed. A sentence says what a pattern of ``patterns.yaml`` takes whole; every other one
that may constrain a call stands under ``todo:``, with its line and the names in it. ``DRAFTS.md``
beside this file is the manual.
"""
