"""The judge: what the page, and what the published library, answer to a table of calls.

It makes no calls and knows nobody who does. ``ERRATA.md`` beside this file is the manual of the
second source.
"""
