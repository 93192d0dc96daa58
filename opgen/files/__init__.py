"""Files that people write: where they lie, and how they are read, all problems at once."""
