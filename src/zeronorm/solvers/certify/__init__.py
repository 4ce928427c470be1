"""Bounds, certificates and proofs, by scans of all features."""
