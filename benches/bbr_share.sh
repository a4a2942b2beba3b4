#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One BBR flow beside CUBIC flows behind drop-tail, in a real Linux kernel. An experiment for kernel-lab:
#
#   kernel-lab run --out out bbr_share.sh RATE_MBIT RTT_MS CUBIC_FLOWS LIMIT_BYTES SECONDS
#
# bbr.server.json and cubic.server.json have what arrived each second, ss.txt the state of BBR's sender each half second,
# begun.txt of all some seconds after the start: how long each has been busy.
# A packet takes 14 bytes of Ethernet more than its IP bytes, of the rate as of the limit.
. ./lib.sh
rate=$1 rtt=$2 flows=$3 limit=$4 seconds=$5
lab $rtt
for ns in A B; do
  ip netns exec $ns sysctl -qw net.ipv4.tcp_wmem="4096 16384 16777216" net.ipv4.tcp_rmem="4096 131072 16777216"
done
modprobe tcp_bbr
# The route sets the congestion control, so that it is in force from the first packet.
ip netns exec A ip route add 10.3.0.1/32 via 10.1.0.254 congctl cubic
ip netns exec A ip route add 10.3.0.2/32 via 10.1.0.254 congctl bbr
shaped rd ${rate}mbit bfifo limit $limit
ip netns exec B iperf3 -s -1 -B 10.3.0.1 -p 5202 -J > $OUT/cubic.server.json 2>&1 &
ip netns exec B iperf3 -s -1 -B 10.3.0.2 -p 5201 -J > $OUT/bbr.server.json 2>&1 &
sleep 0.5
ip netns exec A iperf3 -c 10.3.0.2 -p 5201 -t $seconds -J > $OUT/bbr.client.json 2>&1 &
# The CUBIC flows send about a second later: iperf3 opens one after another, each in some 65 ms behind what BBR has queued.
early=$(((flows - 1) * 65))
sleep $(((1000 - early) / 1000)).$(printf %03d $(((1000 - early) % 1000)))
ip netns exec A iperf3 -c 10.3.0.1 -p 5202 -P $flows -t $seconds -J > $OUT/cubic.client.json 2>&1 &
half=0
while [ $half -lt $((seconds * 2)) ]; do
  echo "T $half $(cut -d' ' -f1 /proc/uptime)"
  ip netns exec A ss -tinH dst 10.3.0.2
  [ $half -eq 5 ] && ip netns exec A ss -tinH > $OUT/begun.txt
  sleep 0.5
  half=$((half + 1))
done > $OUT/ss.txt
sleep 12
stats end
