"""The Markov chain of additive increase and multiplicative decrease: windows and throughput.

    chain = aimd_chain.solve(aimd_chain.Bernoulli(0.001), w_max=64)
    aimd_chain.renewal_rate(chain, aimd_chain.rtt.constant(0.1), rate=500)

`loss` and `rtt` hold the input laws, `chain` the window, `throughput` the results. Each extension
is a module with its source. There are other growth and decrease (`general_aimd` with delayed ACKs,
`highspeed`; `cubic` with its own `solve`), bursty losses (`gilbert_elliott.solve`), timeouts
(`timeouts.renewal_rate`), and a buffer that the window itself fills (`drop_tail.solve`).
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
