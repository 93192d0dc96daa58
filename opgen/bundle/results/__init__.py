"""What a device answered: kept while it runs, finished as a file, read and joined."""
