"""Files that people write: where they lie, and how they are read; every problem of a file at once, each with its line."""
