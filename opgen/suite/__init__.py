"""Suites: the cases of a bundle, with names, budget and recipes, and the batches in which their
data are computed.
"""
