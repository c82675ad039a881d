"""ABSE of TCP Westwood (Wang, Valla, Sanadidi and Gerla 2002), row by row."""

from ackclock_papers.seeds.row import Document, numbers, row

ABSE = "ackclock show estimators abse"
ABSE_LITERAL = "ackclock show estimators abse_literal"

DOCUMENT = Document(
    "Adaptive rate estimation for TCP Westwood",
    "R. Wang, M. Valla, M. Y. Sanadidi, M. Gerla, 2002",
    ("westwood",),
    numbered=(*numbers("Figure", 1, 21), *numbers("Equation", 1, 6)),
    rows=(
        row(
            "Section 2",
            "window and threshold after a loss, from the estimate",
            "ackclock show controls westwood_abse",
        ),
        row(
            "Figure 1",
            "samples of BE, a pair of ACKs, and of RE, a train",
            "ackclock show estimators",
        ),
        row(
            "Figure 2",
            "BE and RE under congestion",
            "westwood-figure-2",
        ),
        row(
            "Figure 3",
            "BE and RE under random loss",
            "westwood-figure-3",
        ),
        row(
            "Figure 4",
            "the sampling interval by the state of the path",
            ABSE,
        ),
        row(
            "Equation 1",
            "the filter of the estimate",
            ABSE_LITERAL,
        ),
        row(
            "Equation 2",
            "the sampling interval",
            ABSE_LITERAL,
        ),
        row(
            "Equation 3",
            "the same, with rates",
            ABSE_LITERAL,
        ),
        row(
            "Equation 4",
            "the sample",
            ABSE_LITERAL,
        ),
        row(
            "Equation 5",
            "the instability",
            ABSE_LITERAL,
        ),
        row(
            "Equation 6",
            "the time constant",
            ABSE_LITERAL,
        ),
        row(
            "Figure 5",
            "ABSE under congestion and under random loss",
            "westwood-figure-5",
        ),
        row(
            "Figure 6",
            "how the time constant adapts",
            ABSE,
        ),
        row(
            "Figure 7",
            "adaptive and fixed time constants beside UDP",
            "westwood-figure-7",
        ),
        row(
            "Figure 8",
            "the block diagram of ABSE",
            ABSE_LITERAL,
        ),
        row(
            "Figure 9",
            "BE with ACK compression",
            "westwood-figure-9",
        ),
        row(
            "Figure 10",
            "ABSE with ACK compression",
            "westwood-figure-10",
        ),
        row(
            "Figure 11",
            "BE and ABSE with cross traffic behind the bottleneck",
            "westwood-figure-11",
        ),
        row(
            "Figure 12",
            "throughput by a small buffer's size",
            "westwood-figure-12",
        ),
        row(
            "Figure 13",
            "windows and estimate with a buffer of four packets",
            "westwood-figure-13",
            "westwood-figure-13c",
        ),
        row(
            "Figure 14",
            "queueing time by a large buffer's size",
            "westwood-figure-14",
        ),
        row(
            "Figure 15",
            "windows with a buffer of 160 packets",
            "westwood-figure-15",
        ),
        row(
            "Figure 16",
            "throughput and drops of ten senders by the buffer",
            "westwood-figure-16a",
            "westwood-figure-16b",
        ),
        row(
            "Figure 17",
            "the wired and wireless path",
            "westwood-figure-18",
        ),
        row(
            "Figure 18",
            "gain over NewReno by random loss",
            "westwood-figure-18",
        ),
        row(
            "Section 4.4, propagation time",
            "ABSE holds its throughput as the round-trip time grows, compared with NewReno",
            "westwood-section-4.4a",
        ),
        row(
            "Section 4.4, speed",
            "ABSE uses a fast bottleneck better than NewReno",
            "westwood-section-4.4b",
        ),
        row(
            "Section 3.1.2, CRB",
            "CRB is friendly to NewReno, and loses efficiency",
            "westwood-figure-20a",
            "westwood-figure-18",
        ),
        row(
            "Figure 19",
            "fairness of ten senders of a kind",
            "westwood-figure-19",
        ),
        row(
            "Figure 20",
            "friendliness of BE and ABSE to NewReno",
            "westwood-figure-20a",
            "westwood-figure-20b",
        ),
        row(
            "Figure 21",
            "five senders join five others",
            "westwood-figure-21a",
            "westwood-figure-21b",
        ),
        row(
            "All figures, by reading",
            "what the document leaves open, and what it changes",
            "westwood-readings",
        ),
        row(
            "Section 6, Linux",
            "ABSE's relative in a popular system",
            "westwood-validation",
        ),
        row(
            "Section 6, stability",
            "a control model of the stability of TCP Westwood",
            lacking=(
                "the document announces it and states nothing of it. A linear model was tried "
                "beside the engine, with RED (`benches/abse_stability.py`). While the queue is "
                "busy, each sample is the link's share, so the filter and its sampling drop out of "
                "the loop. In the engine constant time constants of 0.1 and 5 s do give the same "
                "queue (65 and 65, 21 and 20, 28 and 27 packets). But the adaptive filter gives "
                "another (98, 47, 43), and the model a third (140, 110, 101). It calls the first "
                "point stable, where the queue's deviation is 67 packets: what decides is how the "
                "filter adapts, and the printed equations have two stable states "
                "([note](notes/why-printed-abse-is-bistable.md))"
            ),
        ),
        row(
            "Section 6, short sessions",
            "ABSE in short-lived sessions, beside equation-based rate control",
            lacking="announced as future work, without a statement of a result",
        ),
    ),
)
