"""Results of runs: a folder with `run.json` and tables, written whole or as a run goes on."""
