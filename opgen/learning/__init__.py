"""Where the library differs from its pages, learnt from statuses that it returned.

Calls that break one rule of a page alone decide what becomes of the rule; where they contradict
each other, words of the spec tell them apart. The result is errata of the basis *observed*.
"""
