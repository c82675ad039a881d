"""How big must a buffer be? The smallest that meets targets, by simulation with common random numbers."""

from ackclock.advice.buffer.advise import BufferAdvice, advise_buffer

__all__ = ["BufferAdvice", "advise_buffer"]
