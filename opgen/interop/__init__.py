"""Other tools' case files and opgen's calls and bundles: ATK's JSON, TTK's CSV, gtest, npz.
``FORMATS.md`` describes them.
"""
