"""The l1 problem: its certified points, its solvers, paths and sizes."""
