"""Judges candidates for a congestion control in seconds: a vector, ranks, worst paths, flags."""
