"""A short scenario for the kernel's own TCP: a download over a path with both directions."""

SCENARIO = """\
schema = 1
name = "short"
duration = "2 s"
warmup = "0.5 s"
seed = 7
replicates = 2

[[hops]]
name = "there"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "40 packets" }
delay = "10 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "10 ms"

[[flows]]
name = "download"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" }, preset = "linux" }
"""
