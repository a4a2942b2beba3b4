"""What the results of one run mean: how each flow fared, which queue did the harm and why, and what was expected."""
