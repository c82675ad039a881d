"""What the figures over a parameter share."""

#: The names of the flow groups and of the hop in which these figures differ from point to point.
FLOW = "senders"
BOTTLENECK = "bottleneck"

#: In figures with several senders: their packets leave up to this much later than they could.
#: Without, those of each sender stay together, as trains (Shenker, Zhang and Clark, "Some
#: observations on the dynamics of a congestion control algorithm", 1990), and ABSE reads their rate
#: far too low. Guessed; `readings` shows what else breaks trains up.
JITTER_S = 0.010
JITTER = f"uniform up to {JITTER_S * 1000:g} ms, which breaks up trains of packets"
