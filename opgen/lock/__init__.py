"""What was expected before, held against what is expected now: the lock of a plan, and how it is refreshed."""
