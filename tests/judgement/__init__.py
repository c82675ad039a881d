"""Judgements of candidates."""
