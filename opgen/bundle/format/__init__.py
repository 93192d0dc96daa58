"""The form of a file: its container, header, types and digests, and where every tensor lies."""
