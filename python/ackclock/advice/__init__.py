"""Recommendations for a path: what to feed back to a sender, and how large to make a buffer."""

from ackclock.advice.buffer import BufferAdvice, advise_buffer
from ackclock.advice.feedback import FeedbackAdvice, advise_feedback

__all__ = ["BufferAdvice", "FeedbackAdvice", "advise_buffer", "advise_feedback"]
