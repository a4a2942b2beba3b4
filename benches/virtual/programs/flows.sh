#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In the guest of kernel-lab, with uploads.sh beside it: flows of several hosts and a ping through a line's queues, for each line of
# the file `cells`:
#
#   NAME RTT_MS SECONDS WAY GROUPS CONGESTION ECN PING_TOS PING_S FINE_S DEV SETUP...
#
# WAY is `up` or `down`. GROUPS are COUNT:TOS, joined by +: so many connections of a host of their own, all begun together. ECN is 0
# or 1 as in sysctl. DEV is the interface of router R whose queue disciplines are noted, every 50 ms for FINE_S s and every 250 ms
# from then on; SETUP is one of the words below, or one of lib.sh.
#
# Leaves in $OUT/NAME: `samples` and `ping` as uploads.sh does; `server-N.json` and `client-N.json` of iperf3 for the N-th group;
# `settings`, what tc shows of R's queue disciplines and filters at the end.
. ./lib.sh

both() { # both RATE UP...: CAKE of this rate for what goes down, and UP as the queue of what goes up
  down=$1; shift
  down cake bandwidth $down besteffort
  up "$@"
}

police_in() { # police_in RATE BURST: what comes from A is policed
  ip netns exec R tc qdisc add dev ra handle ffff: ingress
  ip netns exec R tc filter add dev ra parent ffff: matchall action police rate $1 burst $2 conform-exceed drop
}

police_out() { # police_out RATE BURST: what leaves for B is policed
  ip netns exec R tc qdisc add dev rd clsact
  ip netns exec R tc filter add dev rd egress matchall action police rate $1 burst $2 conform-exceed drop
}

flows() { # flows NUMBER WAY SECONDS CONGESTION COUNT TOS: the connections of a group
  port=$((5200 + $1)) name=$1 reverse=
  [ $2 = down ] && reverse=-R
  ip netns exec B iperf3 -s -4 -1 -p $port -J > $OUT/server-$name.json 2>&1 &
  (
    sleep 0.4
    ip netns exec A iperf3 -4 -c 10.3.0.1 -B 10.1.0.$1 -p $port -t $3 -C $4 -P $5 -S $6 -J $reverse > $OUT/client-$name.json 2>&1
  ) &
}

cell() { # cell RTT_MS SECONDS WAY GROUPS CONGESTION ECN PING_TOS PING_S FINE_S DEV SETUP...
  rtt=$1 seconds=$2 way=$3 groups=$4 congestion=$5 ecn=$6 tos=$7 ping=$8 fine=$9; shift 9
  dev=$1; shift
  if [ $way = down ]; then lab $rtt; else chain $rtt; fi # senders of a download have no netem of their own
  modprobe tcp_$congestion 2> /dev/null
  for ns in A B; do # before any connection is made: a connection that begins with bbr stays paced
    ip netns exec $ns sysctl -qw net.ipv4.tcp_congestion_control=$congestion net.ipv4.tcp_ecn=$ecn
  done
  "$@"
  number=0
  for group in $(echo $groups | tr + ' '); do
    number=$((number + 1))
    flows $number $way $((seconds + 1)) $congestion ${group%:*} ${group#*:}
  done
  sleep 0.2
  ip netns exec A ping -n -Q $tos -i $ping -I 10.1.0.9 -w $((seconds + 1)) 10.3.0.1 > $OUT/ping 2>&1 &
  ip netns exec R ./uploads.sh sample $dev $fine $((seconds + 2)) > $OUT/samples
  for own in rd ra; do
    ip netns exec R tc -s -d qdisc show dev $own
    for parent in ingress egress; do ip netns exec R tc -s filter show dev $own $parent; done
  done > $OUT/settings 2> /dev/null
  sleep 2
  kill $(jobs -p) 2> /dev/null
  wait
  for ns in $(ip netns list | cut -d' ' -f1); do ip netns del $ns; done
}

all=$OUT
while read name words; do
  OUT=$all/$name
  mkdir -p $OUT
  cell $words
done < cells
