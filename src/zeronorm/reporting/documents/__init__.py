"""What commands find out: --json prints it, a report shows it. It has types of JSON alone."""
