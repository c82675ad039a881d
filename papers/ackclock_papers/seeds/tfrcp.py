"""TFRCP (Padhye, Kurose, Towsley and Koodli 1999), row by row."""

from ackclock_papers.seeds.row import Document, numbers, row, sentence

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
    sentences=(
        sentence(
            "Abstract",
            "the protocol is fair to TCP",
            ("tfrcp-figure-2a", "TFRCP, M = 2 s: F is close to 1, mean over the loads"),
            ("tfrcp-figure-2a", "TFRCP, M = 5 s: F is close to 1, mean over the loads"),
            ("tfrcp-figure-5a", "F is approximately one with the smallest M"),
        ),
        sentence(
            "Abstract",
            "it is fair to other sessions of its kind",
            ("tfrcp-figure-3", "TFRCP achieves acceptable fairness among its senders"),
        ),
        sentence(
            "Abstract",
            "experiments over the Internet show the same; following a formula is practical",
            lacking=(
                "the pages with the experiments are lost; `tfrcp-on-linux` has TFRCP beside the "
                "kernel's Reno on real sockets, over paths of ours"
            ),
        ),
        sentence(
            "I",
            "a formula suits multicast better",
            lacking="a result of another publication, which it only cites; ackclock has no "
            "multicast",
        ),
        sentence(
            "II.A",
            "the square-root law is not accurate above a loss rate of (lost, taken for 5) percent",
            ("tfrcp-section-2", "The law is not accurate for loss rates above 5 %"),
        ),
        sentence(
            "II.A",
            "it overestimates as the loss rate increases",
            ("tfrcp-section-2", "It overestimates as the loss rate increases"),
        ),
        sentence(
            "II.A",
            "timeouts are a large share of the reductions of real connections",
            lacking="a measurement of other publications, which it only cites",
        ),
        sentence(
            "II.A",
            "protocols that follow that law, or adjust additively by it, are not friendly above "
            "that loss rate",
            ("tfrcp-section-2", "The law is not accurate for loss rates above 5 %"),
            lacking="for the protocols themselves, of which no rules are printed",
        ),
        sentence(
            "II.A",
            "TCP-exact is inflexible; layers are hard to have for all media; friendliness of the "
            "scheme by RTCP reports is shown in few simulations",
            lacking="judgements of protocols of which no rules are printed",
        ),
        sentence(
            "II.B",
            "the formula that TFRCP uses has timeouts, which drop-tail routers and Reno make many",
            ("tfrcp-section-2", "It overestimates as the loss rate increases"),
            "ackclock predict pftk --loss 10% --rtt 100ms --timeout 1s",
        ),
        sentence(
            "II.B",
            "each packet is acknowledged eight times, which protects against lost ACKs",
            "ackclock show rate_controls tfrcp",
        ),
        sentence(
            "II.B",
            "the initial rate has little impact on long flows",
            ("tfrcp-readings", "r0 has little impact on long flows"),
        ),
        sentence(
            "II.B",
            "the formula lets the rate fall to very small values at high loss rates",
            "ackclock predict pftk --loss 50% --rtt 100ms --timeout 1s",
        ),
        sentence(
            "III.A",
            "on-off UDP sources are a good model of many short transfers",
            lacking="a result of other publications, which it only cites",
        ),
        sentence(
            "III.C.1",
            "as the number of flows grows windows shrink, and timeouts get more likely",
            ("tfrcp-figure-2a", "As the number of senders grows timeouts of TCP get more likely"),
        ),
        sentence(
            "III.C.1, figure 2a",
            "with rounds of constant length the friendliness ratio stays close to 1",
            ("tfrcp-figure-2a", "TFRCP, M = 2 s: F is close to 1"),
            ("tfrcp-figure-2a", "TFRCP, M = 3 s: F is close to 1"),
            ("tfrcp-figure-2a", "TFRCP, M = 4 s: F is close to 1"),
            ("tfrcp-figure-2a", "TFRCP, M = 5 s: F is close to 1"),
        ),
        sentence(
            "III.C.1, figure 2b",
            "with rounds of round trips it is more aggressive than TCP as the load grows",
            *(
                ("tfrcp-figure-2b", f"TFRCP, K = {k}: the more load, the more aggressive than TCP")
                for k in (10, 20, 30, 60)
            ),
            *(
                ("tfrcp-figure-2b", f"TFRCP, K = {k} is more aggressive than TCP")
                for k in (10, 20, 30, 60)
            ),
        ),
        sentence(
            "III.C.1, figure 2c",
            "with rounds of random length it stays close to 1",
            *(
                ("tfrcp-figure-2c", f"TFRCP, {rounds} s: F is close to 1")
                for rounds in ("0.3 + U[0, 5.4]", "1.5 + U[0, 3]", "2.7 + U[0, 0.6]")
            ),
        ),
        sentence(
            "III.C.1",
            "with other delays of the bottleneck results are similar",
            ("tfrcp-figure-2a", "With other delays of the bottleneck results are similar"),
        ),
        sentence(
            "III.C.1, figure 3",
            "TFRCP connections are acceptably fair to each other in most cases",
            ("tfrcp-figure-3", "TFRCP achieves acceptable fairness among its senders"),
        ),
        sentence(
            "III.C.2, figure 4",
            "friendliness with a constant share of the bottleneck for each",
            lacking="the page with the sentence is lost; `tfrcp-figure-4` has our numbers",
        ),
        sentence(
            "III.C.3, figure 5",
            "with the smallest M the friendliness ratio is approximately one",
            ("tfrcp-figure-5a", "F is approximately one with the smallest M"),
            ("tfrcp-figure-5b", "F is approximately one with the smallest M"),
        ),
        sentence(
            "III.C.3, figure 5",
            "it falls as M grows",
            ("tfrcp-figure-5a", "F falls as M grows"),
            ("tfrcp-figure-5b", "F falls as M grows"),
        ),
        sentence(
            "III.C.4",
            "traffic of the web is self-similar, as are many on-off sources with heavy tails",
            lacking="results of other publications, which it only cites",
        ),
        sentence(
            "III.C.4, figure 6",
            "friendliness beside on-off UDP sources",
            lacking="the page with the sentence is lost; `tfrcp-figure-6` has our numbers",
        ),
    ),
)
