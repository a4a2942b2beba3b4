#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In the guest of kernel-lab: uploads by iperf3 and a ping through a queue, for each line of the file `cells` beside this one:
#
#   NAME RTT_MS SECONDS UPLOADS CONGESTION PING_S FINE_S shaped rd 10mbit codel limit 1000
#
# The queue discipline shapes the way up, at router R. PING_S is the time between two pings; what the queue counted is noted every
# 50 ms for FINE_S s, and every 250 ms from then on.
#
# Leaves in $OUT/NAME: `samples`, the guest's uptime and what tc says, again and again; `ping`; `server.json` and `client.json` of
# iperf3; `netstat`, the counters of the sender's kernel from /proc/net/netstat, at the end of FINE_S and at the end; `settings`, what
# tc shows of the qdiscs.
. ./lib.sh

sample() { # sample DEV FINE_S SECONDS: in R's namespace
  read began _ < /proc/uptime
  fine=$((${began%.*} + $2)) end=$((${began%.*} + $3))
  while read now _ < /proc/uptime && [ ${now%.*} -lt $end ]; do
    echo "at $now"
    tc -s qdisc show dev $1
    if [ ${now%.*} -lt $fine ]; then sleep 0.05; else sleep 0.25; fi
  done
}

cell() { # cell RTT_MS SECONDS UPLOADS CONGESTION PING_S FINE_S QDISC...
  rtt=$1 seconds=$2 uploads=$3 congestion=$4 ping=$5 fine=$6; shift 6
  chain $rtt
  modprobe tcp_$congestion 2> /dev/null
  for ns in A B; do # before any connection is made: a connection that begins with bbr stays paced
    ip netns exec $ns sysctl -qw net.ipv4.tcp_congestion_control=$congestion net.ipv4.tcp_ecn=0
  done
  "$@"
  ip netns exec R tc -d qdisc show dev rd > $OUT/settings
  ip netns exec B iperf3 -s -4 -1 -J > $OUT/server.json 2>&1 &
  sleep 0.2
  ip netns exec A ping -n -i $ping -I 10.1.0.9 -w $((seconds + 1)) 10.3.0.1 > $OUT/ping 2>&1 &
  ip netns exec A iperf3 -4 -c 10.3.0.1 -B 10.1.0.1 -t $((seconds + 1)) -P $uploads -J > $OUT/client.json 2>&1 &
  (sleep $fine; ip netns exec A cat /proc/net/netstat > $OUT/netstat) &
  ip netns exec R ./uploads.sh sample rd $fine $((seconds + 2)) > $OUT/samples
  ip netns exec A cat /proc/net/netstat >> $OUT/netstat
  sleep 2
  kill $(jobs -p) 2> /dev/null
  wait
  for ns in A R B; do ip netns del $ns; done
}

if [ "$1" = sample ]; then
  shift
  sample "$@"
  exit
fi
all=$OUT
while read name words; do
  OUT=$all/$name
  mkdir -p $OUT
  cell $words
done < cells
