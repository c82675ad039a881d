# Sets every parameter of ns-2's one-way TCP agents that changes what a run gives, so that nothing depends on the
# defaults of a version. README.md beside this file has each value next to its ackclock override.

set huge_window 1000000

Agent/TCP set window_ $huge_window;         # the receiver's window, packets
Agent/TCP set windowInit_ 1
Agent/TCP set windowInitOption_ 1;          # the initial window is windowInit_
Agent/TCP set delay_growth_ false;          # the first ACK opens the window like any other
Agent/TCP set windowOption_ 1;              # cwnd grows by 1/cwnd an ACK
Agent/TCP set windowConstant_ 4;            # used by other windowOption_ values only
Agent/TCP set increase_num_ 1.0
Agent/TCP set decrease_num_ 0.5
Agent/TCP set maxcwnd_ 0;                   # no limit
Agent/TCP set max_ssthresh_ 0;              # no limited slow start
Agent/TCP set packetSize_ 1000;             # payload: headers come on top
Agent/TCP set useHeaders_ true;             # payload + tcpip_base_hdr_size_ on the wire
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set syn_ false;                   # no SYN exchange
Agent/TCP set tcpTick_ 0.01
Agent/TCP set rfc2988_ true
Agent/TCP set minrto_ 1.0
Agent/TCP set maxrto_ 60
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set srtt_init_ 0
Agent/TCP set rttvar_init_ 12
Agent/TCP set T_SRTT_BITS 3
Agent/TCP set T_RTTVAR_BITS 2
Agent/TCP set rttvar_exp_ 2
Agent/TCP set updated_rttvar_ true
Agent/TCP set timerfix_ true;               # the timer is restarted after the window has moved
Agent/TCP set CoarseTimer_ 0
Agent/TCP set timestamps_ false
Agent/TCP set ts_resetRTO_ false
Agent/TCP set bugFix_ true
Agent/TCP set bugFix_ack_ false
Agent/TCP set bugFix_ts_ false
Agent/TCP set bugfix_ss_ 1
Agent/TCP set restart_bugfix_ true
Agent/TCP set lessCareful_ false
Agent/TCP set oldCode_ false
Agent/TCP set noFastRetrans_ false
Agent/TCP set exitFastRetrans_ true
Agent/TCP set numdupacks_ 3
Agent/TCP set numdupacksFrac_ -1
Agent/TCP set singledup_ 0;                 # no limited transmit
Agent/TCP set LimTransmitFix_ false
Agent/TCP set precisionReduce_ true;        # half of a fractional window
Agent/TCP set slow_start_restart_ true
Agent/TCP set maxburst_ 0
Agent/TCP set aggressive_maxburst_ 0
Agent/TCP set overhead_ 0
Agent/TCP set ecn_ 0
Agent/TCP set frto_enabled_ 0
Agent/TCP set sfrto_enabled_ 0
Agent/TCP set qs_enabled_ false
Agent/TCP set partial_ack_ false;           # only Sack agents of another kind read it
Agent/TCP set control_increase_ 0
Agent/TCP set trace_all_oneline_ false

Agent/TCP/Newreno set newreno_changes_ 0;   # the timer is not touched by what this would change
Agent/TCP/Newreno set newreno_changes1_ 0;  # slow but steady
Agent/TCP/Newreno set partial_window_deflation_ 0
Agent/TCP/Newreno set exit_recovery_fix_ 0

Agent/TCPSink set packetSize_ 40
Agent/TCPSink set maxSackBlocks_ 3
Agent/TCPSink set ts_echo_bugfix_ true
Agent/TCPSink set ts_echo_rfc1323_ true
Agent/TCPSink set generateDSacks_ false
Agent/TCPSink set RFC2581_immediate_ack_ true
