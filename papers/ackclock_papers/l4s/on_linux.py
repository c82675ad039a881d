"""Rates of ten runs for each cell of a study on Linux, as its published artefacts have them.

The files `*_tput_*.json` in `Data/1vs1 flow experiments/Prague vs Classic` have each run's rate
(iperf3's `sum_received`, over the whole 60 s). Here are mean and standard deviation of Prague's
rate and the mean of the other flow's, in Mbit/s, for buffers of 0.5, 1, 2, 4 and 8 products of rate
and round-trip time.
"""

from typing import NamedTuple


class Measured(NamedTuple):
    """Ten runs of a cell, in Mbit/s."""

    prague: float
    deviation: float
    other: float


#: Buffers in bandwidth-delay products.
BUFFERS = (0.5, 1, 2, 4, 8)

_CELLS = """
cubic | droptail | 40.4 4.9 53.5;45.9 4.7 49.4;54.4 3.7 41.2;53.4 5.0 42.4;43.9 5.7 51.8
cubic | step | 40.5 3.5 53.9;1.6 0.3 94.0;0.4 0.3 95.2;0.2 0.2 95.3;0.3 0.3 95.3
cubic | pie | 39.7 3.2 52.9;39.7 3.6 55.2;38.3 1.8 56.8;36.2 1.9 58.8;36.8 2.4 58.1
cubic | codel | 41.3 4.0 51.4;35.9 1.1 58.9;37.5 1.2 57.4;35.9 2.7 58.9;36.3 2.4 58.6
cubic | codel that marks | 43.8 2.6 50.4;73.6 4.1 21.0;88.2 0.6 6.6;88.3 0.5 6.7;88.0 0.7 7.0
cubic | fq | 37.5 2.2 57.3;42.0 2.2 53.4;45.9 0.8 49.6;46.6 0.3 48.9;46.6 0.3 48.8
cubic | fq_codel | 45.5 0.5 49.5;47.3 0.2 48.0;47.5 0.1 47.9;47.4 0.1 48.0;47.5 0.1 47.8
cubic | fq_codel for L4S | 43.6 0.8 50.3;46.1 0.4 48.2;46.3 0.3 48.2;46.3 0.3 48.2;46.4 0.2 48.1
cubic | dualpi2 | 41.9 1.6 53.1;42.0 1.0 53.0;42.3 1.4 52.7;42.6 0.8 52.4;41.9 1.9 53.3
bbr1 | droptail | 7.8 0.3 86.5;9.1 0.4 85.3;41.8 5.7 53.3;55.9 5.7 39.4;63.1 4.7 32.0
bbr1 | step | 7.7 0.2 86.5;2.7 0.3 91.5;2.6 0.4 91.6;2.5 0.5 91.6;2.5 0.3 91.6
bbr1 | pie | 7.7 0.4 86.4;9.6 0.7 84.5;9.2 1.2 84.7;9.0 1.1 85.4;9.1 0.8 85.1
bbr1 | codel | 7.2 0.5 86.5;10.1 0.6 84.1;10.3 0.9 84.1;10.6 0.9 83.6;10.5 0.7 83.8
bbr1 | codel that marks | 7.6 0.3 86.4;15.2 0.5 78.9;38.8 1.3 56.2;39.9 1.0 55.3;40.0 2.0 55.1
bbr1 | fq | 7.9 0.4 86.4;9.3 0.4 84.8;47.6 0.3 47.4;47.9 0.1 47.3;47.9 0.1 47.2
bbr1 | fq_codel | 45.4 0.4 49.0;48.1 0.3 47.0;48.1 0.2 46.9;48.2 0.1 46.9;48.2 0.1 46.9
bbr1 | fq_codel for L4S | 43.4 1.8 50.4;45.7 0.9 48.2;46.5 0.4 47.6;46.6 0.3 47.5;46.3 0.4 47.8
bbr1 | dualpi2 | 12.5 0.7 81.8;12.6 0.7 81.6;12.6 0.8 81.6;12.7 0.4 81.6;12.4 0.3 81.8
bbr3 | droptail | 22.2 2.1 70.0;24.0 1.2 70.2;43.2 2.2 52.0;61.0 8.8 34.3;55.9 7.0 39.5
bbr3 | step | 20.6 1.5 71.1;3.5 0.6 89.9;2.0 0.4 92.0;1.7 0.4 92.5;1.8 0.3 92.5
bbr3 | pie | 22.7 1.0 69.6;25.3 1.4 68.6;22.5 1.2 71.5;21.9 1.1 72.3;21.0 1.1 73.0
bbr3 | codel | 23.3 0.6 69.4;17.3 0.9 76.2;19.3 0.9 74.7;19.8 0.8 74.3;19.8 0.5 74.5
bbr3 | codel that marks | 22.4 1.7 69.8;25.9 2.0 67.9;70.7 5.7 23.9;78.7 1.0 16.2;78.1 1.4 16.6
bbr3 | fq | 22.9 1.5 66.9;33.5 4.8 58.8;42.5 14.1 52.1;47.6 0.2 47.3;47.6 0.2 47.3
bbr3 | fq_codel | 44.1 0.9 49.0;47.4 0.6 46.9;48.7 0.2 46.3;48.7 0.2 46.3;48.7 0.2 46.3
bbr3 | fq_codel for L4S | 43.6 1.2 48.8;46.8 1.0 46.8;47.3 0.4 46.5;47.5 0.3 46.2;47.3 0.4 46.6
bbr3 | dualpi2 | 37.7 2.3 54.5;37.3 3.3 54.9;38.7 4.0 53.5;37.9 3.3 54.3;36.9 3.1 55.2
bbr3 ecn | droptail | 23.7 1.4 68.9;25.2 0.8 69.0;43.1 2.8 52.3;56.5 6.4 38.7;55.6 4.8 39.7
bbr3 ecn | step | 22.7 1.1 69.6;3.6 0.7 89.7;1.7 0.4 92.7;1.6 0.3 92.8;1.5 0.2 92.9
bbr3 ecn | pie | 23.0 1.2 69.8;24.3 1.4 69.9;22.4 1.7 72.0;22.5 1.0 71.9;21.4 0.7 72.8
bbr3 ecn | codel | 23.1 1.3 69.6;19.0 1.6 75.0;19.6 0.7 74.7;20.4 0.7 74.0;20.3 1.1 74.0
bbr3 ecn | codel that marks | 23.6 1.8 69.3;24.2 1.5 69.9;39.0 3.0 56.2;45.6 13.0 49.9;41.7 2.0 53.8
bbr3 ecn | fq | 23.6 2.0 66.6;33.6 3.7 59.0;47.6 0.2 47.4;47.8 0.1 47.2;47.8 0.1 47.2
bbr3 ecn | fq_codel | 44.2 1.7 49.6;46.2 0.8 47.9;48.1 0.2 47.2;48.0 0.2 47.1;48.0 0.2 47.2
bbr3 ecn | fq_codel for L4S | 44.1 1.6 49.3;46.5 0.5 47.8;46.5 0.4 47.8;46.8 0.2 47.5;46.8 0.3 47.7
bbr3 ecn | dualpi2 | 3.9 1.2 90.2;4.1 1.0 90.2;4.3 1.0 89.9;4.6 1.2 89.6;3.6 1.1 90.7
"""


def cells() -> dict[tuple[str, str, float], Measured]:
    """Returns what was measured, by the flow beside Prague, the queue and the buffer."""
    measured = {}
    for line in _CELLS.strip().splitlines():
        other, queue, numbers = line.split(" | ")
        for buffer, cell in zip(BUFFERS, numbers.split(";"), strict=True):
            measured[other, queue, buffer] = Measured(*map(float, cell.split()))
    return measured
