"""How numbers, lists and foreign text are written."""
