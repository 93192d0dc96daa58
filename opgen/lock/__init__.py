"""What was expected before, compared with what is expected now: locks and their refreshing."""
