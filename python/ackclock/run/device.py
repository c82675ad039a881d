"""The devices that may carry the packets of an emulation."""

__all__ = ["DEVICES"]

#: By name; `automatic` chooses one of the others.
DEVICES = ("automatic", "tun", "packet_socket")
