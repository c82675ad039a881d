"""The devices that may carry the packets of an emulation."""

#: By name; `automatic` chooses one of the others.
DEVICES = ("automatic", "tun", "packet_socket")
