# The benchmark dumbbell: FLOWS NewReno flows over one bottleneck of FLOWS x 10 Mbit/s with a
# drop-tail queue of FLOWS x 50 packets and 10 ms. Every flow has its own access links of 1 Gbit/s:
# 5 to 14 ms at the sender, evenly spread, and 1 ms at the receiver. All links are duplex, and the
# ACKs travel back over them. Slow start ends at 64 packets, about a flow's share. Without that
# limit, the first of many flows overshoot by thousands of packets, and the rest of the run is their
# recovery. Nothing is traced.
#
#   ns dumbbell.tcl FLOWS SECONDS SEED SCHEDULER HEADERS
#
# SCHEDULER is ns-2's event list: Calendar (its default), Heap, Splay or List.
# HEADERS is `all` (its default: every packet carries fields for every protocol ns-2 knows) or
# `needed` (IP, TCP and flags only: the same packets in the same order, and a third faster).
# Routes are written by hand: the time of ns-2's own computation grows with the cube of the nodes.

if {[llength $argv] != 5} {
    puts stderr "usage: ns dumbbell.tcl FLOWS SECONDS SEED SCHEDULER all|needed"
    exit 2
}
lassign $argv flows seconds seed scheduler headers
if {$headers eq "needed"} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags
}
source [file join [file dirname [info script]] ns2-tcp.tcl]

set ns [new Simulator]
$ns use-scheduler $scheduler
$ns rtproto Manual
ns-random $seed
set access_rate 1Gb
set access_queue 1000000

set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right [expr {$flows * 10}]Mb 10ms DropTail
$ns queue-limit $left $right [expr {$flows * 50}]
$ns queue-limit $right $left $access_queue
[$left entry] defaulttarget [[$ns link $left $right] head]
[$right entry] defaulttarget [[$ns link $right $left] head]

# A node of one link sends everything that is not its own over it; a router needs a route to each of its hosts.
proc attach_host {router rate delay} {
    global ns access_queue
    set host [$ns node]
    $ns duplex-link $host $router $rate $delay DropTail
    $ns queue-limit $host $router $access_queue
    $ns queue-limit $router $host $access_queue
    [$host entry] defaulttarget [[$ns link $host $router] head]
    $router add-route [$host id] [[$ns link $router $host] head]
    return $host
}

set starts [new RandomVariable/Uniform]
$starts set min_ 0.0
$starts set max_ 1.0
for {set i 0} {$i < $flows} {incr i} {
    set delay [expr {$flows == 1 ? 5.0 : 5.0 + 9.0 * $i / ($flows - 1)}]ms
    set sender [attach_host $left $access_rate $delay]
    set receiver [attach_host $right $access_rate 1ms]
    set tcp($i) [new Agent/TCP/Newreno]
    set sink($i) [new Agent/TCPSink]
    $ns attach-agent $sender $tcp($i)
    $ns attach-agent $receiver $sink($i)
    $ns connect $tcp($i) $sink($i)
    $tcp($i) set fid_ $i
    set source [new Application/FTP]
    $source attach-agent $tcp($i)
    $ns at [$starts value] "$tcp($i) set ssthresh_ 64; $source start"
}

proc finish {} {
    global ns flows tcp sink first_event
    set sent 0
    set resent 0
    set delivered 0
    for {set i 0} {$i < $flows} {incr i} {
        incr sent [$tcp($i) set ndatapack_]
        incr resent [$tcp($i) set nrexmitpack_]
        incr delivered [expr {[$sink($i) set bytes_] / 1040}]
    }
    # Every scheduled event draws a number from one counter; `at` tells the number it drew.
    set events [expr {[$ns at [$ns now] {}] - $first_event}]
    puts "sent $sent resent $resent delivered $delivered events $events"
    exit 0
}
set first_event [$ns at $seconds finish]
$ns run
