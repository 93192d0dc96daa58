"""Reading a bundle: opened and checked, by case, by batch, or read back as it was made."""
