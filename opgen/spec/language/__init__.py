"""The rule language: a term is parsed once, and then read off whole columns."""
