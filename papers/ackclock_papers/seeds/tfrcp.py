"""TFRCP (Padhye, Kurose, Towsley and Koodli 1999), row by row."""

from ackclock_papers.seeds.row import Document, numbers, row

DOCUMENT = Document(
    "A model based TCP-friendly rate control protocol",
    "J. Padhye, J. Kurose, D. Towsley, R. Koodli, 1999",
    ("tfrcp",),
    numbered=(*numbers("Figure", 1, 6), *numbers("Equation", 1, 2)),
    rows=(
        row(
            "Equation 1",
            "the square-root law C/(R sqrt p), and above which loss rate it is not accurate",
            "tfrcp-section-2",
            "ackclock predict square_root --loss 1% --rtt 100ms",
        ),
        row(
            "Section II.A, other protocols",
            "five protocols that the document compares itself with",
            lacking=(
                "two are for multicast with layers, which ackclock has not; of the three others "
                "one sentence each is printed, and no numbers of their rules"
            ),
        ),
        row(
            "Equation 2",
            "throughput by window limit, round-trip time, loss rate and timeout",
            "ackclock predict pftk --loss 1% --rtt 100ms --timeout 400ms --window 64",
        ),
        row(
            "Section II.B",
            "TFRCP: rounds of length M, acknowledgement vectors, the rate of the next round",
            "ackclock show rate_controls tfrcp",
            "ackclock predict tfrcp --loss 1% --rtt 100ms",
        ),
        row(
            "Section II.B, start",
            "the initial rate has little impact",
            "tfrcp-readings",
        ),
        row(
            "Figure 1",
            "the topology",
            "tfrcp-figure-2a",
        ),
        row(
            "Section III.B",
            "the ratios F, E and FC",
            "tfrcp-figure-2a",
            "tfrcp-figure-3",
        ),
        row(
            "Figure 2",
            "friendliness by load, for three strategies of the interval",
            "tfrcp-figure-2a",
            "tfrcp-figure-2b",
            "tfrcp-figure-2c",
        ),
        row(
            "Figures 2a and 2b, by reading",
            "one reading under which both are as printed",
            "tfrcp-readings",
        ),
        row(
            "Figure 3",
            "fairness among TFRCP senders",
            "tfrcp-figure-3",
        ),
        row(
            "Figure 4",
            "a constant share of the bottleneck for each sender",
            "tfrcp-figure-4",
        ),
        row(
            "Figure 5",
            "friendliness beside short and longer transfers",
            "tfrcp-figure-5a",
            "tfrcp-figure-5b",
        ),
        row(
            "Figure 6",
            "friendliness beside on-off UDP sources",
            "tfrcp-figure-6",
        ),
        row(
            "Section IV",
            "experiments over the Internet",
            "tfrcp-on-linux",
            lacking="as printed, since the pages with the results are lost",
        ),
    ),
)
