"""Running scenarios: simulated, emulated, replayed, predicted; and what is kept of it."""
