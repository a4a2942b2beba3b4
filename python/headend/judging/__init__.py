"""What results mean: how each flow fared, which queue did the harm, what was expected, how runs differ."""
