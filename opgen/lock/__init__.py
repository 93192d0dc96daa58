"""What was expected before, held against what is expected now: locks and their refreshing."""
