"""Floating-point numbers: the vendor's formats, data that make answers exact, and bounds where they
cannot be.

Knows nothing of operators, calls or files: arrays in, arrays out.
"""
