"""From drafted calls to judged ones: which are legal, which stand at a limit, which break one rule,
which break two.

Edits are proposals; what they break is what the judge says of them.
"""
