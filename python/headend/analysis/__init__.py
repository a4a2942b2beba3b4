"""What the results of a run mean: how each flow fared, which queue did the harm, and why."""
