"""TCP over an end-to-end rate loop (Shakkottai, Kumar, Karnik and Anvekar 2001), row by row."""

from ackclock_papers.seeds.row import Document, numbers, row, sentence

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
            "Section 1, no delay",
            "a loop without delay loses nothing; nor does a loop that has converged",
            "abr-section-1",
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
    sentences=(
        sentence(
            "Abstract",
            "where the capacity varies slowly rate feedback improves TCP significantly",
            ("abr-figure-13", "INSTCAP is 25 to 30 % better than TCP alone at large psi"),
        ),
        sentence(
            "Abstract",
            "TCP with rate feedback is rather insensitive to the bottleneck's buffer",
            ("abr-figure-8", "It is insensitive to the buffer"),
        ),
        sentence(
            "Abstract",
            "EFFCAP adapts to how fast the capacity varies, and does well beside INSTCAP over a "
            "wide range",
            ("abr-figure-12", "EFFCAP is 10 to 20 % better at small psi"),
            ("abr-figure-11", "EFFCAP is 3 to 4 % worse at large psi"),
        ),
        sentence(
            "Abstract",
            "with EFFCAP connections of different round-trip times share fairly",
            ("abr-figure-20", "The sessions get the same for psi up to 0.3"),
            ("abr-figure-20", "For psi of 0.3 to 20 it is unfair to session 2"),
            ("abr-figure-20", "Above 20 it is fair again"),
        ),
        sentence(
            "1",
            "the results apply to the edge-to-edge loop, too",
            ("abr-figure-2", "The results apply to the edge-to-edge loop"),
        ),
        sentence(
            "1",
            "a rate loop without delay loses nothing: the window stays at its limit, and what "
            "cannot be sent waits at the source",
            ("abr-section-1", "A loop without delay loses nothing"),
        ),
        sentence(
            "1",
            "a rate loop without delay improves throughput for certain",
            ("abr-section-1", "A loop without delay improves TCP's throughput"),
        ),
        sentence(
            "1, related work",
            "the loss rate of cells tells little of TCP's performance; a rate limit gives more "
            "than a window limit",
            lacking="a result of its reference 7, which it only cites",
        ),
        sentence(
            "1, related work",
            "the buffer for no loss of cells is proportional to the longest round trip, whatever "
            "the number of sources",
            lacking="a result of its reference 8, which it only cites",
        ),
        sentence(
            "1, related work",
            "in local networks ABR is worth its complexity only in part",
            lacking="a result of its reference 12, which it only cites, and of many switches",
        ),
        sentence(
            "1, contributions",
            "slow and fast variation need different feedback; between them EFFCAP adapts",
            ("abr-figure-15", "For psi above 60 a small N is slightly better"),
            ("abr-figure-15", "In the intermediate range, to 20, a larger N is better"),
        ),
        sentence(
            "2",
            "with an MCR that a scheduler reserves, a link of two rates suffices as a model",
            ("abr-section-2", "A link of two rates suffices as a model"),
        ),
        sentence(
            "3",
            "whole packets serve as a model if the rest of a packet's cells is dropped with one; "
            "it is akin to partial packet discard",
            ("abr-cells", "If all cells of a packet are lost with one, whole packets serve as a"),
            ("abr-cells", "Partial packet discard is akin to that"),
        ),
        sentence(
            "3.2",
            "a true ABR source follows a lower rate at once, a higher one exponentially",
            ("abr-source", "A true source adapts at once to a lower rate"),
            ("abr-source", "A higher rate leads to exponential growth and not to a jump"),
        ),
        sentence(
            "3.2",
            "slow start loses packets where the buffer is below a third of the product of rate and "
            "delay",
            lacking=(
                "a result of its reference 11, which it only cites; the window at that overflow is "
                "that of figure 2 of Reddy (`short-figure-2`)"
            ),
        ),
        sentence(
            "3.2, discussion of figure 8",
            "packets back to back make the analysis conservative: with small psi it is below what "
            "is observed",
            ("abr-figure-8", "For small psi the conservative analysis is 10 to 20 % below"),
        ),
        sentence(
            "3.3",
            "one account of the packets of a lossy interval is optimistic, another conservative: "
            "they bound the throughput",
            INSTCAP,
        ),
        sentence(
            "3.4",
            "the same assumptions make the estimate for TCP alone optimistic",
            ("abr-figure-9", "What is observed is up to 20 % below the analysis"),
        ),
        sentence(
            "4",
            "the effective capacity lies between the least rate and the mean",
            EFFECTIVE_CAPACITY,
        ),
        sentence(
            "4",
            "the delta that is best for TCP is 60 to 70, consistently for a wide range of link "
            "processes",
            ("abr-section-4", "Delta is 60 to 70 where TCP's throughput is highest"),
            ("abr-section-4", "It is consistent over a wide range of link processes"),
            ("abr-section-4", "It is so for slow links too"),
        ),
        sentence(
            "4.1",
            "where the link changes slowly EFFCAP feeds back what INSTCAP does",
            ("abr-figure-11", "Where the link changes slowly EFFCAP behaves like INSTCAP"),
        ),
        sentence(
            "4.1",
            "where it changes fast EFFCAP feeds back the mean capacity",
            ("abr-figure-12", "Where the link changes fast the source sends at its mean"),
        ),
        sentence(
            "4.1",
            "between them EFFCAP feeds back the least rate",
            ("abr-figure-14", "EFFCAP has more than the low rate alone would give"),
            "ackclock show feedback effcap",
        ),
        sentence(
            "4.1",
            "with an MCR EFFCAP guarantees TCP a least throughput",
            ("abr-section-2", "The MCR of an ABR connection may guarantee a least throughput"),
        ),
        sentence(
            "Figure 8",
            "for psi of 80 and more the testbed is lowest, the conservative analysis in the "
            "middle, the optimistic on top",
            ("abr-figure-8", "For psi of 80 and more what is observed is lowest"),
        ),
        sentence(
            "5.1",
            "but for small psi analysis and testbed match within a few percent",
            ("abr-figure-8", "Analysis and testbed match within a few per cent but for small psi"),
        ),
        sentence(
            "5.1",
            "for small psi both analyses are 10 to 20 % below what is observed",
            ("abr-figure-8", "For small psi the optimistic analysis is 10 to 20 % below"),
            ("abr-figure-8", "For small psi the conservative analysis is 10 to 20 % below"),
        ),
        sentence(
            "5.1",
            "without feedback the testbed is up to 20 % below the analysis",
            ("abr-figure-9", "What is observed is up to 20 % below the analysis"),
        ),
        sentence(
            "5.1",
            "with 5 of 53 bytes for headers of cells, the asymptotic throughput is about 90 %",
            ("abr-figure-8", "The asymptotic throughput is approximately 90 %"),
            ("abr-cells", "The asymptotic throughput is about 90 %"),
        ),
        sentence(
            "5.1",
            "feedback makes TCP insensitive to the buffer; TCP alone gets significantly worse with "
            "a smaller one",
            ("abr-figure-8", "It is insensitive to the buffer"),
            ("abr-figure-9", "TCP alone is significantly worse with a smaller buffer"),
        ),
        sentence(
            "5.1",
            "once the loop has converged nothing is lost, whatever the buffer; TCP alone loses "
            "packets also where the rate does not change",
            ("abr-section-1", "A loop that has converged loses nothing, whatever the buffer"),
            ("abr-section-1", "Its window stays at its limit and the pipe full"),
            ("abr-section-1", "TCP alone loses packets even where the rate does not change"),
        ),
        sentence(
            "5.1",
            "curves in packet times hold for any link with the same pipe: at 155 Mbit/s 40 packet "
            "times are 1.032 ms, at 2 Mbit/s 160 ms",
            "ackclock predict instcap --rate 38750segments/s --rtt 1.032ms --buffer 10 --psi 20",
            "ackclock predict instcap --rate 250segments/s --rtt 160ms --buffer 10 --psi 20",
        ),
        sentence(
            "5.1",
            "INSTCAP improves TCP by 20 % where the link changes slowly",
            ("abr-figure-9", "INSTCAP improves on TCP alone by 20 %"),
        ),
        sentence(
            "5.1",
            "feedback pushes the congestion to the edge of the network, where packets wait as the "
            "window grows",
            ("abr-figure-2", "Congestion is pushed to the network's edge"),
        ),
        sentence(
            "5.1",
            "at small psi INSTCAP gains little, and TCP may be slightly worse with it",
            ("abr-figure-10", "INSTCAP is slightly worse than TCP alone around psi = 1"),
        ),
        sentence(
            "5.1",
            "the round-trip time counts by itself, beside psi",
            ("abr-figure-17", "There is a considerable difference at the same psi"),
        ),
        sentence(
            "5.1",
            "as psi falls below 1 the throughput rises again",
            ("abr-figure-10", "Both rise as psi falls to nothing"),
        ),
        sentence(
            "5.1",
            "for the smallest psi the source sends at the mean capacity, and losses are rare",
            ("abr-figure-12", "Where the link changes fast the source sends at its mean"),
        ),
        sentence(
            "5.2",
            "at large psi EFFCAP is 3 to 4 % worse than INSTCAP",
            ("abr-figure-11", "EFFCAP is 3 to 4 % worse at large psi"),
        ),
        sentence(
            "5.2",
            "at small psi it is 10 to 20 % better",
            ("abr-figure-12", "EFFCAP is 10 to 20 % better at small psi"),
        ),
        sentence(
            "5.2",
            "EFFCAP is considerably better than TCP alone for all psi: 30 % at large psi, 10 to "
            "15 % at small psi",
            ("abr-figure-13", "EFFCAP is 30 % better"),
            ("abr-figure-14", "EFFCAP is 10 to 15 % better than TCP alone at small psi"),
        ),
        sentence(
            "5.2",
            "EFFCAP keeps TCP above the link's least rate, which INSTCAP fails to do at small psi",
            ("abr-figure-14", "EFFCAP has more than the low rate alone would give"),
            ("abr-figure-14", "INSTCAP has less"),
        ),
        sentence(
            "5.2",
            "so the MCR of a connection may guarantee a least throughput",
            ("abr-section-2", "The MCR of an ABR connection may guarantee a least throughput"),
        ),
        sentence(
            "6.1",
            "at large psi rates mismatch rarely, so it suffices to follow the capacity with a "
            "small N and M",
            ("abr-figure-11", "EFFCAP is 3 to 4 % worse at large psi"),
            ("abr-figure-15", "For psi above 60 a small N is slightly better"),
        ),
        sentence(
            "6.1",
            "at psi below 0.2 mismatches are short, and throughput is high with either feedback",
            ("abr-figure-12", "Where the link changes fast the source sends at its mean"),
        ),
        sentence(
            "6.1",
            "between 0.5 and 20 throughput drops substantially with either feedback",
            ("abr-figure-12", "Between, throughput drops substantially"),
        ),
        sentence(
            "6.1",
            "there sessions with a large round-trip time lose most",
            ("abr-figure-16", "Efficiency is considerably lower with a larger Δ"),
        ),
        sentence(
            "6.2.1, figure 15",
            "above psi = 60 a small N is slightly better",
            ("abr-figure-15", "For psi above 60 a small N is slightly better"),
        ),
        sentence(
            "6.2.1, figure 15",
            "below 0.3 a larger N gains nothing to speak of",
            ("abr-figure-15", "For psi below 0.3 there is negligible gain by a larger N"),
        ),
        sentence(
            "6.2.1, figure 15",
            "from 0.3 to 1 a larger N is an improvement",
            ("abr-figure-15", "For psi of 0.3 to 1 a larger N is an improvement"),
        ),
        sentence(
            "6.2.1, figure 15",
            "up to 20 the advantage of a larger N is clear",
            ("abr-figure-15", "In the intermediate range, to 20, a larger N is better"),
        ),
        sentence(
            "6.2.1, figures 16 and 17",
            "at the same psi the two figures differ considerably: the round-trip time counts by "
            "itself",
            ("abr-figure-17", "There is a considerable difference at the same psi"),
        ),
        sentence(
            "6.2.1, figures 16 and 17",
            "throughput is lower with a larger round-trip time, since the window takes longer to "
            "rebuild",
            ("abr-figure-16", "Efficiency is considerably lower with a larger Δ"),
        ),
        sentence(
            "6.2.1, figure 17",
            "a longer memory gives a higher throughput over a wide range",
            ("abr-figure-16", "The more, the larger k is"),
        ),
        sentence(
            "6.2.1, figure 16",
            "as N grows the efficiency rises to 0.6, near the least rate's 66 % of the mean",
            ("abr-figure-16", "A larger N lifts it to 0.6 where Δ is large"),
        ),
        sentence(
            "6.2.1, figure 17",
            "where psi is small many averages are needed; else k of 4 to 6 is adequate",
            ("abr-figure-17", "k of 4 to 6 is adequate"),
        ),
        sentence(
            "6.2.2, figure 18",
            "for 200 ms the throughput is insensitive to M",
            ("abr-figure-18", "It is insensitive to M for Δ = 200 ms"),
        ),
        sentence(
            "6.2.2, figure 18",
            "for small round-trip times it falls slightly as M grows",
            ("abr-figure-18", "Efficiency falls slightly as M rises"),
        ),
        sentence(
            "6.2.2, figure 19",
            "with a small N 10 to 15 % is lost as M grows; with a large N nothing is",
            ("abr-figure-19", "With a small N 10 to 15 % is lost as M rises"),
            ("abr-figure-19", "With a large N there is no loss"),
        ),
        sentence(
            "6.2.2",
            "in general a small M is better; in the intermediate range N must grow with it",
            ("abr-figure-18", "Efficiency falls slightly as M rises"),
            ("abr-figure-19", "With a large N there is no loss"),
        ),
        sentence(
            "7",
            "TCP alone is unfair to sessions with larger round-trip times",
            ("abr-figure-22", "TCP alone is grossly unfair to session 2"),
        ),
        sentence(
            "7",
            "with INSTCAP sessions are fair to each other where the capacity varies slowly",
            ("abr-figure-2", "Two sessions get the same where the capacity varies slowly"),
        ),
        sentence(
            "7.1, figure 20",
            "up to psi = 0.3 sessions get equal throughput",
            ("abr-figure-20", "The sessions get the same for psi up to 0.3"),
        ),
        sentence(
            "7.1, figure 20",
            "above 0.3 it is unfair to the session with the larger delay, up to 20",
            ("abr-figure-20", "For psi of 0.3 to 20 it is unfair to session 2"),
        ),
        sentence(
            "7.2, figure 21",
            "M and N of the mean round trip are somewhat fairer, also in the intermediate range",
            ("abr-figure-21", "In the middle it is fairer than with M and N of one's own"),
        ),
        sentence(
            "7.2, figure 21",
            "there the session with the smaller delay has less than in case 1",
            ("abr-figure-21", "There the throughput of session 1 is reduced"),
        ),
        sentence(
            "7.2, figures 22 and 23",
            "above 20 EFFCAP is fair, TCP alone grossly unfair",
            ("abr-figure-20", "Above 20 it is fair again"),
            ("abr-figure-22", "TCP alone is grossly unfair to session 2"),
            ("abr-figure-23", "TCP alone is grossly unfair to session 2"),
        ),
        sentence(
            "7.2, figures 22 and 23",
            "the total is slightly lower than with TCP alone",
            ("abr-figure-22", "Together the sessions get slightly less with ABR"),
            ("abr-figure-23", "Together the sessions get slightly less with ABR"),
        ),
        sentence(
            "8",
            "analysis and simulation match well with feedback; without, the analysis overestimates",
            ("abr-figure-8", "Analysis and testbed match within a few per cent but for small psi"),
            ("abr-figure-9", "What is observed is up to 20 % below the analysis"),
        ),
        sentence(
            "8",
            "the gain is 25 to 30 % for slow variations; where they take about a round trip it is "
            "slightly negative",
            ("abr-figure-13", "INSTCAP is 25 to 30 % better than TCP alone at large psi"),
            ("abr-figure-10", "INSTCAP is slightly worse than TCP alone around psi = 1"),
        ),
        sentence(
            "8",
            "above psi = 60 N and M are to be small, and INSTCAP is best",
            ("abr-figure-15", "For psi above 60 a small N is slightly better"),
            ("abr-figure-11", "EFFCAP is 3 to 4 % worse at large psi"),
        ),
        sentence(
            "8",
            "below 0.3 N does not matter much",
            ("abr-figure-15", "For psi below 0.3 there is negligible gain by a larger N"),
        ),
        sentence(
            "8",
            "from 0.5 to 20 a large N improves the throughput, which depends little on M",
            ("abr-figure-15", "In the intermediate range, to 20, a larger N is better"),
            ("abr-figure-18", "It is insensitive to M for Δ = 200 ms"),
        ),
        sentence(
            "8",
            "there a large buffer makes up for the drop",
            ("abr-figure-12", "Section 8: a large buffer makes up for what frequent losses cost"),
        ),
        sentence(
            "8",
            "EFFCAP is fair over a wider range of psi than INSTCAP",
            ("abr-figure-20", "EFFCAP is fairer than INSTCAP"),
        ),
        sentence(
            "8",
            "EFFCAP of the mean round trip is fair even in the intermediate range",
            ("abr-figure-21", "Even in the intermediate range it is fair"),
        ),
    ),
)
