# TFRC and TCP transfers from one host to another, over the path of network.tcl.
#
#   ns tfrc.tcl name=value ...
#
# tfrc        how many TFRC flows
# tcp         how many TCP transfers (Sack1)
# rate        of the link, bit/s, both ways
# delay       one-way propagation delay, seconds
# limit       ns-2's queue limit for the data, packets
# loss        probabilities with which the link loses a data packet it has sent: a Tcl list {from probability ...}
# duration    simulated seconds
# start       transfers start uniformly within so many seconds
# minrto      ns-2's minrto_ of TFRC, seconds: its t_RTO is a TCP's, and no less than this
# interval    seconds between two lines of counts
# seed        of ns-2's default generator
#
# On standard output, at each interval: `count TIME delivered ...` with the packets that have reached each sink, TFRC flows first; at the end
# `link arrivals N drops N`.

set here [file dirname [info script]]
source [file join $here .. .. python ackclock benchmark ns2-tcp.tcl]

array set option {tfrc 1 tcp 0 rate 100e6 delay 0.035 limit 1000 loss {} duration 200 start 0 minrto 0
    interval 0.5 seed 1}
source [file join $here network.tcl]
Agent/TCP set overhead_ 0
Agent/TFRC set packetSize_ 1000
Agent/TFRC set useHeaders_ true;            # payload + headersize_ on the wire
Agent/TFRC set headersize_ 40
Agent/TFRC set bval_ 1
Agent/TFRC set df_ 0.95;                    # share of the old mean of the round-trip time
Agent/TFRC set ca_ 1;                       # the rate follows the square root of the round-trip time
Agent/TFRC set tcp_tick_ 0.001
Agent/TFRC set minrto_ $option(minrto)
Agent/TFRC set InitRate_ 1000;              # one packet per second, in bytes
Agent/TFRC set rate_init_option_ 2;         # RFC 3390
Agent/TFRC set ssmult_ 2
Agent/TFRC set slow_increase_ 1
Agent/TFRC set SndrType_ 0
Agent/TFRC set oldCode_ false
Agent/TFRC set idleFix_ true
Agent/TFRC set conservative_ false
Agent/TFRC set maxHeavyRounds_ 0
Agent/TFRC set voip_ 0
Agent/TFRC set ecn_ 0
Agent/TFRC set overhead_ 0
Agent/TFRCSink set packetSize_ 40
Agent/TFRCSink set NumFeedback_ 1
Agent/TFRCSink set algo_ 1;                 # weighted average of loss intervals
Agent/TFRCSink set NumSamples_ -1;          # eight
Agent/TFRCSink set discount_ 1
Agent/TFRCSink set minDiscountRatio_ 0.5
Agent/TFRCSink set smooth_ 1
Agent/TFRCSink set PreciseLoss_ 1
Agent/TFRCSink set numPkts_ 1;            # with 3 a report that comes before a loss is found makes it forget the loss
Agent/TFRCSink set AdjustHistoryAfterSS_ 1
Agent/TFRCSink set ShortIntervals_ 0

if {$option(loss) ne ""} {
    set model [new ErrorModel]
    $model set rate_ 0
    $model ranvar [new RandomVariable/Uniform]
    lose $model
    foreach {from probability} $option(loss) { $ns at $from "$model set rate_ $probability" }
}

set sinks {}
for {set i 0} {$i < $option(tfrc)} {incr i} {
    set sender [new Agent/TFRC]
    set sink [new Agent/TFRCSink]
    connect $sender $sink
    $ns at [$starts value] "$sender start"
    lappend sinks $sink
}
for {set i 0} {$i < $option(tcp)} {incr i} {
    set sender [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    connect $sender $sink
    set bulk [new Application/FTP]
    $bulk attach-agent $sender
    $ns at [$starts value] "$bulk start"
    lappend sinks $sink
}

# A sink counts headers: 1040 bytes a packet, but 1000 for TCP's first.
proc count {time} {
    global ns option sinks
    set delivered {}
    foreach sink $sinks { lappend delivered [expr {([$sink set bytes_] + 40) / 1040}] }
    puts "count [format %.6f $time] $delivered"
    set next [expr {$time + $option(interval)}]
    if {$next <= $option(duration) + 1e-9} { $ns at $next "count $next" }
}
count 0
$ns at [expr {$option(duration) + 0.001}] {
    puts "link arrivals [$queue set parrivals_] drops [$queue set pdrops_]"
    exit 0
}
$ns run
