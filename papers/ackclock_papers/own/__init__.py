"""Our own experiments, shown in guides and notes."""
