"""Documents as text and tables for a terminal: a report for each command."""
