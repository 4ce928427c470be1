"""Functions that make the records which --json prints and reports show."""
