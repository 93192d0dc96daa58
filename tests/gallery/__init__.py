"""The pictures of the README, made from real runs: ``python -m tests.gallery`` writes them anew
beside this file.

Terminals become SVG, by rich; pages become PNG, by a headless Chromium. A test holds what stands
here against the README.
"""
