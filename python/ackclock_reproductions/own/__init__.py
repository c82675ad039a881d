"""Experiments of our own, which guides and notes show."""
