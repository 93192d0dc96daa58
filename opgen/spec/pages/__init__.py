"""The vendor's pages as they are, before anybody decides what they mean."""
