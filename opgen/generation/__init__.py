"""Batches -> inputs, goldens and bounds -> bundle: in this process, in several, or on a cluster, to
the same bytes.
"""
