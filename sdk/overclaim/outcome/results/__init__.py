"""A tool's result -> what happened: `observing.observe` gives the outcome with its evidence."""
