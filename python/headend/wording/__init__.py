"""Facts in words: sentences about what was found, and tables of it."""
