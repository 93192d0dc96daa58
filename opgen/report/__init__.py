"""Verdicts, changes and coverage as people and programs want them: text, JSON, JUnit, HTML. Nothing here changes a verdict."""
