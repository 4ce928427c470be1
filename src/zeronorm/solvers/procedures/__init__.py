"""Whole selections: from a task to the path of its models."""
