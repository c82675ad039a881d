# FLOWS bulk transfers from one host to another, over the path of network.tcl.
#
#   ns path.tcl name=value ...
#
# control     Newreno or Sack1
# flows       how many transfers
# rate        of the link, bit/s, both ways
# delay       one-way propagation delay, seconds
# limit       ns-2's queue limit for the data, packets
# red         parameters of Queue/RED in its place, as a Tcl list {name value ...}
# loss        probability that the link loses a data packet it has sent
# losses      or which ones it loses: a Tcl list of numbers, counted from 0 as they leave the link
# duration    simulated seconds
# warmup      seconds after which the counters are read a first time
# start       transfers start uniformly within so many seconds
# overhead    ns-2's overhead_, seconds
# seed        of ns-2's default generator
# settings    further parameters of Agent/TCP, as a Tcl list {name value ...}
# windows     whether the sender's variables are printed as they change (1 or 0)
# onoff       an exponential on-off source without control beside them: {rate mean_on mean_off}, bit/s and seconds
# packets     a file for the trace of every packet at the slow link (default: none)
#
# On standard output: the sender's variables as ns-2 traces them, `time source port destination port variable value`, and
# lines `flow PORT MOMENT name value ...` and `link 0 MOMENT name value ...`, MOMENT being `warmup` or `end`.

set here [file dirname [info script]]
source [file join $here .. .. python ackclock benchmark ns2-tcp.tcl]

array set option {control Newreno flows 1 rate 5e6 delay 0.035 limit 84 red {} loss 0 losses {} duration 100 warmup 10
    start 0 overhead 0 seed 1 settings {} windows 1 packets {} onoff {}}
source [file join $here network.tcl]
Agent/TCP set overhead_ $option(overhead)
foreach {name value} $option(settings) { Agent/TCP set $name $value }

if {$option(packets) ne ""} {
    set trace [open $option(packets) w]
    $ns trace-queue $router $destination $trace
    $ns trace-queue $destination $router $trace
}
if {$option(loss) > 0} {
    set model [new ErrorModel]
    $model set rate_ $option(loss)
    $model ranvar [new RandomVariable/Uniform]
    lose $model
}
if {$option(losses) ne ""} {
    set model [new ErrorModel/List]
    $model droplist $option(losses)
    lose $model
}

set sinks [expr {$option(control) eq "Sack1" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]
for {set i 0} {$i < $option(flows)} {incr i} {
    set tcp($i) [new Agent/TCP/$option(control)]
    set sink($i) [new $sinks]
    connect $tcp($i) $sink($i)
    $tcp($i) set fid_ $i
    if {$option(windows)} {
        $tcp($i) attach stdout
        foreach variable {cwnd_ ncwndcuts_ nrexmit_} { $tcp($i) trace $variable }
    }
    set bulk [new Application/FTP]
    $bulk attach-agent $tcp($i)
    $ns at [$starts value] "$bulk start"
}

if {$option(onoff) ne ""} {
    lassign $option(onoff) crossrate on off
    set cross [new Agent/UDP]
    set null [new Agent/Null]
    $cross set packetSize_ 1000
    connect $cross $null
    $cross set fid_ 99
    set source_onoff [new Application/Traffic/Exponential]
    $source_onoff set packetSize_ 1000
    $source_onoff set rate_ $crossrate
    $source_onoff set burst_time_ $on
    $source_onoff set idle_time_ $off
    $source_onoff attach-agent $cross
    $ns at 0 "$source_onoff start"
}

proc count {moment} {
    global option tcp sink queue
    for {set i 0} {$i < $option(flows)} {incr i} {
        # A sink counts headers, of all packets but the first.
        set delivered [expr {([$sink($i) set bytes_] + 40) / 1040}]
        puts "flow $i $moment delivered $delivered sent [$tcp($i) set ndatapack_]\
            retransmitted [$tcp($i) set nrexmitpack_] timeouts [$tcp($i) set nrexmit_]"
    }
    puts "link 0 $moment arrivals [$queue set parrivals_] departures [$queue set pdepartures_]\
        drops [$queue set pdrops_] bytes [$queue set bdepartures_]"
}
$ns at $option(warmup) {count warmup}
$ns at $option(duration) {count end; exit 0}
$ns run
