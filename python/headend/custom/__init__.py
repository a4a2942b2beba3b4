"""Control laws and congestion controls of one's own: classes in Python files."""
