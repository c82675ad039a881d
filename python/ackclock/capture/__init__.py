"""Measures packet captures: what they show of their TCP connections."""

from ackclock.capture.measurement import MODELS_OF_CAPTURES, measure
from ackclock.errors import CaptureError

__all__ = ["MODELS_OF_CAPTURES", "CaptureError", "measure"]
