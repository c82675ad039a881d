"""Measures packet captures: what they show of their TCP connections."""

from ackclock.errors import CaptureError

__all__ = ["MODELS_OF_CAPTURES", "CaptureError"]

#: Models asked about captured connections: the usual ones that need not know how a link varies, and
#: the AIMD chain, which uses the RTT distribution that a capture provides.
MODELS_OF_CAPTURES = "square_root,pftk,cardwell,sawtooth,cubic_response,aimd_chain"
