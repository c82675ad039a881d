"""Advice on a path of one's own: what was measured of it, what is run on it, what follows in a sentence."""

from ackclock.advice.buffer import BufferAdvice, advise_buffer
from ackclock.advice.feedback import FeedbackAdvice, advise_feedback

__all__ = ["BufferAdvice", "FeedbackAdvice", "advise_buffer", "advise_feedback"]
