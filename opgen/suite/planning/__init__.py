"""What we choose to try of one operator, and the calls that follow from a choice: plans of
``cases/``, axes, and calls built from their values.

Nothing here says whether a call is legal; the judge does, where calls meet it: in
:mod:`opgen.suite.enumeration`. ``PLANS.md`` beside this file is the manual of what people write.
"""
