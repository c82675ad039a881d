"""The Markov model (Bogoiavlenskaia, Kojo, Mutka and Alanko 2002), row by row."""

from ackclock_papers.seeds.row import Document, row

AIMD_CHAIN = "ackclock predict aimd_chain --loss 0.1% --loss-growth 1.05 --rtt 60ms --window 120"
AIMD_CHAIN_2 = (
    "ackclock predict aimd_chain --loss 1% --bad-loss 50% --bad-run 5 --rtt 60ms --window 120"
)
AIMD_CHAIN_3 = (
    "ackclock predict aimd_chain --loss 1% --rtt 60ms --rtt-sd 30ms --rtt-growth "
    "1ms --window 30 --link-rate 300segments/s"
)
AIMD_CHAIN_4 = "ackclock predict aimd_chain --loss 1% --rtt 60ms --window 120 --rounded-down 1"
AIMD_CHAIN_5 = (
    "ackclock predict aimd_chain --loss 1% --rtt 60ms --rtt-sd 30ms --window 30 "
    "--link-rate 300segments/s"
)
AIMD_CHAIN_6 = (
    "ackclock predict aimd_chain --loss 1% --rtt 60ms --rtt-sd 30ms --window 50 "
    "--link-rate 300segments/s"
)
AIMD_CHAIN_7 = (
    "ackclock predict aimd_chain --loss 1% --rtt 60ms --rtt-sd 30ms --window 30 "
    "--link-rate 300segments/s --level 150segments/s --share 0.9"
)
AIMD_CHAIN_8 = "ackclock predict aimd_chain --loss 1% --rtt 60ms --window 120"
AIMD_CHAIN_9 = (
    "ackclock predict aimd_chain --loss 1% --rtt 60ms --window 120 --link-rate 300segments/s"
)

DOCUMENT = Document(
    "Analytical Markovian model of TCP congestion avoidance",
    "O. Bogoiavlenskaia, M. Kojo, M. Mutka, T. Alanko, 2002",
    ("markov",),
    numbered=(
        "Figure 4.1",
        *(f"Figure 8.{number}" for number in range(1, 14)),
        "Table 7.1",
        "Table 7.2",
        *(f"Table 8.{number}" for number in range(1, 9)),
        "Equation 4.1",
        *(f"Equation 5.{number}" for number in range(1, 4)),
        *(f"Equation 8.{number}" for number in range(1, 6)),
    ),
    rows=(
        row(
            "Section 2, losses",
            "any memoryless pattern, which may depend on the window",
            AIMD_CHAIN,
            "ackclock predict aimd_chain --help",
        ),
        row(
            "Section 2, bursts",
            "patterns that are made memoryless, such as those of a channel of two states",
            AIMD_CHAIN_2,
        ),
        row(
            "Section 2, round trips",
            "a random round-trip time, which may depend on the window",
            AIMD_CHAIN_3,
        ),
        row(
            "Figure 4.1",
            "transitions of the chain",
            AIMD_CHAIN_4,
        ),
        row(
            "Equation 4.1",
            "the distribution of the window, in linear time",
            AIMD_CHAIN_4,
        ),
        row(
            "Equation 5.1",
            "round-trip time and window together",
            AIMD_CHAIN_5,
        ),
        row(
            "Equation 5.2",
            "the distribution of the throughput",
            AIMD_CHAIN_5,
        ),
        row(
            "Equation 5.3",
            "the same, with the link's rate",
            AIMD_CHAIN_5,
        ),
        row(
            "Figure 8.1",
            "windows at p = 0.00045",
            "markov-figure-8.1",
        ),
        row(
            "Figure 8.2",
            "windows at p = 0.0006",
            "markov-figure-8.2",
        ),
        row(
            "Figure 8.3",
            "windows at p = 0.001",
            "markov-figure-8.3",
        ),
        row(
            "Figure 8.4",
            "windows at p = 0.0045",
            "markov-figure-8.4",
        ),
        row(
            "Figure 8.5",
            "mean and deviation of the window by p",
            "markov-figure-8.5",
        ),
        row(
            "Section 6.1",
            "above p = 0.1 a limit above ten segments does not matter",
            "markov-figure-8.5",
        ),
        row(
            "Figure 8.6",
            "windows where the loss rate grows with them",
            "markov-figure-8.6",
        ),
        row(
            "Figure 8.7",
            "mean throughput by p, for three links",
            "markov-figure-8.7",
        ),
        row(
            "Section 6.2",
            "mean window and mean throughput have the same shape",
            "markov-figure-8.7",
        ),
        row(
            "Figure 8.8",
            "mean throughput by p, for three window limits",
            "markov-figure-8.8",
        ),
        row(
            "Figure 8.9",
            "deviation of the throughput by p, for three links",
            "markov-figure-8.9",
        ),
        row(
            "Section 6.3",
            "the variance of the throughput",
            AIMD_CHAIN_6,
            "markov-figure-8.10",
        ),
        row(
            "Figure 8.10",
            "deviation by p, for three window limits",
            "markov-figure-8.10",
        ),
        row(
            "Figure 8.11",
            "mean throughput by the mean round-trip time",
            "markov-figure-8.11",
        ),
        row(
            "Figure 8.12",
            "deviation by that of the round-trip time",
            "markov-figure-8.12",
        ),
        row(
            "Section 6.4",
            "the probability of a level, quantiles and intervals",
            AIMD_CHAIN_7,
            "markov-figure-8.13",
        ),
        row(
            "Figure 8.13",
            "the probability of half of the link's rate, by p",
            "markov-figure-8.13",
        ),
        row(
            "Table 7.1",
            "set 1: emulated connections beside three models",
            "markov-table-7.1",
        ),
        row(
            "Table 7.2",
            "mean throughput by p and window limit",
            "markov-table-7.2",
        ),
        row(
            "Table 8.1",
            "set 2",
            "markov-table-8.1",
        ),
        row(
            "Table 8.2",
            "set 3",
            "markov-table-8.2",
        ),
        row(
            "Table 8.3",
            "set 4",
            "markov-table-8.3",
        ),
        row(
            "Table 8.4",
            "set 5",
            "markov-table-8.4",
        ),
        row(
            "Table 8.5",
            "set 6",
            "markov-table-8.5",
        ),
        row(
            "Table 8.6",
            "set 7",
            "markov-table-8.6",
        ),
        row(
            "Table 8.7",
            "set 8",
            "markov-table-8.7",
        ),
        row(
            "Table 8.8",
            "set 9",
            "markov-table-8.8",
        ),
        row(
            "Section 7.1",
            "the emulated experiments",
            "markov-validation",
            "markov-validation-simulated",
        ),
        row(
            "Equation 8.1",
            "Theorem 1: from segments to time",
            AIMD_CHAIN_8,
        ),
        row(
            "Equation 8.2",
            "the length of a round, whose two branches are printed the wrong way round",
            AIMD_CHAIN_9,
        ),
        row(
            "Equation 8.3",
            "Theorem 2: from rounds to time",
            AIMD_CHAIN_8,
        ),
        row(
            "Equation 8.4",
            "the time between segments",
            AIMD_CHAIN_8,
        ),
        row(
            "Equation 8.5",
            "the distribution of the window over time",
            AIMD_CHAIN_8,
        ),
    ),
)
