//! Congestion controls on one link, compared with theory. The comment of each test gives the reason
//! for its tolerance.

mod from_text;

use from_text::Tables;

/// The bytes of a full segment on the link.
const PACKET: f64 = 1500.0;

/// Runs the flows of `flows` over a link of `rate_mbps` up, for a minute after a warm-up of ten
/// seconds.
fn run(rate_mbps: u32, queue: &str, flows: &str) -> Tables {
    run_after(10, rate_mbps, queue, flows)
}

/// The same after a warm-up of `warmup_s` seconds.
fn run_after(warmup_s: u32, rate_mbps: u32, queue: &str, flows: &str) -> Tables {
    let duration_s = warmup_s + 60;
    let text = format!(
        r#"
duration = "{duration_s} s"
warmup = "{warmup_s} s"
[link.line.point_to_point]
up.rate = "{rate_mbps} Mbit/s"
{queue}
down.rate = "1 Gbit/s"
{flows}
"#
    );
    Tables::run(&text, 1)
}

const DEEP: &str = "up.queue.drop_tail.limit = \"1 s\"";

/// An upload on a path without jitter, every segment of which is acknowledged.
fn upload(name: &str, rtt: &str, tcp: &str) -> String {
    format!(
        r#"
[flow.{name}]
application = "bulk"
direction = "up"
rtt = "{rtt}"
path.jitter = "0 s"
[flow.{name}.tcp]
delayed_ack = "0 s"
{tcp}
"#
    )
}

/// The utilisation, and the mean queue length in full segments.
fn measured(tables: &Tables) -> (f64, f64) {
    let utilisation = tables.floats("queues", "utilisation")[0];
    let backlog = tables.floats("queues", "backlog_mean_bytes")[0] / PACKET;
    (utilisation, backlog)
}

/// The goodputs of the uploads, in the order of their flows' names.
fn goodputs(tables: &Tables) -> Vec<f64> {
    let directions = tables.texts("flows", "direction");
    (tables.floats("flows", "goodput_bps").iter().zip(directions))
        .filter(|(_, direction)| *direction == "up")
        .map(|(rate, _)| *rate)
        .collect()
}

/// In equilibrium, each FAST flow has α segments in the queue: Σα in total, whatever the rate.
///
/// Tolerance: one segment a flow, whose own transmission is part of `baseRTT`, and one for the
/// average over whole windows.
#[test]
fn fast_keeps_alpha_segments_of_each_flow_in_the_queue() {
    for (rate, alpha) in [(10, 8), (10, 20), (100, 50)] {
        let tcp = format!("congestion.fast.alpha = {alpha}.0");
        let (utilisation, backlog) = measured(&run(rate, DEEP, &upload("one", "50 ms", &tcp)));
        eprintln!("FAST: {rate} Mbit/s, α {alpha}: {backlog:.2} segments, {utilisation:.4}");
        assert!(
            (backlog - f64::from(alpha)).abs() < 2.0,
            "α {alpha}: {backlog:.2} segments"
        );
        assert!(utilisation > 0.999);
    }
}

/// The rate in equilibrium is α over the queueing delay. Flows that know the path's own delay share
/// this queueing delay, whatever their round-trip times.
///
/// Tolerance: a segment of each flow's α of 20.
#[test]
fn fast_flows_that_know_their_path_share_evenly_whatever_its_length() {
    let flow = |name, rtt: u32| {
        // The transmission time of a segment on the link is part of the path's round-trip time.
        let tcp =
            format!("congestion.fast.alpha = 20.0\ncongestion.fast.base_rtt = \"{rtt}.6 ms\"");
        upload(name, &format!("{rtt} ms"), &tcp)
    };
    let tables = run(20, DEEP, &(flow("near", 20) + &flow("far", 80)));
    let rates = goodputs(&tables);
    let (_, backlog) = measured(&tables);
    eprintln!("FAST: {rates:?} bit/s, {backlog:.2} segments");
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.1, "{rates:?}");
    assert!((backlog - 40.0).abs() < 3.0, "{backlog:.2}");
}

/// A flow that starts when another has its α segments in the queue takes their delay δ = α/C for
/// part of its path. In equilibrium it has α segments beyond that: α/q + α/(q − δ) = C, whose root
/// is q = δ(3 + √5)/2. The shares of the two flows are in the golden ratio.
///
/// Tolerance: as above, a segment of each flow's α of 20.
#[test]
fn a_late_fast_flow_gets_the_golden_section() {
    let flow = |name: &str, start: u32| {
        let text = upload(name, "50 ms", "congestion.fast.alpha = 20.0");
        text.replace("rtt =", &format!("start = \"{start} s\"\nrtt ="))
    };
    let tables = run_after(60, 10, DEEP, &(flow("first", 0) + &flow("late", 20)));
    let rates = goodputs(&tables);
    let (_, backlog) = measured(&tables);
    let root = f64::midpoint(3.0, 5.0_f64.sqrt());
    let share = rates[1] / (rates[0] + rates[1]);
    let expected = 1.0 - 1.0 / root;
    eprintln!(
        "FAST: {share:.4} for {expected:.4}, {backlog:.2} segments for {:.2}",
        20.0 * root
    );
    assert!((share / expected - 1.0).abs() < 0.05, "{share:.4}");
    assert!((backlog - 20.0 * root).abs() < 3.0, "{backlog:.2}");
}

/// In equilibrium, the queueing delay of LEDBAT is its target. The approach slows down, with a time
/// constant of the target's segments times the round trip, at most 12 s here. The test waits for
/// eight time constants.
///
/// Tolerance: two segments, because the delay is the smallest of four samples.
#[test]
fn ledbat_keeps_the_queue_at_its_target() {
    for target in [25, 60, 100] {
        let tcp = format!("congestion.ledbat.target = \"{target} ms\"");
        let (utilisation, backlog) =
            measured(&run_after(100, 10, DEEP, &upload("one", "40 ms", &tcp)));
        let expected = f64::from(target) * 1e-3 * 10e6 / 8.0 / PACKET;
        eprintln!(
            "LEDBAT: {target} ms: {backlog:.2} segments, expected {expected:.2}, {utilisation:.4}"
        );
        assert!(
            (backlog - expected).abs() < 2.0,
            "{target} ms: {backlog:.2} of {expected:.2}"
        );
    }
}

/// Two LEDBAT++ flows, the second thirty seconds later. Slowdowns show the second flow the path's
/// own delay, and the shares become equal. The queue stays below the target, and slowdowns cost at
/// most a tenth of the rate (§4.4 of the draft).
#[test]
fn ledbat_plus_plus_costs_a_tenth_at_most_and_stays_below_its_target() {
    let tcp = "congestion = \"ledbat_plus_plus\"";
    let (utilisation, backlog) = measured(&run(10, DEEP, &upload("one", "40 ms", tcp)));
    let target = 60e-3 * 10e6 / 8.0 / PACKET;
    eprintln!("LEDBAT++: {backlog:.2} segments of {target:.2}, {utilisation:.4}");
    assert!(utilisation > 0.9, "{utilisation:.4}");
    assert!(backlog < 1.1 * target, "{backlog:.2}");
}

/// In equilibrium, Vegas has any number of segments between α and β in the queue.
///
/// Tolerance: the flow's own segment in transmission.
#[test]
fn vegas_keeps_two_to_four_segments_in_the_queue() {
    let tables = run(10, DEEP, &upload("one", "50 ms", "congestion = \"vegas\""));
    let (utilisation, backlog) = measured(&tables);
    eprintln!("Vegas: {backlog:.2} segments, {utilisation:.4}");
    assert!((1.0..5.0).contains(&backlog), "{backlog:.2}");
    assert!(utilisation > 0.99);
}

/// Losses without congestion: NewReno keeps the window of the square-root law, Westwood+ most of
/// what the path delivers.
#[test]
fn westwood_keeps_its_rate_where_a_radio_loses_packets() {
    let rate = |congestion| {
        let flow = upload("one", "50 ms", &format!("congestion = \"{congestion}\""));
        let flow = flow.replace("path.jitter", "path.loss = \"0.5 %\"\npath.jitter");
        goodputs(&run(20, DEEP, &flow))[0]
    };
    let (reno, westwood) = (rate("reno"), rate("westwood"));
    eprintln!("0.5 % lost: Reno {reno:.0} bit/s, Westwood+ {westwood:.0} bit/s");
    assert!(westwood > 1.5 * reno, "{westwood:.0} {reno:.0}");
}

/// Both versions send at the link's rate. The mean queue is below half of a bandwidth-delay
/// product, whatever the buffer.
///
/// Tolerance of the rate: the probes for the round-trip time cost 2 % (version 1: 200 ms in 10 s
/// with almost no data; version 3: 200 ms in 5 s with half of the data), and the cycle costs a few
/// percent more.
#[test]
fn bbr_finds_the_rate_and_leaves_the_queue_short() {
    for version in ["bbr", "bbr3"] {
        for (rate, rtt) in [(10, 50), (50, 20)] {
            let tcp = format!("congestion = \"{version}\"");
            let flow = upload("one", &format!("{rtt} ms"), &tcp);
            let (utilisation, backlog) = measured(&run(rate, DEEP, &flow));
            let product = f64::from(rate) * 1e3 / 8.0 * f64::from(rtt) / PACKET;
            eprintln!(
                "{version}: {rate} Mbit/s, {rtt} ms: {backlog:.2} of {product:.0} segments, \
                 {utilisation:.4}"
            );
            assert!(utilisation > 0.93, "{version}: {utilisation:.4}");
            assert!(
                backlog < 0.5 * product,
                "{version}: {backlog:.2} of {product:.0}"
            );
        }
    }
}

/// With losses of 1 % without congestion, version 1 keeps its rate; NewReno falls to a fraction.
/// Version 3 follows what is delivered: a percent or two down in each round trip with a loss, for
/// up to 63 round trips until it probes. If all of them have losses, its mean rate is (1 − 0.98⁶³)
/// / (63 · 0.02) = 0.57.
#[test]
fn bbr_does_not_take_every_loss_for_congestion() {
    let rate = |congestion| {
        let flow = upload("one", "50 ms", &format!("congestion = \"{congestion}\""));
        let flow = flow.replace("path.jitter", "path.loss = \"1 %\"\npath.jitter");
        goodputs(&run(20, DEEP, &flow))[0]
    };
    let [reno, v1, v3] = ["reno", "bbr", "bbr3"].map(rate);
    eprintln!("1 % lost: Reno {reno:.0}, BBR {v1:.0}, BBR v3 {v3:.0} bit/s");
    assert!(v1 > 0.85 * 20e6 && v3 > 0.57 * 20e6, "{v1:.0} {v3:.0}");
    assert!(reno < 0.4 * 20e6, "{reno:.0}");
}

/// Alizadeh et al. 2010, §3.3: with one flow that is marked above K, the queue varies between K + 1
/// − A and K + 1 with A = ½ √(2 (C·RTT + K)).
///
/// Tolerance: two segments, because marks arrive with whole acknowledgements and the window is in
/// whole segments.
#[test]
fn dctcps_queue_is_a_saw_tooth_below_its_threshold() {
    let (rate, rtt, threshold) = (100_u32, 10_u32, 30.0);
    let queue = "up.queue.red = { limit = \"1000 packets\", min_threshold = \"30 packets\", \
                 max_threshold = \"31 packets\", max_probability = \"100 %\", weight = 1.0, gentle \
                 = true }";
    let tables = run(
        rate,
        queue,
        &upload("one", &format!("{rtt} ms"), "congestion = \"dctcp\""),
    );
    let (utilisation, backlog) = measured(&tables);
    let product = f64::from(rate) * 1e3 / 8.0 * f64::from(rtt) / PACKET;
    let amplitude = 0.5 * (2.0 * (product + threshold)).sqrt();
    let expected = threshold + 1.0 - amplitude / 2.0;
    eprintln!("DCTCP: {backlog:.2} segments, expected {expected:.2}, {utilisation:.4}");
    assert!(
        (backlog - expected).abs() < 2.0,
        "{backlog:.2}, expected {expected:.2}"
    );
    assert!(utilisation > 0.999, "{utilisation:.4}");
}

/// An L4S queue: the link is full, and packets wait on average for less than the step of a
/// millisecond.
#[test]
fn prague_fills_the_link_with_hardly_a_queue() {
    let queue = "up.queue = \"dualpi2\"";
    let tables = run(
        40,
        queue,
        &upload("one", "20 ms", "congestion = \"prague\""),
    );
    let (utilisation, backlog) = measured(&tables);
    let step = 1e-3 * 40e6 / 8.0 / PACKET;
    eprintln!("Prague: {backlog:.2} segments of {step:.2} at the step, {utilisation:.4}");
    assert!(utilisation > 0.95, "{utilisation:.4}");
    assert!(backlog < step, "{backlog:.2}");
}

/// In a queue that marks all flows alike, a control with a proportional response starves CUBIC.
/// Where marks are only echoed (RFC 3168), Prague responds as NewReno does, and NewReno and CUBIC
/// get equal shares (RFC 9438 §4.3).
///
/// Tolerance: 40 to 60 % are equal.
#[test]
fn prague_shares_a_classic_queue_where_marks_are_only_echoed() {
    for queue in ["codel", "pie"] {
        let shares = ["accurate", "on"].map(|ecn| {
            let prague = format!("congestion = \"prague\"\necn = \"{ecn}\"");
            let cubic = "congestion = \"cubic\"\necn = \"on\"";
            let flows = upload("one", "20 ms", &prague) + &upload("other", "20 ms", cubic);
            let rates = goodputs(&run(20, &format!("up.queue = \"{queue}\""), &flows));
            rates[0] / (rates[0] + rates[1])
        });
        eprintln!("Prague beside CUBIC, {queue}: {shares:.3?}");
        assert!(shares[0] > 0.85, "{queue}: {shares:.3?}");
        assert!((0.4..0.6).contains(&shares[1]), "{queue}: {shares:.3?}");
    }
}

/// Without window scaling, 65535 bytes are sent each round trip, that is 44 whole segments of 1460
/// bytes. The round trip takes 100 ms and the transmission of a segment on the link.
///
/// Tolerance: 2 % for the start of each round trip, which acknowledgements of two segments delay.
#[test]
fn windows_xp_sends_64_kib_each_round_trip() {
    let flow = upload("old", "100 ms", "system = \"windows_xp\"");
    let rate = goodputs(&run(100, DEEP, &flow))[0];
    let expected = 44.0 * 1460.0 * 8.0 / (0.1 + PACKET * 8.0 / 100e6);
    eprintln!("Windows XP: {rate:.0} bit/s, expected {expected:.0}");
    assert!((rate / expected - 1.0).abs() < 0.02, "{rate:.0}");
    // A key that is written has precedence.
    let flow = upload(
        "new",
        "100 ms",
        "system = \"windows_xp\"\nreceive_window = \"1 MiB\"",
    );
    let rate = goodputs(&run(100, DEEP, &flow))[0];
    assert!(rate > 10.0 * expected, "{rate:.0}");
}

/// A system sets only those parameters of the congestion control that are not written. A control
/// that counts marks keeps the ECN negotiation that it needs.
#[test]
fn a_system_fills_in_what_is_not_written() {
    let (named, cubic) = ("system = \"linux\"", "congestion.cubic");
    let same = [
        named.to_owned(),
        format!("{named}\ncongestion = \"cubic\""),
        format!("{named}\n{cubic}.beta = \"70 %\""),
    ];
    let delay = |tcp: &str| {
        let tables = run(20, DEEP, &upload("one", "40 ms", tcp));
        tables.floats("queues", "delay_mean_ns").to_vec()
    };
    let tables = same.map(|tcp| delay(&tcp));
    assert_eq!(tables[0], tables[1]);
    assert_eq!(tables[0], tables[2]);
    let without = format!("{named}\n{cubic}.hystart = \"off\"");
    assert_ne!(tables[0], delay(&without));
    let marks = ["", "system = \"macos\"\n"].map(|system| {
        let tcp = format!(
            "{system}receive_window = \"4 MiB\"\ninitial_window = 10\ncongestion = \"prague\""
        );
        let tables = run(40, "up.queue = \"dualpi2\"", &upload("one", "20 ms", &tcp));
        tables.integers("queues", "marked")[0]
    });
    assert!(marks[1] > marks[0] / 2, "{marks:?}");
}

/// RACK also detects lost retransmissions, and new data is sent all the while. By the end of a
/// recovery, windows of data may have arrived behind one gap. A threshold of half of all that (RFC
/// 5681's FlightSize) made the window larger with each loss, and two packets in three were lost.
///
/// Tolerance: twice the losses of detection by counting.
#[test]
fn with_rack_a_loss_does_not_raise_the_window() {
    let losses = ["false", "true"].map(|rack| {
        let tcp = format!("system = \"rfc\"\nrack = {rack}\ncongestion = \"reno\"");
        let tables = run(10, "up.queue = \"pie\"", &upload("one", "80 ms", &tcp));
        tables.floats("flows", "loss_ratio")[0]
    });
    eprintln!("losses behind PIE, told by counting and by time: {losses:?}");
    assert!(losses[1] < 2.0 * losses[0], "{losses:?}");
}

/// Where single packets are lost, BBR has segments behind a gap all the time. The autotuned window
/// must open for them, or it holds the sender back.
///
/// Tolerance: a tenth, as the window also opens more slowly than BBR's start would have it.
#[test]
fn bbr_keeps_of_a_lossy_line_with_the_autotuned_window_what_it_keeps_with_an_open_one() {
    let goodput = |window: &str| {
        let text = format!(
            r#"
duration = "20 s"
[link.line.point_to_point]
up.rate = "100 Mbit/s"
up.queue.drop_tail.limit = "100 ms"
[flow.sender]
application = "bulk"
rtt = "100 ms"
path.jitter = "0 s"
path.loss = {{ up = "2 %" }}
tcp = {{ congestion = "bbr", receive_window = "{window}" }}
"#
        );
        goodputs(&Tables::run(&text, 1))[0]
    };
    let (tuned, open) = (goodput("autotuned"), goodput("64 MiB"));
    assert!(tuned > 0.9 * open, "{tuned} {open}");
}

/// RFC 6298 §2.3: behind a queue of a few packets, round trips are steady, and a timeout without
/// the clock's granularity expires with every packet that waits a little longer than the last.
///
/// Tolerance: what is lost is sent again, and as much for probes and timeouts that are in order.
#[test]
fn on_a_steady_path_the_rfcs_timer_sends_little_again_that_was_not_lost() {
    let text = r#"
duration = "60 s"
[link.line.point_to_point]
up.rate = "10 Mbit/s"
up.queue.codel = {}
[flow.upload]
application = "bulk"
rtt = "200 ms"
path.jitter = "0 s"
tcp = { system = "rfc", min_rto = "200 ms", min_rto_of = "timeout" }
"#;
    let tables = Tables::run(text, 1);
    let lost = tables.integers("queues", "discarded_congested")[0];
    let again = tables.integers("flows", "retransmitted")[0];
    assert!(again <= 2 * lost, "{again} sent again for {lost} lost");
}
