"""Keeping what people write right: specs checked, shown and held against their pages, plans held against their locks."""
