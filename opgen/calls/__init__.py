"""Calls: as lines of JSON, and as columns of a table. The table is all that judge and maker share
of a call.

A table is a struct of arrays, a row per call, in the vendor's words; its integers never wrap.
"""
