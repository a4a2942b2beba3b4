"""From a named scenario to one that the engine accepts: files, overrides, groups."""
