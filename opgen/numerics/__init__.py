"""Floating-point numbers: the vendor's formats, data that make answers exact, and bounds where they
cannot be.

Knows nothing of operators, calls or files: arrays in, arrays out. A canary is the one number that
no operation returns.
"""
