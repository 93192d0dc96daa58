"""What a comparison of answers and goldens rests on: measures, standards, statuses, and why an
output failed.

:func:`opgen.diff` puts it together; two reports, and what a site accepts, are compared with each
other here.
"""
