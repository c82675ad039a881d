"""Buffers and slow start, cells, HighSpeed TCP (Reddy), row by row."""

from ackclock_papers.seeds.row import Document, numbers, row

SHORT_TRANSFER = (
    "ackclock predict short_transfer --size 400 --rate 125segments/s --rtt 500ms --buffer 20"
)
SHORT_TRANSFER_2 = (
    "ackclock predict short_transfer --size 400 --rate 125segments/s --rtt 500ms "
    "--buffer 20 --segments-per-ack 2"
)

DOCUMENT = Document(
    "Influence of router buffer size on TCP execution",
    "D. A. M. Reddy, after Barakat and Altman, Li and Leith, and Barman, Smaragdakis and Matta",
    (
        "short",
        "wifi",
        "hstcp",
    ),
    numbered=(*numbers("Figure", 1, 17), "Table I", *numbers("Equation", 1, 5)),
    rows=(
        row(
            "Section I, Hoe",
            "a threshold at the bandwidth-delay product, from the stream of ACKs",
            "short-section-5",
        ),
        row(
            "Section V, threshold",
            "a threshold that is to avoid losses must take account of the buffer",
            "short-section-5",
        ),
        row(
            "Figure 1",
            "bursts of slow start at the bottleneck",
            SHORT_TRANSFER,
        ),
        row(
            "Equation 1",
            "the window grows by a share of 1/d in a round trip",
            SHORT_TRANSFER_2,
        ),
        row(
            "Equation 2",
            "the window at the overflow of a small buffer",
            "short-figure-2",
        ),
        row(
            "Equation 3",
            "that of a large one",
            "short-figure-2",
        ),
        row(
            "Equation 4",
            "the theorem: both in one",
            "short-figure-2",
        ),
        row(
            "Equation 5",
            "the window when the loss is detected",
            "short-figure-3",
        ),
        row(
            "Figure 2",
            "the window at the overflow by buffer and d",
            "short-figure-2",
        ),
        row(
            "Figure 3",
            "the threshold that is left, by buffer and d",
            "short-figure-3",
        ),
        row(
            "Figure 4",
            "throughput by size with a small buffer, d at the receiver",
            "short-figure-4",
        ),
        row(
            "Figure 5",
            "the same with a large buffer",
            "short-figure-5",
        ),
        row(
            "Section II.B, a change of d",
            "best: a small d first, a larger one before the overflow",
            "short-section-2",
        ),
        row(
            "Figure 6",
            "byte counting with a small buffer",
            "short-figure-6",
        ),
        row(
            "Figure 7",
            "byte counting with a large buffer",
            "short-figure-7",
        ),
        row(
            "Table I",
            "parameters of the 802.11 cell",
            "wifi-figure-8",
        ),
        row(
            "Figure 8",
            "throughput and round-trip time by the buffer and the number of uploads; "
            "throughput grows monotonically",
            "wifi-figure-8",
        ),
        row(
            "Section III.C",
            "the adaptive buffer: service time by an exponential average, and 40 packets more",
            "wifi-figure-9",
        ),
        row(
            "Figure 9",
            "throughput with the adaptive buffer",
            "wifi-figure-9",
        ),
        row(
            "Figure 10",
            "round-trip time with it",
            "wifi-figure-10",
        ),
        row(
            "Figure 11",
            "the buffer over time as ten uploads begin",
            "wifi-figure-11",
        ),
        row(
            "Figure 12",
            "throughput over that time",
            "wifi-figure-12",
        ),
        row(
            "Section IV.A",
            "the fixed point of HighSpeed TCP's throughput and an M/M/1/K queue",
            "ackclock predict mm1k --rate 1Gbit/s --rtt 120ms --places 1250 --flows 10",
        ),
        row(
            "Figure 13",
            "the topology",
            "hstcp-figure-14",
        ),
        row(
            "Figure 14",
            "utilisation by the buffer, drop-tail; the loss rate is mostly p_1",
            "hstcp-figure-14",
        ),
        row(
            "Figure 15",
            "two flows of different round-trip times, small and large buffer",
            "hstcp-figure-15",
        ),
        row(
            "Section IV, RED",
            "the fixed point with RED",
            "ackclock predict hstcp_red --rate 1Gbit/s --rtt 120ms --places 1250 --flows 10",
        ),
        row(
            "Figure 16",
            "utilisation by the buffer with RED, 1 Gbit/s; the loss rate is 10^-7 from a tenth on",
            "hstcp-figure-16",
        ),
        row(
            "Figure 17",
            "the same with 2.5 Gbit/s; the loss rate is about 10^-6",
            "hstcp-figure-17",
        ),
        row(
            "Section V, future work",
            "rate adaptation in the cell, multiplexing, other fast variants of TCP",
            lacking="announced as future work, without a statement of a result",
        ),
    ),
)
