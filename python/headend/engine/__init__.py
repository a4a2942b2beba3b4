"""What the compiled engine says of itself: its build, its names and what they take, the columns of its tables."""
