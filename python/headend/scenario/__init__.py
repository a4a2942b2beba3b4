"""From what a person names to a scenario that the engine accepts: files, shipped scenarios, overrides, groups."""
