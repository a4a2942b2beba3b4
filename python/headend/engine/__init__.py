"""What the compiled engine says of itself: build, names, what they take, table columns."""
