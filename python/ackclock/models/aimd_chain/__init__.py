"""The Markov chain of additive increase and multiplicative decrease: windows, round-trip times, throughput.

    chain = aimd_chain.solve(aimd_chain.Bernoulli(0.001), w_max=64)
    aimd_chain.renewal_rate(chain, aimd_chain.rtt.constant(0.1), rate=500)

`loss` and `rtt` hold the laws that go in, `chain` the window, `throughput` what comes out. See each for its source.
"""

from ackclock.models.aimd_chain import rtt
from ackclock.models.aimd_chain.chain import MODES, WindowChain, solve
from ackclock.models.aimd_chain.growth import GeneralAimd
from ackclock.models.aimd_chain.loss import Bernoulli, Loss, Memoryless, WindowDependent
from ackclock.models.aimd_chain.throughput import TIME_WEIGHTED, Throughput, renewal_rate

__all__ = [
    "MODES",
    "TIME_WEIGHTED",
    "Bernoulli",
    "GeneralAimd",
    "Loss",
    "Memoryless",
    "Throughput",
    "WindowChain",
    "WindowDependent",
    "renewal_rate",
    "rtt",
    "solve",
]
