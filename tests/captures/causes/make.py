"""Makes the captures in this folder: short transfers of this machine's kernel, one for each cause.

    python tests/captures/causes/make.py [NAME ...]

As root. `NAME.json` has the transfer and what the kernel said of it (`tests/measure/kernel.py`).
"""

import gzip
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

from tests.measure.kernel import Transfer, run  # noqa: E402

_SHORT = Transfer(seconds=4.0, rate_bit_per_s=8e6)
MADE = {
    "reader": replace(_SHORT, read_bytes=8_000, read_every_s=0.02, receive_buffer=60_000),
    "reader-usual-buffer": replace(_SHORT, read_bytes=3_000, read_every_s=0.01),
    "buffer": replace(
        _SHORT,
        seconds=6.0,
        rate_bit_per_s=20e6,
        send_buffer=20_000,
        delay_s=0.06,
        write_bytes=131_072,
    ),
    "buffer-short-writes": replace(
        _SHORT, rate_bit_per_s=20e6, send_buffer=24_000, delay_s=0.04, write_bytes=1_000
    ),
    "loss-and-jitter": replace(_SHORT, loss=0.01, jitter_s=0.03, control="reno"),
    "way-back": replace(_SHORT, return_rate_bit_per_s=40e3, return_queue_packets=50),
    "marks": replace(_SHORT, ecn=1, mark_above_packets=10, delay_s=0.04, control="reno"),
}


def main() -> None:
    for name in sys.argv[1:] or MADE:
        with tempfile.TemporaryDirectory() as folder:
            capture = Path(folder) / "sender.pcap"
            kernel = run(MADE[name], capture)
            with gzip.GzipFile(HERE / f"{name}.pcap.gz", "wb", mtime=0) as packed:
                packed.write(capture.read_bytes())
        words = {"transfer": MADE[name].__dict__, "kernel": kernel}
        (HERE / f"{name}.json").write_text(json.dumps(words, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
