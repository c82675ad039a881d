"""Common parts of the figures over a parameter."""

#: Names of the flow groups, and of the hop that differs between points.
FLOW = "senders"
BOTTLENECK = "bottleneck"

#: Largest random delay of packets, in figures with several senders. Without it the packets of each
#: sender stay together as trains (Shenker, Zhang and Clark, "Some observations on the dynamics of a
#: congestion control algorithm", 1990), and ABSE's estimate is far too low. Guessed; `readings`
#: shows what else breaks trains up.
JITTER_S = 0.010
JITTER = f"uniform up to {JITTER_S * 1000:g} ms, which breaks up trains of packets"
