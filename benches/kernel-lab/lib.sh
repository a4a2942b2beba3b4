# SPDX-License-Identifier: Apache-2.0
# Helpers for experiments in the guest:  . ./lib.sh
#
#   A (10.1.0.1-9) a0 -- ra  R  rd -- dr  D  db -- b0 (10.3.0.1-9) B
#   hosts                  router        distance                 servers
#
# Upstream's bottleneck is a qdisc on R's rd, downstream's one on R's ra. D holds half the round trip each way.

lab() { # lab RTT_MS: makes the four namespaces
  for ns in A R D B; do
    ip netns add $ns; ip -n $ns link set lo up
    for key in ip_forward=1 tcp_no_metrics_save=1 conf.all.rp_filter=0 conf.default.rp_filter=0; do
      ip netns exec $ns sysctl -qw net.ipv4.$key 2>/dev/null
    done
  done
  wire A a0 R ra; wire R rd D dr; wire D db B b0
  for i in 1 2 3 4 5 6 7 8 9; do
    ip -n A addr add 10.1.0.$i/24 dev a0; ip -n B addr add 10.3.0.$i/24 dev b0
  done
  ip -n R addr add 10.1.0.254/24 dev ra; ip -n R addr add 10.2.0.1/24 dev rd
  ip -n D addr add 10.2.0.2/24 dev dr; ip -n D addr add 10.3.0.254/24 dev db
  ip -n A route add default via 10.1.0.254; ip -n R route add default via 10.2.0.2
  ip -n D route add 10.1.0.0/24 via 10.2.0.1; ip -n B route add default via 10.3.0.254
  half=$(($1 * 500))us
  ip netns exec D tc qdisc add dev dr root netem delay $half limit 1000000
  ip netns exec D tc qdisc add dev db root netem delay $half limit 1000000
  ip netns exec A ping -q -c 2 -i 0.2 10.3.0.1 > /dev/null # resolves the addresses
}

chain() { # chain RTT_MS: as lab, but R's rd is wired to B's b0, which holds the whole round trip: less to compute, for long sweeps
  for ns in A R B; do
    ip netns add $ns; ip -n $ns link set lo up
    ip netns exec $ns sysctl -qw net.ipv4.ip_forward=1 net.ipv4.tcp_no_metrics_save=1
  done
  wire A a0 R ra; wire R rd B b0
  for i in 1 2 3 4 5 6 7 8 9; do ip -n A addr add 10.1.0.$i/24 dev a0; done
  ip -n B addr add 10.3.0.1/24 dev b0
  ip -n R addr add 10.1.0.254/24 dev ra; ip -n R addr add 10.3.0.254/24 dev rd
  ip -n A route add default via 10.1.0.254; ip -n B route add default via 10.3.0.254
  ip netns exec B tc qdisc add dev b0 root netem delay $(($1 * 1000))us limit 1000000
  ip netns exec A ping -q -c 2 -i 0.2 10.3.0.1 > /dev/null # resolves the addresses
}

wire() { # wire NS IF NS IF: a pair without segmentation offloads, so that queues see packets
  ip link add $2 netns $1 type veth peer name $4 netns $3
  for end in "$1 $2" "$3 $4"; do
    set -- $end
    ip netns exec $1 ethtool -K $2 tso off gso off gro off > /dev/null 2>&1
    ip -n $1 link set $2 up
  done
}

up() { ip netns exec R tc qdisc replace dev rd root "$@"; }   # up cake bandwidth 50mbit
down() { ip netns exec R tc qdisc replace dev ra root "$@"; } # down cake bandwidth 100mbit
shaped() { # shaped DEV RATE QDISC...: a qdisc that does not shape, under an HTB class that does
  dev=$1 rate=$2; shift 2
  ip netns exec R tc qdisc replace dev $dev root handle 1: htb default 1
  ip netns exec R tc class replace dev $dev parent 1: classid 1:1 htb rate $rate quantum 1514
  ip netns exec R tc qdisc replace dev $dev parent 1:1 handle 10: "$@"
}
ifb() { # ifb QDISC...: what comes from D passes an ifb's qdisc before R, as SQM does
  ip -n R link add ifb0 type ifb; ip -n R link set ifb0 up
  ip netns exec R tc qdisc add dev rd handle ffff: ingress
  ip netns exec R tc filter add dev rd parent ffff: matchall action mirred egress redirect dev ifb0
  ip netns exec R tc qdisc replace dev ifb0 root "$@"
}
tcp() { # tcp NAME SECONDS PORT SOURCE [iperf3 options]: an upload; -R makes it a download
  name=$1 seconds=$2 port=$3 source=$4; shift 4
  ip netns exec B iperf3 -s -4 -1 -p $port -J > $OUT/$name.server.json 2>&1 &
  (sleep 0.2; ip netns exec A iperf3 -c 10.3.0.1 -B $source -p $port -t $seconds -J "$@" > $OUT/$name.client.json 2>&1) &
}
probes() { # probes NAME SECONDS INTERVAL SOURCE [irtt options]: isochronous round trips
  name=$1 seconds=$2 interval=$3 source=$4; shift 4
  ip netns exec B irtt server -b 10.3.0.1:2112 -i 0 > /dev/null 2>&1 &
  (sleep 0.3; ip netns exec A irtt client -Q -i $interval -d ${seconds}s --local=$source:0 -o $OUT/$name.irtt.json "$@" 10.3.0.1 > $OUT/$name.irtt 2>&1) &
}
pings() { # pings NAME SECONDS INTERVAL SOURCE [ping options]
  name=$1 count=$(($2 * 10)) interval=$3 source=$4; shift 4
  ip netns exec A ping -n -D -i $interval -w $count -I $source "$@" 10.3.0.1 > $OUT/$name.ping 2>&1 &
}
stats() { # stats NAME: what the qdiscs counted
  for dev in ra rd ifb0; do
    ip netns exec R tc -s -d qdisc show dev $dev; ip netns exec R tc -s class show dev $dev
  done > $OUT/$1.tc 2>/dev/null
  ip netns exec R tc -s -j qdisc show > $OUT/$1.tc.json
}
udp() { # udp NAME SECONDS PORT SOURCE RATE [iperf3 options]: datagrams at a constant rate
  name=$1 seconds=$2 port=$3 source=$4 rate=$5; shift 5
  tcp $name $seconds $port $source -u -b $rate "$@"
}
