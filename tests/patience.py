"""How long tests wait for another program before they call it stuck."""

#: In seconds. No test measures speed, and a busy machine is always late, so this only ends a hang.
PATIENCE_S = 600
