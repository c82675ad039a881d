"""TCP over an end-to-end rate loop (Shakkottai, Kumar, Karnik and Anvekar 2001), row by row."""

from ackclock_papers.seeds.row import Document, numbers, row

INSTCAP = "ackclock predict instcap --rate 400segments/s --rtt 100ms --buffer 10 --psi 20"
TCP_ALONE = "ackclock predict tcp_alone --rate 400segments/s --rtt 100ms --buffer 10 --psi 20"
CONSTANT_SOURCE = (
    "ackclock predict constant_source --rate 400segments/s --rtt 100ms --buffer 10 "
    "--psi 20 --source-rate 250segments/s"
)
EFFECTIVE_CAPACITY = (
    "ackclock predict effective_capacity --rate 400segments/s --rtt 100ms --psi 20 --decay 60"
)

DOCUMENT = Document(
    "TCP over end-to-end ABR with stochastic available capacity",
    "S. Shakkottai, A. Kumar, A. Karnik, A. Anvekar, 2001",
    ("abr",),
    numbered=(
        *numbers("Figure", 1, 23),
        *(f"Equation {number}" for number in (8, 11, 14, 25, 31)),
    ),
    rows=(
        row(
            "Figure 1",
            "the network: one bottleneck of varying capacity, an end-to-end rate loop",
            "ackclock simulate examples/rate-feedback.toml",
        ),
        row(
            "Figure 2",
            "the edge-to-edge loop, for which the results hold, too: an edge regulates the ACKs of "
            "TCP by the rate that is fed back",
            "abr-figure-2",
            "ackclock show ack_regulator",
            "ackclock simulate examples/edge-to-edge.toml",
        ),
        row(
            "Section 1, split connection",
            "three TCP connections in tandem, which edges join",
            lacking=(
                "no node ends a connection and opens another. Sources of traffic know their "
                "writes beforehand, and the engine works ahead of each flow by that; a relay would "
                "tie two flows together at every packet. Where the local networks are faster, the "
                "middle connection has a greedy source and is the end-to-end loop of figure 1"
            ),
        ),
        row(
            "Figure 3",
            "the segmentation buffer, whose server follows the rate that is fed back",
            "ackclock show feedback",
            "abr-figure-8",
        ),
        row(
            "Figure 4",
            "the closed network of queues: segmentation, bottleneck, propagation",
            INSTCAP,
        ),
        row(
            "Figure 5",
            "the embedded process: two round trips from a loss to recovery",
            INSTCAP,
        ),
        row(
            "Equation 8",
            "the probability of a loss in a round trip",
            INSTCAP,
        ),
        row(
            "Equation 11",
            "the range of the window's growth in a round trip",
            INSTCAP,
        ),
        row(
            "Equation 14",
            "the state of the capacity when the next cycle begins",
            INSTCAP,
        ),
        row(
            "Section 3.4",
            "TCP without ABR, by the same analysis",
            TCP_ALONE,
        ),
        row(
            "Figure 6",
            "a queue with a constant arrival rate and a stationary service process",
            CONSTANT_SOURCE,
        ),
        row(
            "Equation 25",
            "the effective capacity of a link of two rates",
            EFFECTIVE_CAPACITY,
        ),
        row(
            "Section 4",
            "delta of 60 to 70 gives the best constant rate for many link processes",
            "abr-section-4",
        ),
        row(
            "Section 4, more states",
            "the effective capacity of a stationary process with more than two states",
            "ackclock predict effective_capacity --transitions examples/three-rates.csv "
            "--rtt 200ms --decay 0.1",
        ),
        row(
            "Figure 7",
            "the sliding blocks of capacity measurements",
            "abr-figure-11",
        ),
        row(
            "Equation 31",
            "EFFCAP: the least of N averages over M measurements",
            "abr-figure-11",
        ),
        row(
            "Figure 8",
            "efficiency with INSTCAP, analysis and testbed",
            "abr-figure-8",
        ),
        row(
            "Figure 9",
            "efficiency of TCP alone, analysis and testbed",
            "abr-figure-9",
        ),
        row(
            "Figure 10",
            "INSTCAP and TCP alone at small psi",
            "abr-figure-10",
        ),
        row(
            "Figure 11",
            "EFFCAP and INSTCAP at large psi",
            "abr-figure-11",
        ),
        row(
            "Figure 12",
            "EFFCAP and INSTCAP at small psi",
            "abr-figure-12",
        ),
        row(
            "Figure 13",
            "both and TCP alone at large psi",
            "abr-figure-13",
        ),
        row(
            "Figure 14",
            "both and TCP alone at small psi",
            "abr-figure-14",
        ),
        row(
            "Section 5.2, MCR",
            "EFFCAP keeps the throughput above the link's least rate, which INSTCAP does "
            "not; so a minimum cell rate would guarantee a throughput",
            "abr-figure-14",
        ),
        row(
            "Section 2, MCR in the scheduler",
            "a minimum cell rate that the bottleneck's scheduler reserves",
            "abr-section-2",
        ),
        row(
            "Figure 15",
            "efficiency by N, for a fixed round-trip time",
            "abr-figure-15",
        ),
        row(
            "Figure 16",
            "efficiency by N, for a fixed time of a second per state",
            "abr-figure-16",
        ),
        row(
            "Figure 17",
            "efficiency by N, for 100 ms per state",
            "abr-figure-17",
        ),
        row(
            "Figure 18",
            "efficiency by M, for a second per state",
            "abr-figure-18",
        ),
        row(
            "Figure 19",
            "efficiency by M, for 100 ms per state",
            "abr-figure-19",
        ),
        row(
            "Figure 20",
            "two sessions, each with its own M and N",
            "abr-figure-20",
        ),
        row(
            "Figure 21",
            "two sessions with the M and N of the mean round trip",
            "abr-figure-21",
        ),
        row(
            "Figure 22",
            "the same as figure 20 beside TCP alone",
            "abr-figure-22",
        ),
        row(
            "Figure 23",
            "the same as figure 21 beside TCP alone",
            "abr-figure-23",
        ),
        row(
            "Section 8, buffers",
            "a large buffer makes up for what frequent losses cost between psi of 0.5 and 20",
            "abr-figure-12",
        ),
        row(
            "Section 3, the source",
            "the rate of a true ABR source rises by RIF and falls by RDF; the document "
            "assumes a jump",
            "abr-source",
            "ackclock show feedback",
        ),
        row(
            "Section 3, cells",
            "a packet is lost if one of its cells is, and its other cells are dropped",
            "abr-cells",
            "ackclock show queues cells",
        ),
        row(
            "Section 5, Linux",
            "the kernel's TCP over an emulated network",
            "abr-on-linux",
        ),
    ),
)
