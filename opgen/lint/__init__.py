"""What people write, checked: specs, plans and errata, the facts of a page in its own order, and
pages that changed.
"""
