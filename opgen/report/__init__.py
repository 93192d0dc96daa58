"""Verdicts, changes, coverage and back-tests as people and programs want them: text, JSON, JUnit,
HTML. Nothing here changes a verdict.
"""
