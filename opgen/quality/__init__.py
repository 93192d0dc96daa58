"""How good a suite is: what it counts, what it covers, and which deliberately wrong devices it
catches.
"""
