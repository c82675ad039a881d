"""Recommends a buffer size: the smallest that meets targets, by simulation with common seeds."""

from ackclock.advice.buffer.advise import BufferAdvice, advise_buffer

__all__ = ["BufferAdvice", "advise_buffer"]
