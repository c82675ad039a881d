"""Judgements whether a run shows what it seems to: a steady state, an L4S flow."""
