"""The Markov chain of additive increase and multiplicative decrease: windows, round-trip times, throughput.

    chain = aimd_chain.solve(aimd_chain.Bernoulli(0.001), w_max=64)
    aimd_chain.renewal_rate(chain, aimd_chain.rtt.constant(0.1), rate=500)

`loss` and `rtt` hold the laws that go in, `chain` the window, `throughput` what comes out.
Extensions, one module
each: other ways to grow and fall (`general_aimd` with delayed ACKs, `highspeed`; `cubic` with a
    `solve` of its own),
losses in bursts (`gilbert_elliott.solve`), timeouts (`timeouts.renewal_rate`), a buffer that the
window fills itself (`drop_tail.solve`). See each for its source.
"""

from ackclock.models.aimd_chain import cubic, drop_tail, gilbert_elliott, rtt, timeouts
from ackclock.models.aimd_chain.chain import MODES, WindowChain, solve, solve_many
from ackclock.models.aimd_chain.general_aimd import GeneralAimd, delayed_acks
from ackclock.models.aimd_chain.highspeed import HighSpeed
from ackclock.models.aimd_chain.loss import Bernoulli, Loss, Memoryless, WindowDependent
from ackclock.models.aimd_chain.record import MODEL
from ackclock.models.aimd_chain.throughput import TIME_WEIGHTED, Throughput, renewal_rate

__all__ = [
    "MODEL",
    "MODES",
    "TIME_WEIGHTED",
    "Bernoulli",
    "GeneralAimd",
    "HighSpeed",
    "Loss",
    "Memoryless",
    "Throughput",
    "WindowChain",
    "WindowDependent",
    "cubic",
    "delayed_acks",
    "drop_tail",
    "gilbert_elliott",
    "renewal_rate",
    "rtt",
    "solve",
    "solve_many",
    "timeouts",
]
