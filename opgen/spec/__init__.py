"""What a vendor's page says: its parameters and rules, read from ``specs/`` and compared with
columns of calls.

One statement of each fact, read twice: the judge labels calls by it, the maker makes calls of it.
``RULES.md`` beside this file is the manual of what people write.
"""
