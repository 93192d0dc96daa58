"""From built calls to judged ones: which are legal, which stand at a limit, which break one rule,
which break two.

What edits break is what the judge says of them.
"""
