"""Buffers and slow start, cells, HighSpeed TCP (Reddy), row by row."""

from ackclock_papers.seeds.row import Document, numbers, row, sentence

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
    sentences=(
        sentence(
            "I",
            "slow start harms short transfers over long delays; its losses cost a long timeout",
            lacking="a problem that other publications show, which it only cites",
        ),
        sentence(
            "I",
            "buffers of the right size restore fairness between uploads and downloads in a cell",
            lacking="a result of its reference 14, which it only cites",
        ),
        sentence(
            "I",
            "TCP carries more than 90 % of the traffic of WLANs",
            lacking="a measurement of its reference 17, which it only cites",
        ),
        sentence(
            "II.A",
            "with a small buffer the window at the overflow does not depend on the bandwidth, only "
            "on the buffer and on how fast the window grows",
            ("short-figure-2", "With a small buffer the window at the overflow does not depend on"),
        ),
        sentence(
            "II.A",
            "idle times between bursts vanish once the window exceeds the pipe",
            SHORT_TRANSFER,
        ),
        sentence(
            "II.A, theorem 1",
            "the queue overflows at a window of B + min(mu T, alpha^(n - 1))",
            ("short-figure-2", "A buffer of mu T/d or more overflows at W_B = B + mu T"),
            (
                "short-figure-2",
                "With a small buffer a more aggressive sender overflows at a smaller",
            ),
        ),
        sentence(
            "II.B",
            "in most cases two losses are found by duplicate ACKs, the third by a timeout: an "
            "eighth of the window is left",
            ("short-figure-3", "In most cases two fast retransmits and a timeout leave W_D/8"),
        ),
        sentence(
            "II.B",
            "a fourth is left where the second loss cannot be found by duplicate ACKs",
            ("short-figure-3", "W_D/4 is left where the second loss cannot be detected"),
        ),
        sentence(
            "II.B, figure 3",
            "the estimate goes to zero as the buffer does",
            ("short-figure-3", "The threshold goes to zero as the buffer does"),
        ),
        sentence(
            "II.B, figure 3",
            "above mu T/d the aggressiveness of slow start has no effect on the estimate",
            ("short-figure-3", "Above mu T/d the aggressiveness of slow start has no effect"),
        ),
        sentence(
            "II.B, figure 3",
            "below mu T/d a more aggressive sender has a lower estimate",
            ("short-figure-3", "Below mu T/d a more aggressive sender has a lower threshold"),
        ),
        sentence(
            "II.B, figures 4 and 5",
            "small files are transferred in slow start, and throughput rises fast with their size",
            ("short-figure-4", "It rises with the size before and after"),
            ("short-figure-5", "It rises with the size before and after"),
        ),
        sentence(
            "II.B, figures 4 and 5",
            "for each d throughput jumps down at a size, where slow start loses packets, and then "
            "rises more slowly",
            ("short-figure-4", "Throughput jumps down at the size at which losses appear"),
            ("short-figure-5", "Throughput jumps down at the size at which losses appear"),
        ),
        sentence(
            "II.B",
            "in the steady state throughput depends on B, mu and T, not on d",
            lacking=(
                "as it is, since d is the receiver's: it slows congestion avoidance, too, and the "
                "largest size here, 5000 segments, is far from steady (`short-figure-5`)"
            ),
        ),
        sentence(
            "II.B, figures 4 and 5",
            "a small d is better as long as nothing is lost",
            ("short-figure-4", "Before any loss d = 1 is faster than d = 2"),
            ("short-figure-4", "Before any loss d = 2 is faster than d = 3"),
            ("short-figure-5", "Before any loss d = 1 is faster than d = 2"),
            ("short-figure-5", "Before any loss d = 2 is faster than d = 3"),
        ),
        sentence(
            "II.B, figures 4 and 5",
            "once it loses, a larger d is better until it loses, too",
            ("short-figure-4", "Where d = 1 loses and d = 2 not, that is faster"),
            ("short-figure-4", "Where d = 2 loses and d = 3 not, that is faster"),
            ("short-figure-5", "Where d = 1 loses and d = 2 not, that is faster"),
            ("short-figure-5", "Where d = 2 loses and d = 3 not, that is faster"),
        ),
        sentence(
            "II.B, figure 4",
            "with a small buffer it stays better for some sizes beyond, but loses the advantage "
            "later",
            ("short-figure-4", "Where both lose, d = 2 is first faster than d = 1"),
            ("short-figure-4", "Where both lose, d = 3 is first faster than d = 2"),
        ),
        sentence(
            "II.B, figure 5",
            "with a large buffer a large d is worse once it loses",
            ("short-figure-5", "Where both lose, d = 1 is faster than d = 2 with a large buffer"),
            ("short-figure-5", "Where both lose, d = 2 is faster than d = 3 with a large buffer"),
        ),
        sentence(
            "II.B",
            "best is a small d at first and a larger one just before the overflow",
            ("short-section-2", "The best performance begins with a small d and changes"),
            ("short-section-2", "Where d = 1 loses packets and the changed one does not"),
        ),
        sentence(
            "II.B, figure 7",
            "with a large buffer byte counting works perfectly and performs better",
            ("short-figure-7", "With a large buffer byte counting works perfectly"),
            ("short-figure-7", "It gives better performance on the mean"),
        ),
        sentence(
            "II.B, figure 6",
            "with a small buffer it fills the buffer before the pipe, and is worse for most sizes",
            ("short-figure-6", "With a small buffer byte counting is slower for most sizes"),
        ),
        sentence(
            "III.A",
            "of n stations that upload, data has n/(n + 1) of the transmissions and ACKs have "
            "1/(n + 1), which degrades TCP",
            lacking=(
                "a result of its reference 3, which it only cites, and avoids by the priority of "
                "ACKs that all its runs have"
            ),
        ),
        sentence(
            "III.B, figure 8",
            "throughput always grows with the buffer, up to a most",
            ("wifi-figure-8", "throughput always grows with the buffer, up to a most"),
        ),
        sentence(
            "III.B, figure 8",
            "the download gets less as uploads grow: at most 14 Mbit/s without, 1.25 with ten",
            ("wifi-figure-8", "the download gets less as uploads grow"),
            ("wifi-figure-8", "without uploads the download has at most 14 Mbit/s"),
            ("wifi-figure-8", "with ten it has at most 1.25"),
        ),
        sentence(
            "III.B, figure 8",
            "so the buffer that is needed changes: 338 packets without uploads, about 70 with ten",
            ("wifi-figure-8", "338 packets attain the most without uploads"),
            ("wifi-figure-8", "about 70 packets attain all of it"),
        ),
        sentence(
            "III.B, figure 8",
            "338 packets make round trips of around 300 ms without uploads, of 2 s with ten",
            ("wifi-figure-8", "338 packets make round trips of around 300 ms then"),
            ("wifi-figure-8", "with ten uploads they make round trips of around 2 s"),
        ),
        sentence(
            "III.B, figure 8",
            "30 packets keep the round trip at 200 to 300 ms, but give around 75 % without uploads",
            ("wifi-figure-8", "30 packets keep the round trip at 200 to 300 ms"),
            ("wifi-figure-8", "30 packets give just around 75 % then"),
        ),
        sentence(
            "III.B, figure 8",
            "as service is random a product of 31 packets gives around 60 % with ten uploads; all "
            "of it needs 70",
            ("wifi-figure-8", "with ten uploads a bandwidth-delay product, 31 packets, gives only"),
            ("wifi-figure-8", "about 70 packets attain all of it"),
        ),
        sentence(
            "III.B",
            "40 packets beyond the product are enough for all conditions considered",
            ("wifi-figure-9", "The adaptive buffer keeps up high throughput"),
            ("wifi-figure-9", "Over-provisioning for stochastic service is needed"),
        ),
        sentence(
            "III.C, figure 9",
            "the adaptive buffer keeps up high throughput over all conditions",
            ("wifi-figure-9", "The adaptive buffer keeps up high throughput"),
        ),
        sentence(
            "III.C, figure 10",
            "it keeps the round trip roughly at 400 ms, somewhat above with more uploads",
            ("wifi-figure-10", "The round trip (the largest smoothed) is steady at around 400 ms"),
            ("wifi-figure-10", "It climbs somewhat with the uploads"),
        ),
        sentence(
            "III.C, figures 11 and 12",
            "it adapts rapidly as ten uploads begin",
            ("wifi-figure-11", "The buffer adapts to changed conditions"),
            ("wifi-figure-11", "It adapts rapidly"),
        ),
        sentence(
            "III.C, figures 11 and 12",
            "and throughput stays high",
            ("wifi-figure-12", "High throughput is kept"),
        ),
        sentence(
            "IV.A",
            "a fixed point exists; whether there is but one depends on the buffer",
            "ackclock predict mm1k --rate 1Gbit/s --rtt 120ms --places 1250 --flows 10",
        ),
        sentence(
            "IV.A, figure 14",
            "simulation and analysis are quite close",
            ("hstcp-figure-14", "analysis (M/M/1/K) and simulation are quite close"),
        ),
        sentence(
            "IV.A",
            "in simulations the loss rate is mostly p_1",
            ("hstcp-figure-14", "in simulations the loss rate is mostly equal to p_1"),
        ),
        sentence(
            "IV.A, figure 14",
            "a buffer of a tenth of the product sustains more than 90 %",
            ("hstcp-figure-14", "a tenth of the product sustains more than 90 %"),
        ),
        sentence(
            "IV.A, figure 14",
            "what is left between the curves is mainly the assumption of M/M/1/K",
            ("buffers-figure-1", "M/M/1/K is wrong about"),
        ),
        sentence(
            "IV.A, figure 15",
            "two flows share unfairly as their round-trip times differ",
            ("hstcp-figure-15", "as their round-trip times differ the flows share unfairly"),
        ),
        sentence(
            "IV.A, figure 15",
            "a larger buffer makes it less unfair",
            ("hstcp-figure-15", "with a large buffer it is fairer than with a small one"),
        ),
        sentence(
            "IV, RED",
            "RED removes the bias against bursty flows",
            lacking="said in general of RED, without a number or a run",
        ),
        sentence(
            "IV, RED, figure 16",
            "the loss rate is 10^-7 from a tenth of the buffer on",
            ("hstcp-figure-16", "RED: the loss rate is 10^-7"),
        ),
        sentence(
            "IV, RED, figure 17",
            "the loss rate is around 10^-6",
            ("hstcp-figure-17", "RED: the loss rate is 10^-6"),
        ),
        sentence(
            "IV, RED, figures 16 and 17",
            "analysis and simulation agree closely, though Adaptive RED is simulated",
            ("hstcp-figure-16", "RED: analysis and simulation agree closely"),
            ("hstcp-figure-16", "Adaptive RED: analysis and simulation agree closely"),
            ("hstcp-figure-17", "RED: analysis and simulation agree closely"),
        ),
        sentence(
            "V",
            "over paths with small buffers slow start overflows before the pipe is full",
            (
                "short-figure-2",
                "With a small buffer a more aggressive sender overflows at a smaller",
            ),
        ),
        sentence(
            "V",
            "so a threshold that is to avoid losses must take account of the buffer",
            ("short-section-5", "On paths with small buffers losses may not be avoided"),
            ("short-section-5", "A threshold at the bandwidth-delay product avoids losses"),
        ),
        sentence(
            "V",
            "there any more aggressive TCP deteriorates",
            ("short-figure-6", "With a small buffer byte counting is slower for most sizes"),
        ),
        sentence(
            "V",
            "with a small buffer HighSpeed TCP sends at a low rate; throughput grows with the "
            "buffer",
            ("hstcp-figure-14", "below a tenth utilisation drops uncommonly (ACK-clocked"),
            ("hstcp-figure-14", "utilisation grows with the buffer"),
        ),
        sentence(
            "V",
            "a tenth of the product keeps at least 90 %, around a fifth almost 98 %",
            ("hstcp-figure-14", "a tenth of the product sustains more than 90 %"),
            ("hstcp-figure-14", "around a fifth gives nearly 98 %"),
        ),
        sentence(
            "V",
            "below a tenth many drops cause an uncommon fall, and may reduce it to standard TCP",
            ("hstcp-figure-14", "below a tenth utilisation drops uncommonly (ACK-clocked"),
            ("hstcp-figure-14", "with a small buffer HighSpeed TCP may be no more than standard"),
        ),
        sentence(
            "V",
            "a buffer of the whole product is more than is needed",
            ("hstcp-figure-14", "around a fifth gives nearly 98 %"),
        ),
        sentence(
            "V",
            "rate adaptation, and paths with several bottlenecks, are believed to need the same",
            lacking="a belief, which the document neither shows nor claims to have tried",
        ),
    ),
)
