"""At most so many features in at most so many groups."""
