"""ABSE of TCP Westwood (Wang, Valla, Sanadidi and Gerla 2002), row by row."""

from ackclock_papers.seeds.row import Document, numbers, row, sentence

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
    sentences=(
        sentence(
            "Abstract",
            "random losses let the estimates of TCP Westwood improve performance significantly",
            ("westwood-figure-18", "BE's throughput is higher than NewReno's at every loss"),
            ("westwood-figure-18", "There BE has about 500 % of NewReno"),
        ),
        sentence(
            "Abstract",
            "BE may overestimate, and may then be unfriendly to others",
            ("westwood-figure-2", "2a: that is an overestimate of the fair share"),
            ("westwood-figure-20a", "BE has more than its fair share"),
        ),
        sentence(
            "Abstract",
            "CRB may give up some efficiency to be friendly",
            ("westwood-figure-18", "CRB loses efficiency, to be friendly to NewReno"),
            ("westwood-figure-20a", "CRB achieves friendliness to NewReno"),
        ),
        sentence(
            "Abstract",
            "over large leaky pipes ABSE improves TCP significantly",
            ("westwood-figure-18", "ABSE's throughput is higher than NewReno's at every loss"),
            ("westwood-figure-18", "There ABSE has about 500 % of NewReno"),
        ),
        sentence(
            "Abstract",
            "and stays friendly to NewReno",
            ("westwood-figure-20b", "NewReno has very close to the fair share"),
            ("westwood-figure-20b", "ABSE has very close to the fair share"),
        ),
        sentence(
            "Abstract",
            "ABSE is robust to the compression of packets and of ACKs",
            ("westwood-figure-10", "10a: ABSE's estimate is accurate"),
            ("westwood-figure-10", "10b: with loss, too"),
            ("westwood-figure-11", "11b: ABSE maintains an accurate estimate"),
        ),
        sentence(
            "Abstract",
            "ABSE is robust to the size of buffers",
            ("westwood-figure-12", "ABSE achieves much higher utilisation despite a small buffer"),
            ("westwood-figure-14", "ABSE's queueing time is below NewReno's"),
        ),
        sentence(
            "1",
            "TCP takes any loss for congestion, and so deteriorates where a link loses packets",
            ("westwood-figure-18", "ABSE's throughput is higher than NewReno's at every loss"),
        ),
        sentence(
            "1, related work",
            "TCP Vegas has problems of fairness; Packet Pair works only with round robin",
            lacking="results of other publications, which it only cites",
        ),
        sentence(
            "1",
            "BE gains much where errors are as likely as congestion, over large leaky pipes",
            ("westwood-figure-18", "BE's throughput is higher than NewReno's at every loss"),
        ),
        sentence(
            "1",
            "under some conditions NewReno loses beside BE, whose estimates exceed the fair share",
            ("westwood-figure-20a", "BE has more than its fair share"),
            ("westwood-figure-2", "2a: that is an overestimate of the fair share"),
        ),
        sentence(
            "1",
            "RE is the better estimate under congestion, BE where links lose packets",
            ("westwood-figure-2", "2b: RE is right on target"),
            ("westwood-figure-3", "3a: BE is more accurate"),
        ),
        sentence(
            "1",
            "RE may underestimate where losses are random",
            ("westwood-figure-3", "3b: it underestimates the fair share"),
        ),
        sentence(
            "1",
            "CRB is friendlier to NewReno, at the cost of efficiency",
            ("westwood-figure-20a", "CRB achieves friendliness to NewReno"),
            ("westwood-figure-18", "CRB loses efficiency, to be friendly to NewReno"),
        ),
        sentence(
            "1",
            "BE deteriorates with very small buffers and with compression of packets and ACKs",
            ("westwood-figure-16a", "BE registers the worst with a small buffer"),
            ("westwood-figure-9", "9a: BE overestimates"),
            ("westwood-figure-11", "11a: BE overestimates what is available"),
        ),
        sentence(
            "1",
            "the ABSE estimator reacts to persistent changes and tolerates transient noise",
            ("westwood-figure-7", "The response is faster"),
            ("westwood-figure-7", "There is less oscillation"),
        ),
        sentence(
            "3.1.1",
            "bursts may let BE overestimate; RE is lower, as it spreads the ACKs over T",
            ("westwood-figure-2", "2a: that is an overestimate of the fair share"),
        ),
        sentence(
            "3.1.1, figure 2",
            "with two connections BE's average is 3.2 Mbit/s, more than the fair share of 2.5",
            ("westwood-figure-2", "2a: BE's average estimate is 3.2 Mbit/s"),
            ("westwood-figure-2", "2a: that is an overestimate of the fair share"),
        ),
        sentence(
            "3.1.1, figure 2",
            "RE is right on target",
            ("westwood-figure-2", "2b: RE is right on target"),
        ),
        sentence(
            "3.1.1, figure 3",
            "with 1 % lost RE settles at about 2.4 Mbit/s, below the fair share",
            ("westwood-figure-3", "3b: RE settles at about 2.4 Mbit/s"),
            ("westwood-figure-3", "3b: it underestimates the fair share"),
        ),
        sentence(
            "3.1.1, figure 3",
            "BE is more accurate there",
            ("westwood-figure-3", "3a: BE is more accurate"),
        ),
        sentence(
            "3.1.2",
            "with fixed T and theta CRB gives up efficiency for friendliness",
            ("westwood-figure-18", "CRB loses efficiency, to be friendly to NewReno"),
            ("westwood-figure-20a", "CRB achieves friendliness to NewReno"),
        ),
        sentence(
            "3.1.2, figure 5",
            "ABSE's estimates are accurate with congestion and with errors of the link",
            ("westwood-figure-5", "5a: a more accurate estimate than BE"),
            ("westwood-figure-5", "5b: a more accurate estimate than RE"),
        ),
        sentence(
            "3.2",
            "N = 10 performs well under various scenarios",
            ("westwood-figure-7", "The response is faster"),
            ("westwood-figure-7", "There is less oscillation"),
        ),
        sentence(
            "3.2",
            "too large a fixed time constant makes the filter very slow",
            ("westwood-figure-7", "The response is faster"),
        ),
        sentence(
            "3.2, figure 7",
            "the adaptive time constant responds faster, and oscillates less by noise, than a "
            "fixed one",
            ("westwood-figure-7", "The response is faster"),
            ("westwood-figure-7", "There is less oscillation"),
        ),
        sentence(
            "4.1",
            "with one-way traffic ACKs are as far apart as data packets; two-way traffic "
            "compresses them, so that samples of consecutive ACKs overestimate",
            ("westwood-figure-9", "9a: BE overestimates"),
        ),
        sentence(
            "4.1, figure 9",
            "BE overestimates with compressed ACKs",
            ("westwood-figure-9", "9a: BE overestimates"),
        ),
        sentence(
            "4.1, figure 9",
            "especially severely on a lossy link",
            ("westwood-figure-9", "9b: where packets are lost it is especially severe"),
        ),
        sentence(
            "4.1, figure 10",
            "ABSE sustains a reasonably robust estimate, with and without loss",
            ("westwood-figure-10", "10a: ABSE's estimate is accurate"),
            ("westwood-figure-10", "10b: with loss, too"),
        ),
        sentence(
            "4.2, figure 11",
            "with cross traffic behind the bottleneck BE overestimates",
            ("westwood-figure-11", "11a: BE overestimates what is available"),
        ),
        sentence(
            "4.2, figure 11",
            "ABSE's estimate stays accurate",
            ("westwood-figure-11", "11b: ABSE maintains an accurate estimate"),
        ),
        sentence(
            "4.3",
            "ABSE's throughput is robust to a small buffer, its delay better than NewReno's with a "
            "very large one",
            ("westwood-figure-12", "ABSE achieves much higher utilisation despite a small buffer"),
            ("westwood-figure-14", "ABSE's queueing time is below NewReno's"),
        ),
        sentence(
            "4.3.1, figure 12",
            "a small buffer severely degrades NewReno's utilisation",
            ("westwood-figure-12", "NewReno's utilisation is severely degraded with a small"),
        ),
        sentence(
            "4.3.1, figure 12",
            "it catches up when the buffer approaches the pipe",
            ("westwood-figure-12", "It catches up when the buffer approaches the pipe"),
        ),
        sentence(
            "4.3.1, figure 12",
            "ABSE and BE have much higher utilisation despite a small buffer",
            ("westwood-figure-12", "ABSE achieves much higher utilisation despite a small buffer"),
            ("westwood-figure-12", "BE achieves much higher utilisation despite a small buffer"),
        ),
        sentence(
            "4.3.1, figure 13",
            "the buffer overflows at a window of 46 packets, and NewReno sets window and threshold "
            "to 23",
            ("westwood-figure-13", "13a: the buffer overflows when the window exceeds 46 packets"),
            ("westwood-figure-13", "13a: NewReno sets window and threshold to 23"),
        ),
        sentence(
            "4.3.1, figure 13",
            "that is below the pipe, so the link is idle",
            ("westwood-figure-12", "NewReno's utilisation is severely degraded with a small"),
        ),
        sentence(
            "4.3.1, figure 13",
            "ABSE sets both by its estimate, which is very close to the pipe",
            ("westwood-figure-13", "13b: ABSE reduces them to what is very close to the pipe"),
            ("westwood-figure-13c", "13c: ABSE's eligible rate estimate is very close"),
        ),
        sentence(
            "4.3.1",
            "a single BE connection performs well, too, as its estimate is accurate",
            ("westwood-figure-12", "BE achieves much higher utilisation despite a small buffer"),
        ),
        sentence(
            "4.3.1, figure 14",
            "with large buffers both fill the link; packets of ABSE wait less",
            ("westwood-figure-14", "With a very large buffer both use the link fully"),
            ("westwood-figure-14", "ABSE's queueing time is below NewReno's"),
        ),
        sentence(
            "4.3.1, figure 15",
            "NewReno halves its window, which is then much larger than the pipe",
            ("westwood-figure-15", "15a: NewReno reduces its window to half"),
            ("westwood-figure-15", "15a: that is much larger than the pipe"),
        ),
        sentence(
            "4.3.1, figure 15",
            "ABSE goes all the way down to the pipe, which drains the queue",
            ("westwood-figure-15", "15b: ABSE reduces it all the way down to the pipe"),
        ),
        sentence(
            "4.3.2, figure 16a",
            "ABSE has the best utilisation of the three, BE the worst with a small buffer",
            ("westwood-figure-16a", "ABSE achieves the best utilisation of the three"),
            ("westwood-figure-16a", "BE registers the worst with a small buffer"),
        ),
        sentence(
            "4.3.2, figure 16b",
            "BE has higher drop rates than both others with a small buffer",
            ("westwood-figure-16b", "BE has higher drop rates with a small buffer"),
        ),
        sentence(
            "4.3.2, figure 16a",
            "as the buffer grows BE uses the link better",
            ("westwood-figure-16a", "As the buffer grows BE achieves better utilisation"),
        ),
        sentence(
            "4.3.2, figure 16b",
            "ABSE drops no more than NewReno",
            ("westwood-figure-16b", "ABSE's drop rate is no higher than NewReno's"),
        ),
        sentence(
            "4.4",
            "ABSE is friendly and does not lose efficiency as CRB does",
            ("westwood-figure-18", "ABSE's efficiency does not deteriorate as CRB's does"),
        ),
        sentence(
            "4.4, figure 18",
            "ABSE, BE and CRB have more than NewReno",
            ("westwood-figure-18", "ABSE's throughput is higher than NewReno's at every loss"),
            ("westwood-figure-18", "BE's throughput is higher than NewReno's at every loss"),
            ("westwood-figure-18", "CRB's throughput is higher than NewReno's at every loss"),
        ),
        sentence(
            "4.4, figure 18",
            "the improvement is largest around 0.1 to 1 %",
            ("westwood-figure-18", "ABSE's largest improvement is around 0.1 to 1 %"),
            ("westwood-figure-18", "BE's largest improvement is around 0.1 to 1 %"),
        ),
        sentence(
            "4.4, figure 18",
            "there ABSE and BE gain about 500 %, CRB 300 %",
            ("westwood-figure-18", "There ABSE has about 500 % of NewReno"),
            ("westwood-figure-18", "There BE has about 500 % of NewReno"),
            ("westwood-figure-18", "There CRB has about 300 % of NewReno"),
        ),
        sentence(
            "4.4",
            "ABSE is robust as the round-trip time grows, compared with NewReno",
            ("westwood-section-4.4a", "ABSE's performance is robust with the increase of RTT"),
        ),
        sentence(
            "4.4",
            "ABSE uses the bottleneck better than NewReno, especially a fast one",
            ("westwood-section-4.4b", "ABSE uses the bottleneck better than NewReno"),
            ("westwood-section-4.4b", "Especially when the bandwidth is higher"),
        ),
        sentence(
            "5.1, figure 19",
            "Jain's index is 0.9919 for ABSE and 0.9904 for NewReno",
            ("westwood-figure-19", "ABSE: Jain's index is 0.9919"),
            ("westwood-figure-19", "NewReno: Jain's index is 0.9904"),
        ),
        sentence(
            "5.1, figure 19",
            "so ABSE is as fair as NewReno",
            ("westwood-figure-19", "ABSE's fairness is comparable to NewReno's"),
        ),
        sentence(
            "5.2, figure 20a",
            "BE has more than its fair share, and is unfriendly",
            ("westwood-figure-20a", "BE has more than its fair share"),
        ),
        sentence(
            "5.2, figure 20b",
            "NewReno and ABSE have very close to the fair share",
            ("westwood-figure-20b", "NewReno has very close to the fair share"),
            ("westwood-figure-20b", "ABSE has very close to the fair share"),
        ),
        sentence(
            "5.3, figure 21",
            "new connections of ABSE and of NewReno readily acquire their share",
            ("westwood-figure-21a", "ABSE joins ABSE, who readily acquire their share"),
            ("westwood-figure-21b", "NewReno joins ABSE, who readily acquire their share"),
        ),
        sentence(
            "6",
            "estimation and throughput of ABSE are robust to compression and to buffers",
            ("westwood-figure-10", "10a: ABSE's estimate is accurate"),
            ("westwood-figure-11", "11b: ABSE maintains an accurate estimate"),
            ("westwood-figure-12", "ABSE achieves much higher utilisation despite a small buffer"),
        ),
        sentence(
            "6",
            "two levels of adaptation make the estimate more accurate, which is critical for "
            "efficiency and friendliness",
            ("westwood-figure-5", "5a: a more accurate estimate than BE"),
            ("westwood-figure-5", "5b: a more accurate estimate than RE"),
        ),
    ),
)
