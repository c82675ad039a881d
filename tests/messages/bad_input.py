"""Bad input: the code and field of each error, and the faulty input. A new case is a new line.

The first word is the code, the second the field, `-` for none.
"""

from collections.abc import Iterator
from typing import NamedTuple


class Case(NamedTuple):
    code: str
    field: str
    text: str


# Assignments to the leaky pipe, separated by " & "; the result is then checked.
SCENARIO = """
missing         flows.main.transport.control        flows.main.transport={kind = "tcp"}
missing         flows.main.transport.control.name   flows.main.transport.control={kind = "kernel"}
missing         hops.wired.link.kind                hops.wired.link={}
missing         hops.wired.link.rate                hops.wired.link={kind = "constant"}
missing         shared_media.0.name                        shared_media=[{kind = "edca"}]
missing         hops.wired.link.mean_sojourn        hops.wired.link={kind = "markov", rates = ["1 Mbit/s", "2 Mbit/s"]}
missing         flows.main.traffic.size.values      flows.main.traffic={kind = "transfer", size = {kind = "empirical"}}
unknown-field   hops.wired.dealy                    hops.wired.dealy=1 ms
unknown-field   lab.slider                          lab={slider = {}}
unknown-field   lab.sliders.hops.wierd              lab={sliders = {"hops.wierd.delay" = "1..5 ms"}}
syntax          lab.sliders.hops.wired.delay        lab={sliders = {"hops.wired.delay" = "5 ms"}}
unknown-field   nonsense                            nonsense=1
unknown-field   hops.wierd                          hops.wierd.delay=1 ms
unknown-field   hops.9                              hops.9.delay=1 ms
unknown-field   duration                            duration.x=1
unknown-field   flows.main.transport.mms            flows.main.transport.mms=1 kB
unknown-field   flows.main.transport.delayed_ack.x  flows.main.transport.delayed_ack.x=1
unknown-name    hops.wired.link.kind                hops.wired.link.kind=konstant
unknown-name    hops.wired.queue.kind               hops.wired.queue.kind=pfifo
unknown-name    hops.wireless.impairments.0.kind    hops.wireless.impairments.0.kind=rain
unknown-name    flows.main.transport.kind           flows.main.transport.kind=quic
unknown-name    flows.main.transport.control.kind   flows.main.transport.control.kind=rneo
unknown-name    flows.main.transport.preset         flows.main.transport.preset=frc
unknown-name    flows.main.transport.recovery       flows.main.transport.recovery=sac
unknown-name    flows.main.traffic.kind             flows.main.traffic={kind = "bulky"}
unknown-name    flows.main.route.0                  flows.main.route=["wierd"]
unknown-name    flows.main.return.1                 flows.main.return=["return", "nowhere"]
unknown-name    hops.wired.link.from                hops.wired.link={kind = "feedback", from = "x", delay = "1 ms", period = "10 ms", algorithm = {kind = "instcap"}}
unknown-name    hops.wired.link.medium              hops.wired.link={kind = "edca", medium = "air", rate = "6 Mbit/s"}
wrong-type      hops.wired.delay                    hops.wired.delay=soon
wrong-type      hops.wired.link                     hops.wired.link=fast
wrong-type      hops.0                              hops=[1]
wrong-type      hops                                hops={name = "wired"}
wrong-type      hops.wired.impairments              hops.wired.impairments={kind = "iid_loss"}
wrong-type      replicates                          replicates=many
wrong-type      flows.main.count                    flows.main.count=-1
wrong-type      flows.main.transport                flows.main.transport=tcp
wrong-type      hops.wireless.impairments.0.probability    hops.wireless.impairments.0.probability=oops
wrong-type      sweep.duration                      sweep={duration = "1 s"}
wrong-type      sweep.seed,replicates               sweep={"seed,replicates" = [[1]]}
wrong-type      flows.main.start                    flows.main.start=["1 s"]
no-unit         hops.wired.delay                    hops.wired.delay=35
no-unit         hops.wired.link.rate                hops.wired.link.rate="45"
no-unit         hops.wired.queue.limit              hops.wired.queue.limit=100
no-unit         flows.main.transport.mss            flows.main.transport.mss="1460"
wrong-unit      hops.wired.delay                    hops.wired.delay=1 kB
wrong-unit      hops.wired.queue.limit              hops.wired.queue.limit=1 bdp
wrong-unit      hops.wired.delay                    hops.wired.delay=10 Mbps * 1 s
wrong-unit      hops.wired.delay                    hops.wired.delay=2 * 3 kB
wrong-unit      hops.wired.delay                    hops.wired.delay=1 ms + 1 kB
no-unit         hops.wired.delay                    hops.wired.delay=2 * 3
out-of-range    hops.wired.delay                    hops.wired.delay=1 ms - 1 s
out-of-range    hops.wired.delay                    hops.wired.delay=1 s / 0
syntax          hops.wired.delay                    hops.wired.delay=(1 ms
syntax          hops.wired.delay                    hops.wired.delay=1 ms * * 2
unknown-name    hops.wired.delay                    hops.wired.delay=2 * rtt
unknown-name    hops.wired.delay                    values.rtt=1 ms & hops.wired.delay=rt
contradiction   hops.wired.delay                    hops.wired.delay=1 RTT
contradiction   hops.wired.link.rate                hops.wired.link.rate=1 BDP / 1 s
contradiction   duration                            duration=1 BDP
contradiction   flows.main.start                    flows.main.access_delay=["0 s", "1 s"] & flows.main.start=1 RTT
contradiction   values.a                            values.a=2 RTT
contradiction   values.a                            values.a=2 * b & values.b=a / 2
contradiction   values.ms                           values.ms=1 s
wrong-type      values                              values=3
wrong-unit      hops.wired.link.rate                hops.wired.link.rate=45 ms
wrong-unit      hops.wired.queue.limit              hops.wired.queue.limit=1 Mbit/s
out-of-range    duration                            duration=0 s
out-of-range    replicates                          replicates=0
out-of-range    sample_interval                     sample_interval=0 s
out-of-range    sample_interval                     sample_interval=1 ns
out-of-range    hops.wired.delay                    hops.wired.delay=-1 s
out-of-range    hops.wired.link.rate                hops.wired.link.rate=1 bit/s
out-of-range    hops.0.name                         hops.wired.name="a.b"
out-of-range    hops.wireless.impairments.0.probability    hops.wireless.impairments.0.probability=120 %
out-of-range    hops.wired.queue.limit              hops.wired.queue.limit=0.5 packets
out-of-range    hops.wireless.impairments.0.burst       hops.wireless.impairments.0={kind = "policer", rate = "1 Mbit/s", burst = "100 bytes"}
contradiction   hops.wireless.impairments.0.until       hops.wireless.impairments.0={kind = "periodic_loss", every = 2, from = "2 s", until = "1 s"}
out-of-range    hops.wireless.impairments.0.interval    hops.wireless.impairments.0={kind = "aggregation", interval = "0 s"}
out-of-range    flows.main.traffic.steps                flows.main.traffic={kind = "scheduled", steps = []}
out-of-range    hops.wired.queue.target_delay       hops.wired.queue={kind = "ebdp", target_delay = "0 s"}
contradiction   hops.wired.queue.minimum            hops.wired.queue={kind = "alt", minimum = "20 packets", maximum = "10 packets"}
out-of-range    hops.wired.queue.weight             hops.wired.queue={kind = "a_star", weight = 2}
out-of-range    hops.wired.link.rates               hops.wired.link={kind = "markov", rates = []}
out-of-range    flows.main.transport.mss            flows.main.transport.mss=0 B
out-of-range    flows.main.transport.mss            flows.main.transport.mss=70 kB
out-of-range    flows.main.transport.initial_window flows.main.transport.initial_window=0 packets
out-of-range    flows.main.transport.initial_window flows.main.transport.initial_window=4e9 packets
out-of-range    flows.main.transport.rto_minimum    flows.main.transport.rto_minimum=0 s
out-of-range    flows.main.transport.control.beta   flows.main.transport.control.beta=2
out-of-range    flows.main.transport.control.alpha  flows.main.transport.control.alpha=0
out-of-range    flows.main.transport.control.name   flows.main.transport.control={kind = "kernel", name = "../bbr"}
unknown-name    flows.main.transport.control.shipped   flows.main.transport.control={kind = "kernel", shipped = "aimb"}
unknown-name    flows.main.transport.control.parameters.alfa   flows.main.transport.control={kind = "kernel", shipped = "aimd", parameters = {alfa = 2}}
out-of-range    flows.main.transport.control.parameters.alpha  flows.main.transport.control={kind = "kernel", shipped = "aimd", parameters = {alpha = -1}}
file            flows.main.transport.control.file   flows.main.transport.control={kind = "kernel", file = "absent.bpf.c"}
out-of-range    flows.main.transport.control.file   flows.main.transport.control={kind = "python", file = "mine.txt", class = "Mine"}
out-of-range    flows.main.transport.control.class  flows.main.transport.control={kind = "python", file = "mine.py", class = "a-b"}
file            flows.main.transport.control.file   flows.main.transport.control={kind = "python", file = "absent.py", class = "Mine"}
out-of-range    flows.main.source                   flows.main.source=" "
out-of-range    flows.main.route                    flows.main.route=[]
out-of-range    flows.main.count                    flows.main.count=0
out-of-range    flows.main.start                    flows.main.start=["2 s", "1 s"]
out-of-range    sweep.seed                          sweep={seed = []}
contradiction   warmup                              warmup=10 s
contradiction   warmup                              warmup=2 h & duration=1 h
contradiction   hops.1.name                         hops.wireless.name=wired
contradiction   flows.main.stop                     flows.main.stop=1 s & flows.main.start=2 s
contradiction   flows.main.return                   flows.main.return=[]
contradiction   flows.main.count                    flows.main.count=2 & flows.main.arrivals={kind = "poisson", mean_interval = "1 s"}
contradiction   hops.wired.packet_delays            hops.wired.packet_delays=true & hops.wired.scope=per_flow
contradiction   hops.wired.queue.range              hops.wired.queue={kind = "dualpi2", arithmetic = "linux", range = "1 ms"}
contradiction   hops.wired.queue.alpha              hops.wired.queue={kind = "pie", arithmetic = "linux", alpha = 0.1}
contradiction   hops.wired.queue.peak_rate          hops.wired.queue={kind = "tbf", rate = "1 Mbit/s", burst = "9 kB", limit = "9 packets", peak_rate = "1 Mbit/s"}
contradiction   flows.main.control_calls            flows.main.control_calls=true
contradiction   flows.main.control_states           flows.main.transport={kind = "udp"} & flows.main.traffic={kind = "cbr", rate = "1 Mbit/s"} & flows.main.control_states=true
contradiction   flows.main.traffic.kind             flows.main.transport={kind = "udp"}
contradiction   flows.main.transport.burst          flows.main.transport={kind = "udp", burst = "2 packets"}
contradiction   flows.main.transport.receive_window flows.main.transport.receive_window=10 bytes
contradiction   flows.main.transport.rto_minimum    flows.main.transport.rto_minimum=2 h & flows.main.transport.rto_maximum=1 h
contradiction   flows.main.transport.after_timeout  flows.main.transport.recovery=newreno & flows.main.transport.after_timeout=scoreboard
unsupported     schema                              schema=99
file            hops.wired.link.file                hops.wired.link={kind = "trace", file = "no.down", format = "mahimahi"}
file            hops.wired.link.file                hops.wired.link={kind = "trace", file = "bad.down", format = "mahimahi"}
file            hops.wired.link.digest              hops.wired.link={kind = "trace", file = "good.down", format = "mahimahi", digest = "0"}
"""

# Command lines, in a folder with leaky.toml and its results.
COMMANDS = """
syntax          -               check broken.toml
wrong-type      duration        check dated.toml
file            missing.toml    check missing.toml
file            .               check .
missing         SCENARIO        simulate
unknown-name    -               frobnicate
unknown-field   --frobnicate    simulate leaky.toml --frobnicate
syntax          -               simulate leaky.toml --set nonsense
out-of-range    --replicates    simulate leaky.toml --replicates 0
out-of-range    --seed          simulate leaky.toml --seed x
unknown-name    --models        simulate leaky.toml --models pftk,pftc
file            leaky.toml      simulate leaky.toml -o leaky.toml
file            .               simulate leaky.toml -o .
unsupported     flows.main.transport.control.name    simulate kernel.toml
unknown-name    KIND            show wombats
unknown-name    NAME            show controls rneo
unknown-name    NAME            show queues zzz
file            missing         plot missing
unknown-name    --metric        plot run --metric speed
out-of-range    --point         plot run --point 6
out-of-range    --replicate     plot run --replicate 3
unknown-name    --kind          plot run --kind pie
no-data         --kind          plot run --kind bursts
no-data         --kind          plot run --kind sequence
unsupported     -o              plot run --kind cwnd -o x.doc
contradiction   -o              plot run -o x.svg
contradiction   --from          plot run --kind variation --from 1s
contradiction   --to            plot run --from 2s --to 1s
no-data         run             plot run --kind cwnd --from 1000s
contradiction   --connection    plot run --connection 1
unknown-name    --x             plot run --kind heatmap --x hops.wired.dealy
unknown-name    --x             plot run --kind cdf --x nothing
contradiction   --y             plot run --kind heatmap --x flows.main.transport.control.kind --y flows.main.transport.control.kind
contradiction   --y             plot run --kind cwnd --y duration
unknown-name    --subject       plot run --kind cdf --subject nobody
wrong-type      --width         plot run --width wide
wrong-type      --width         plot run --width 90m
out-of-range    --width         plot run --width 9000mm
out-of-range    --font-size     plot run --font-size 0
missing         METRIC...       table run
unknown-name    METRIC          table run speed
unknown-name    --subject       table run goodput --subject nobody
unsupported     x.doc           table run goodput -o x.doc
file            missing         table missing goodput
unknown-name    TEMPLATE        new dumbell
missing         TEMPLATE        new -o x.toml
file            run             new lte -o run
file            leaky.toml      new lte -o leaky.toml
syntax          -               check cut.json
missing         RUNS            report
file            missing         report missing
contradiction   -o              report run -o run
file            missing         replay missing
file            run             replay run
file            run             measure run
file            nothing.pcap    measure nothing.pcap
file            text.pcap       measure text.pcap
file            elf.pcap        measure elf.pcap
file            xz.pcap         measure xz.pcap
file            cut.pcap        measure cut.pcap
unsupported     link.pcap       measure link.pcap
file            empty.pcap      measure empty.pcap
out-of-range    --interval      measure empty.pcap --interval 0s
unknown-name    estimators.bee.kind    measure empty.pcap --estimators be,bee
missing         --rtt           predict pftk --loss 1%
out-of-range    --loss          predict pftk --loss 150% --rtt 1s
wrong-type      --loss          predict pftk --loss nan --rtt 1s
no-unit         --rtt           predict pftk --loss 1% --rtt 100
wrong-unit      --rtt           predict pftk --loss 1% --rtt 1%
unknown-field   --los           predict pftk --los 1% --rtt 1s
out-of-range    --mss           predict pftk --loss 1% --rtt 1s --mss 0B
wrong-type      --mss           predict pftk --loss 1% --rtt 1s --mss wide
missing         --goodput       predict pftk --loss 1% --rtt 1s --goodput 1Mbit/s
missing         --solve         predict pftk --rtt 1s --solve loss
unknown-name    --solve         predict pftk --rtt 1s --solve los --goodput 1Mbit/s
contradiction   --loss          predict pftk --rtt 1s --loss 1% --solve loss --goodput 1Mbit/s
no-solution     --utilisation   predict sawtooth --rate 100Mbit/s --rtt 50ms --solve buffer --utilisation 40%
unsupported     --buffer        predict instcap --rate 200packets/s --rtt 200ms --psi 5 --solve buffer --efficiency 90%
contradiction   --low-rate      predict tcp_alone --rate 2Mbit/s --low-rate 300packets/s --rtt 200ms --psi 5 --buffer 9
contradiction   --warmup        predict hstcp_window_sim --rate 1Mbit/s --rtt 100ms --buffer 9 --warmup 2min --duration 60s
contradiction   --min-th        predict hstcp_red --rate 100Mbit/s --rtt 100ms --places 90 --min-th 30kB --max-th 15kB
out-of-range    --low-psi       predict instcap --rate 200packets/s --rtt 200ms --psi 5 --buffer 9 --low-psi 0.5
no-solution     --time          predict cardwell --size 10 --loss 30% --rtt 100ms --solve syn-timer --time 1e9h
unknown-name    -               predict pftc --loss 1%
unknown-name    -               predict zzz
unknown-name    --methods          compare leaky.toml --methods simulate,guess
missing         --methods          compare leaky.toml --methods measure
unknown-name    --metrics       compare leaky.toml --metrics speed
unknown-name    --device        emulate leaky.toml --device tap
out-of-range    --side-by-side  emulate leaky.toml --side-by-side 0
missing         NAMES           reproduce
unknown-name    -               reproduce zzz
no-unit         --rtt           advise feedback good.down --rtt 5
missing         --rtt           advise feedback good.down
file            missing.down    advise feedback missing.down --rtt 100ms
unsupported     leaky.toml      advise feedback leaky.toml --rtt 100ms
syntax          --effcap        advise feedback good.down --rtt 1ms --effcap 0,49
unsupported     sweep           advise buffer leaky.toml
missing         --key-file      send
contradiction   --listen        send --insecure --listen 8.8.8.8:1
contradiction   --insecure      send --insecure --key-file key
contradiction   --bytes         send --insecure --bytes 1MB -
wrong-type      --tick          send --insecure --tick soon
no-unit         --max-rate      send --insecure --max-rate 5
out-of-range    --max-rate      send --insecure --max-rate 1kbit/s
out-of-range    --payload       send --insecure --payload 1300B
unknown-name    --control.kind  send --insecure --control reno
file            --key-file      send --key-file short
file            --key-file      send --key-file shared
file            run             simulate leaky.toml -o run
out-of-range    NAME            controls new ../mine
out-of-range    -o              controls new mine -o mine.c
file            leaky.bpf.c     controls check leaky.bpf.c
out-of-range    leaky.toml      controls check leaky.toml
missing         CONTROL         evaluate
unknown-name    CONTROL         evaluate bbr4
unsupported     CONTROL.name    evaluate '{ kind = "kernel", name = "bbr" }'
unknown-name    --suite         evaluate bbr1 --suite bbr-drift
file            nothing.toml    evaluate bbr1 --suite nothing.toml
unknown-name    --only          evaluate bbr1 --only polcer
contradiction   SENDER          receive 8.8.8.8:1 --insecure
syntax          SENDER          receive 127.0.0.1 --insecure
contradiction   --json          receive 127.0.0.1:1 - --insecure --json
syntax          --vary          sweep run leaky.toml --vary hops.wired.delay
syntax          --vary          sweep run leaky.toml --vary hops.wired.delay=a..b
out-of-range    --vary          sweep run leaky.toml --vary 'hops.wired.delay=2..1 ms'
out-of-range    --vary          sweep run leaky.toml --vary 'hops.wired.delay=0..1 ms log'
out-of-range    --vary          sweep run leaky.toml --vary 'hops.wired.queue.limit=0.5..3 packets'
contradiction   --vary          sweep run leaky.toml --vary 'hops.wired.delay=1 ms..2 s'
unknown-field   hops.wird       sweep run leaky.toml --vary 'hops.wird.delay=1..2 ms'
no-unit         hops.wired.delay    sweep run leaky.toml --vary 'hops.wired.delay=1..2'
unknown-name    --design        sweep run leaky.toml --design gird
out-of-range    --design        sweep run leaky.toml --design sobol:100
out-of-range    --design        sweep run leaky.toml --design latin
unknown-name    --method        sweep run leaky.toml --method simulate,measure
unsupported     --on            sweep run leaky.toml --method emulate --on dask:tcp://head:8786
unknown-name    --models        sweep run leaky.toml --method predict --models pftkk
unknown-name    --metric        sweep run leaky.toml --metric utilization
unknown-name    --metric        sweep run leaky.toml --metric 'utilisation(wird)'
contradiction   replicates      sweep run leaky.toml --vary replicates=1,2
contradiction   --independent   sweep run leaky.toml --vary seed=1,2 --independent
missing         --metric        sweep run leaky.toml --until '±1 %'
wrong-type      --until         sweep run leaky.toml --metric rtt --until narrow
no-unit         --until         sweep run leaky.toml --metric rtt --until 1
wrong-unit      --until         sweep run leaky.toml --metric goodput --until '±1 ms'
contradiction   --until         sweep run leaky.toml --metric rtt --until '±1 %' --replicates 1
out-of-range    --replicates    sweep run leaky.toml --replicates 5..2
contradiction   --replicates    sweep run leaky.toml --replicates 5..20
unknown-name    --keep          sweep run leaky.toml --keep flow
unknown-name    --on            sweep run leaky.toml --on hear
unknown-field   --on            sweep run leaky.toml --on slurm:queue=short
out-of-range    --on            sweep run leaky.toml --on slurm:max=0
no-unit         --time-limit    sweep run leaky.toml --time-limit 5
file            run             sweep run leaky.toml -o run
file            run             sweep status run
out-of-range    --shard         sweep resume sweep --shard 9/8
missing         --failed        sweep retry sweep
no-data         sweep           sweep retry sweep --failed
no-data         sweep           sweep show sweep --y rtt
unknown-name    --x             sweep show sweep --x hops.wired.delay --y goodput
no-data         --where         sweep show sweep --where kind=vegas
syntax          --where         sweep show sweep --where kind
missing         --x             sweep show sweep -o x.svg
unsupported     --x             sweep show sweep --x flows.main.transport.control.kind -o x.svg
unsupported     --output        sweep show sweep -o x.xls
missing         --minimise      sweep search leaky.toml
syntax          --minimise      sweep search leaky.toml --minimise goodput
unknown-name    --minimise      sweep search leaky.toml --minimise 'goodputs(main)'
missing         --vary          sweep search leaky.toml --minimise 'goodput(main)'
unknown-name    --minimise      sweep search leaky.toml --minimise 'goodput(x)' --vary 'hops.wired.delay=1..2 ms'
"""

# Python expressions with the names that `ackclock` exports.
EXPRESSIONS = """
unknown-name    -               models.model("pftc")
unknown-field   los             models.model("pftk").answer(los=0.1, rtt=1)
out-of-range    loss            models.model("pftk").answer(loss=[0.1, 1.5], rtt=1)
unknown-field   speed           models.model("pftk").output("speed")
contradiction   initial_window  models.model("short_transfer").answer(size=100, buffer=20, rate=100, rtt=0.1, initial_window=30)
out-of-range    p               models.pftk.full(1.5, 0.1, 0.4)
contradiction   w1              models.slow_start_overflow.overflow(20, 100, 1, 30)
unknown-name    -               metrics.metric("goodptu")
wrong-type      -               units.seconds("soon")
wrong-unit      -               units.seconds("45 furlongs")
wrong-unit      -               units.seconds("45 Mbit/s")
missing         trace.ack       rate_estimates({"time_s": []}, mss=1000)
out-of-range    mss             rate_estimates({"time_s": []}, mss=0)
contradiction   estimators      rate_estimates({"time_s": []}, ["abse", "abse"], mss=1000)
out-of-range    number          hold_active(load("leaky.toml"), "main", 0)
unsupported     sweep           hold_active(load("leaky.toml"), "main", 3)
"""


def cases(table: str) -> Iterator[Case]:
    """Returns the cases of a table; fields of two words are joined by a colon in the second."""
    for line in table.strip().splitlines():
        code, rest = line.split(maxsplit=1)
        field, text = rest.split("  ", maxsplit=1) if "  " in rest else rest.split(maxsplit=1)
        yield Case(code, "" if field == "-" else field, text.strip())
