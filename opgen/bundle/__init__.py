"""Bundles and results files: HDF5, columnar, checked. The only package that imports h5py.

``FORMAT.md`` beside this file says what lies where, for readers in any language.
"""
