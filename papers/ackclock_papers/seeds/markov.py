"""The Markov model (Bogoiavlenskaia, Kojo, Mutka and Alanko 2002), row by row."""

from ackclock_papers.seeds.row import Document, row, sentence

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
    sentences=(
        sentence(
            "Abstract",
            "the model agrees well with the experiments, and is stable",
            ("markov-table-7.1", "Text: the error of ET against NoTOTput stays within 10 %"),
            ("markov-table-8.8", "Text: ET is never significantly worse than FF and PFTK"),
        ),
        sentence(
            "1",
            "the model gives the laws of window and throughput, and so means, variance, quantiles "
            "and intervals",
            AIMD_CHAIN_7,
        ),
        sentence(
            "1",
            "it tells how far simple estimates of the throughput can be used",
            ("markov-table-7.2", "The square-root law FF"),
            ("markov-table-8.5", "Text: the three estimations differ only slightly"),
            ("markov-table-7.1", "Text: FF and PFTK, which know no link, are above L, mostly"),
        ),
        sentence(
            "1",
            "window and throughput never exceed their natural limits",
            ("markov-figure-8.7", "Text: the throughput never exceeds the link capacity"),
            ("markov-table-7.1", "Text: ET is never above L"),
        ),
        sentence(
            "1",
            "it holds for fast and for slow links, as it has no rounds",
            ("markov-table-7.2", "Mean throughput ET"),
            ("markov-table-7.1", "Text: the error of ET against NoTOTput stays within 10 %"),
        ),
        sentence(
            "1",
            "for some metrics the error is within 5 to 15 %",
            ("markov-table-7.1", "Errors of ET, from the printed rates"),
            ("markov-table-8.1", "Errors of ET, from the printed rates"),
            ("markov-table-8.8", "Of 35 rows, 22 have an error against ATp below 20 %"),
        ),
        sentence(
            "2.1",
            "models of rounds let the throughput tend to infinity as losses vanish",
            ("markov-table-7.2", "The square-root law FF"),
        ),
        sentence(
            "2.1",
            "a link of finite rate bounds the throughput, which else would grow quadratically",
            ("markov-figure-8.7", "Text: the throughput never exceeds the link capacity"),
        ),
        sentence(
            "2.2",
            "with a buffer a larger window makes a longer round trip, without one more loss",
            AIMD_CHAIN_3,
            AIMD_CHAIN,
        ),
        sentence(
            "3",
            "what other publications restrict: patterns of loss, round-trip times, limits",
            lacking="statements on other publications, of which it tells no result",
        ),
        sentence(
            "4",
            "the law of the window is found in a time that grows linearly with the limit, within a "
            "second for 10000 segments",
            "ackclock predict aimd_chain --loss 0.1% --rtt 60ms --window 10000",
        ),
        sentence(
            "4",
            "by segment larger windows count for more than by round",
            AIMD_CHAIN_8,
            AIMD_CHAIN_4,
        ),
        sentence(
            "5",
            "where the window is sent for longer than a round trip the throughput is the link's "
            "rate, elsewhere window over round-trip time",
            AIMD_CHAIN_9,
        ),
        sentence(
            "6.1, figures 8.1 and 8.2",
            "for small p there is a peak at the window limit, and a smaller one at half of it",
            ("markov-figure-8.1", "Text: for small p there is a peak at the window limit"),
            ("markov-figure-8.1", "Text: and a smaller one at half of it"),
            ("markov-figure-8.2", "Text: for small p there is a peak at the window limit"),
            ("markov-figure-8.2", "Text: and a smaller one at half of it"),
        ),
        sentence(
            "6.1, figures 8.3 and 8.4",
            "for larger p the law loses its maximum at the limit, the global or the local one",
            ("markov-figure-8.3", "Text: for larger p the law loses its global maximum"),
            ("markov-figure-8.3", "Text: and its local one"),
            ("markov-figure-8.4", "Text: for larger p the law loses its global maximum"),
            ("markov-figure-8.4", "Text: and its local one"),
        ),
        sentence(
            "6.1",
            "the larger the limit, the smaller p must be for a stable window",
            ("markov-figure-8.3", "Text: the larger the limit, the smaller p must be"),
        ),
        sentence(
            "6.1",
            "above p = 0.1 windows are below ten segments, so a larger limit does not matter",
            ("markov-figure-8.5", "Text: for p above 0.1 windows are below 10 segments"),
            ("markov-figure-8.5", "Text: and a limit above 10 segments does not affect the shape"),
        ),
        sentence(
            "6.1, figure 8.5",
            "the mean window is the limit where nothing is lost",
            ("markov-figure-8.5", "Text: the mean is the window limit where nothing is lost"),
        ),
        sentence(
            "6.1, figure 8.5",
            "the deviation hardly depends on the limit",
            ("markov-figure-8.5", "Text: the standard deviation hardly depends on the window"),
        ),
        sentence(
            "6.1, figure 8.5",
            "it has a maximum between p = 0 and 0.05, and is zero at p = 0 and 1",
            ("markov-figure-8.5", "Text: the standard deviation has a maximum between p = 0"),
            ("markov-figure-8.5", "Text: it is zero for p near 0 and near 1"),
        ),
        sentence(
            "6.1, figure 8.6",
            "laws of the window where p grows with it",
            lacking="the sentence does not say what comes out; `markov-figure-8.6` has our numbers",
        ),
        sentence(
            "6.2, figure 8.8",
            "above p = 0.03 the window limit has no effect on the throughput",
            ("markov-figure-8.8", "Text: for p above 0.03 the window limit has no effect"),
        ),
        sentence(
            "6.2",
            "the throughput never exceeds the link's rate",
            ("markov-figure-8.7", "Text: the throughput never exceeds the link capacity"),
        ),
        sentence(
            "6.2",
            "mean window and mean throughput have the same shape",
            ("markov-figure-8.7", "Text: the mean window and ET have the same shape"),
        ),
        sentence(
            "6.2, figure 8.11",
            "a longer round trip lowers the throughput",
            ("markov-figure-8.11", "Text: an increase of the round-trip time decreases the"),
        ),
        sentence(
            "6.2, figure 8.12",
            "a wider law of the round-trip time raises the throughput",
            ("markov-figure-8.12", "Text: the mean throughput grows with the spread of the"),
        ),
        sentence(
            "6.3",
            "the variances of window and round-trip time make that of the throughput",
            ("markov-figure-8.12", "Text: the variance of the round-trip time contributes to that"),
            lacking="how much the window contributes, which is said without a number",
        ),
        sentence(
            "6.3",
            "the deviation may have a maximum between p = 0 and 0.05",
            ("markov-figure-8.9", "Text: like that of the window it may have a maximum"),
        ),
        sentence(
            "6.3",
            "it may be monotonous where round trips vary much and the window cannot use the link",
            ("markov-figure-8.10", "Text: or it may be monotonous"),
        ),
        sentence(
            "6.3",
            "to lower it on a fast link takes a larger window limit, too",
            ("markov-figure-8.10", "Text: a small window limit keeps the spread large"),
        ),
        sentence(
            "6.3, figures 8.9 and 8.10",
            "at its largest it is about a third of the mean",
            ("markov-figure-8.9", "Text: at its largest the standard deviation is about one third"),
            ("markov-figure-8.10", "Text: at its largest the standard deviation is about one"),
        ),
        sentence(
            "6.3",
            "below p = 0.05 slight changes of p change it significantly",
            ("markov-figure-8.9", "Text: for p below 0.05 slight changes of p change it"),
        ),
        sentence(
            "6.4, figure 8.13",
            "the probabilities above and below a level cross at 0.5, and their sum is 1",
            ("markov-figure-8.13", "Text: the lines cross at probability 0.5"),
            ("markov-figure-8.13", "Text: their sum is always 1"),
        ),
        sentence(
            "6.4, figure 8.13",
            "below p = 0.05 slight changes of p may have a significant effect on them",
            ("markov-figure-8.13", "Text: for p below 0.05 slight changes of p may have"),
        ),
        sentence(
            "7.2",
            "triple ACKs count too few losses, retransmissions too many",
            lacking="said of its data, of which only the probability behind FF and PFTK can be had",
        ),
        sentence(
            "7.2",
            "Linux drops its window to two segments in some states, which matters to the window",
            lacking="said of a kernel of 2002, without a number",
        ),
        sentence(
            "7.3",
            "mean window over mean round-trip time is at most the mean throughput",
            AIMD_CHAIN_6,
        ),
        sentence(
            "7.3",
            "ATp is at most ATpXmit, which is at most NoTOTput",
            ("markov-table-7.1", "Text: ATp ≤ ATpXmit ≤ NoTOTput"),
            *(
                (f"markov-table-8.{number}", "Text: ATp ≤ ATpXmit ≤ NoTOTput")
                for number in range(1, 9)
            ),
        ),
        sentence(
            "7.3",
            "of the three metrics the model accords best with NoTOTput",
            ("markov-table-8.8", "Text: of the three metrics ET accords best with NoTOTput"),
        ),
        sentence(
            "7.3",
            "against ATp 22 connections have errors below 20 %, 10 of 20 to 35 %, three near 50 %",
            ("markov-table-8.8", "Of 35 rows, 22 have an error against ATp below 20 %"),
        ),
        sentence(
            "7.3",
            "ET is never significantly worse than FF and PFTK",
            ("markov-table-8.8", "Text: ET is never significantly worse than FF and PFTK"),
        ),
        sentence(
            "7.3, sets 6 to 9",
            "the three estimates differ only slightly",
            *(
                (f"markov-table-8.{number}", "Text: the three estimations differ only slightly")
                for number in (5, 6, 7, 8)
            ),
        ),
        sentence(
            "7.3, set 5",
            "ET is the best estimate",
            ("markov-table-8.4", "Text: ET is the best estimation here"),
        ),
        sentence(
            "7.3",
            "the difference grows as p falls, since FF and PFTK tend to infinity",
            ("markov-table-7.2", "The square-root law FF"),
        ),
        sentence(
            "7.3, sets 1 to 4",
            "the error against NoTOTput stays within 10 %, mostly within 5 %",
            ("markov-table-7.1", "Text: the error of ET against NoTOTput stays within 10 %"),
            ("markov-table-7.1", "Text: it is within 5 % in most cases"),
            *(
                (f"markov-table-8.{number}", begins)
                for number in (1, 2, 3)
                for begins in (
                    "Text: the error of ET against NoTOTput stays within 10 %",
                    "Text: it is within 5 % in most cases",
                )
            ),
        ),
        sentence(
            "7.3, sets 1, 3 and 4",
            "FF and PFTK are above the link's capacity, and useless",
            ("markov-table-7.1", "Text: FF and PFTK, which know no link, are above L, mostly"),
            ("markov-table-8.2", "Text: FF and PFTK, which know no link, are above L, mostly"),
            ("markov-table-8.3", "Text: FF and PFTK, which know no link, are above L, mostly"),
        ),
        sentence(
            "7.3",
            "outliers of the round-trip time reduce FF and PFTK in connections 3.1, 4.1 and 5.1; "
            "ET stays stable",
            *(
                (f"markov-table-8.{number - 1}", begins)
                for number in (3, 4, 5)
                for begins in (
                    "Text: outliers of the round-trip time reduce FF and PFTK of connection "
                    f"{number}.1",
                    f"Text: ET of connection {number}.1 stays stable",
                )
            ),
        ),
        sentence(
            "7.3, set 2",
            "that keeps FF and PFTK below the link's capacity",
            ("markov-table-8.1", "Text: in set 2 FF and PFTK are below the link's capacity"),
        ),
        sentence(
            "Tables 7.1 and 8.1 to 8.8",
            "printed rates of connections and of three models",
            ("markov-table-7.1", "Errors of ET, from the printed rates"),
            *(
                (f"markov-table-8.{number}", "ET as mean window by round over mean round-trip time")
                for number in range(4, 9)
            ),
        ),
        sentence(
            "Table 7.2",
            "printed mean throughput by loss and window limit, beside FF",
            ("markov-table-7.2", "Mean throughput ET"),
            ("markov-table-7.2", "The square-root law FF"),
        ),
        sentence(
            "8",
            "the model does not tend to infinity as losses vanish",
            ("markov-table-7.2", "Mean throughput ET"),
            ("markov-figure-8.7", "Text: the throughput never exceeds the link capacity"),
        ),
        sentence(
            "Appendix C, theorems 1 and 2",
            "laws over time follow from those by segment and by round",
            AIMD_CHAIN_8,
        ),
        sentence(
            "Appendix C",
            "the error of equal times between segments is negligible in many cases",
            lacking="said without a number and without the cases",
        ),
    ),
)
