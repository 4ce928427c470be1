"""Results, types, checks and small tools that all layers share."""
