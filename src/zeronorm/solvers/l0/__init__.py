"""The l0 constraint: exchanges on a growing pool, hard thresholding, augmented Lagrangians."""
