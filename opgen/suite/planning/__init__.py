"""What we choose to try of one operator, and the calls that follow from a choice: plans of
``cases/``, axes, drafted calls.

Nothing here says whether a call is legal; the judge does, where drafted calls meet it: in
:mod:`opgen.suite.enumeration`. ``PLANS.md`` beside this file is the manual of what people write.
"""
