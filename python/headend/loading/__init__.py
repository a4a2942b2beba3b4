"""Results of any kind, read back from their folders."""
