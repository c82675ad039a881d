# What path.tcl and tfrc.tcl share. A script sets the array `option` to its defaults and sources this file, which reads the command line and
# makes the path: an access link of 100 Mbit/s without delay, then one duplex link of option(rate) bit/s with a drop-tail queue of option(limit) packets
# for the data, an endless one for the answers, option(delay) seconds each way. `starts` draws when a transfer
# starts, uniform within option(start) seconds; option(seed) is of ns-2's default generator, which draws everything. With option(red), a Tcl list of
# parameters of Queue/RED, RED takes the place of drop-tail for the data.

foreach argument $argv {
    if {![regexp {^([a-z]+)=(.*)$} $argument -> name value] || ![info exists option($name)]} {
        puts stderr "no such option: $argument; there are: [lsort [array names option]]"
        exit 2
    }
    set option($name) $value
}

set ns [new Simulator]
ns-random $option(seed)
set source [$ns node]
set router [$ns node]
set destination [$ns node]
$ns duplex-link $source $router 100Mb 0 DropTail
$ns queue-limit $source $router 1000000
$ns queue-limit $router $source 1000000
set discipline DropTail
if {[info exists option(red)] && $option(red) ne ""} {
    set discipline RED
    foreach {name value} $option(red) { Queue/RED set $name $value }
}
$ns simplex-link $router $destination $option(rate) $option(delay) $discipline
$ns simplex-link $destination $router $option(rate) $option(delay) DropTail
$ns queue-limit $router $destination $option(limit)
$ns queue-limit $destination $router 1000000
set queue [$ns monitor-queue $router $destination ""]

# Behind the link: a lost packet has used its capacity.
proc lose {model} {
    global ns router destination
    $model unit pkt
    $model drop-target [new Agent/Null]
    $ns link-lossmodel $model $router $destination
}

set starts [new RandomVariable/Uniform]
$starts set min_ 0
$starts set max_ $option(start)

# An agent at either end.
proc connect {sender sink} {
    global ns source destination
    $ns attach-agent $source $sender
    $ns attach-agent $destination $sink
    $ns connect $sender $sink
}
