//! The sending half against scripted acknowledgements, in segments of 1000 bytes and milliseconds.

use super::*;
use crate::congestion::reno::{self, Reno};
use crate::congestion::tahoe::{self, Tahoe};
use crate::tcp::{MinRtoOf, PrrMode, SsthreshFrom};
use crate::units::Rate;

const MSS: u64 = 1000;
const WINDOW: u32 = 1_000_000;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// What a test may set: the parameters of both.
struct Setups {
    sender: Setup,
    recovery: recovery::Setup,
}

fn sender_with(sack: bool, control: Box<dyn CongestionControl>) -> Sender {
    sender_of(setup(sack), control)
}

fn sender_of(setup: Setups, control: Box<dyn CongestionControl>) -> Sender {
    let ms = Duration::from_millis;
    let rtt = RttEstimator::new(ms(1000), ms(200), MinRtoOf::Variation, ms(4), ms(60_000));
    Sender::new(
        setup.sender,
        setup.recovery,
        rtt,
        control,
        u64::from(WINDOW),
    )
}

fn setup(sack: bool) -> Setups {
    Setups {
        sender: Setup {
            mss: MSS,
            restart_window: 10 * MSS,
            timestamps: true,
            pacing: false,
            offload: 0,
            whole_segments: false,
            growth: Growth::WhileUsed,
            send_buffer: u64::MAX,
            largest_window: u64::from(WINDOW),
        },
        recovery: recovery::Setup {
            mss: MSS,
            sack,
            reno: false,
            prr: PrrMode::Off,
            rack: None,
            dsack: false,
            ssthresh_from: SsthreshFrom::FlightSize,
        },
    }
}

/// NewReno with a window of ten segments and `setup`, and so many bytes to send.
fn sender_with_setup(setup: Setups, bytes: u64) -> Sender {
    let control = Reno::new(&reno::Config::default(), MSS, 10 * MSS);
    let mut sender = sender_of(setup, Box::new(control));
    sender.write(bytes);
    sender
}

fn with_rack(bytes: u64) -> Sender {
    rack_sender(false, bytes)
}

fn with_dsack(bytes: u64) -> Sender {
    rack_sender(true, bytes)
}

fn rack_sender(dsack: bool, bytes: u64) -> Sender {
    let mut setup = setup(true);
    setup.recovery.rack = Some(Duration::from_millis(40));
    setup.recovery.dsack = dsack;
    sender_with_setup(setup, bytes)
}

/// NewReno with a window of ten segments and an endless stream.
fn sender(sack: bool) -> Sender {
    let control = Reno::new(&reno::Config::default(), MSS, 10 * MSS);
    let mut sender = sender_with(sack, Box::new(control));
    sender.write(u64::MAX);
    sender
}

/// Takes in an acknowledgement that offers `window`.
fn take(sender: &mut Sender, ack: &Ack<'_>, window: u32, now: Instant) {
    if sender.note_window(ack.next, window) {
        sender.on_ack(ack, now);
    } else {
        sender.on_report(ack.next, ack.blocks);
    }
}

/// Sends all that may be sent: the segments' numbers.
fn drain(sender: &mut Sender, now: Instant) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll_transmit(now))
        .map(|transmit| transmit.seq / MSS)
        .collect()
}

/// An acknowledgement of `segments`, with SACK blocks in segments, of what was sent 100 ms ago; and
/// what it lets out.
fn ack(sender: &mut Sender, ms: u64, segments: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
    let blocks: Vec<(u64, u64)> = (blocks.iter())
        .map(|(start, end)| (start * MSS, end * MSS))
        .collect();
    take(
        sender,
        &Ack {
            next: segments * MSS,
            echo: at(ms.saturating_sub(100)),
            sent_at: at(ms.saturating_sub(50)),
            blocks: &blocks,
            carries_data: false,
            flags: Flags::ACK,
        },
        WINDOW,
        at(ms),
    );
    drain(sender, at(ms))
}

fn echo(sender: &mut Sender, ms: u64, segments: u64) -> Vec<Transmit> {
    let ack = Ack {
        next: segments * MSS,
        echo: at(ms - 100),
        sent_at: at(ms - 50),
        blocks: &[],
        carries_data: false,
        flags: Flags::ACK.with(Flags::ECE),
    };
    take(sender, &ack, WINDOW, at(ms));
    std::iter::from_fn(|| sender.poll_transmit(at(ms))).collect()
}

#[test]
fn each_acknowledgement_lets_out_what_it_took_from_the_network_and_what_slow_start_adds() {
    let mut sender = sender(true);
    assert_eq!(drain(&mut sender, at(0)), (0..10).collect::<Vec<_>>());
    assert_eq!(ack(&mut sender, 100, 2, &[]), [10, 11, 12, 13]);
    assert_eq!(sender.in_flight(), 12 * MSS);
}

#[test]
fn the_first_two_duplicates_let_out_a_new_segment_each_the_third_repairs_with_sack() {
    let mut sender = sender(true);
    drain(&mut sender, at(0));
    assert_eq!(ack(&mut sender, 100, 0, &[(1, 2)]), [10]);
    assert_eq!(ack(&mut sender, 101, 0, &[(1, 3)]), [11]);
    assert_eq!(ack(&mut sender, 102, 0, &[(1, 4)]), [0]);
    // Ten were in flight: the window is five now, and nine are on their way, the repair among them.
    assert_eq!((sender.cwnd(), sender.in_flight()), (5 * MSS, 9 * MSS));
}

#[test]
fn with_sack_several_holes_are_repaired_in_one_round_trip() {
    let mut sender = sender(true);
    drain(&mut sender, at(0));
    // 0, 3 and 6 are lost.
    assert_eq!(ack(&mut sender, 100, 0, &[(1, 2)]), [10]);
    assert_eq!(ack(&mut sender, 101, 0, &[(1, 3)]), [11]);
    assert_eq!(ack(&mut sender, 102, 0, &[(4, 5), (1, 3)]), [0]);
    let mut sent = Vec::new();
    for top in [6, 8, 9, 10] {
        let blocks = [(7, top), (4, 6), (1, 3)];
        let blocks = if top == 6 { &blocks[1..] } else { &blocks };
        sent.extend(ack(&mut sender, 103, 0, blocks));
    }
    assert_eq!(sent, [3, 6]);
    // The repairs arrive one after the other; then recovery is over and the window is half of what
    // it was.
    ack(&mut sender, 200, 3, &[(7, 10), (4, 6)]);
    ack(&mut sender, 201, 6, &[(7, 10)]);
    ack(&mut sender, 202, 12, &[]);
    assert_eq!(sender.recovery.phase(), Phase::None);
    assert_eq!(sender.ssthresh(), Some(5 * MSS));
    assert_eq!(sender.in_flight(), sender.cwnd());
}

#[test]
fn without_sack_each_partial_acknowledgement_repairs_one_segment() {
    let mut sender = sender(false);
    drain(&mut sender, at(0));
    // 0, 3 and 6 are lost: seven duplicates.
    assert_eq!(ack(&mut sender, 100, 0, &[]), [10], "limited transmit");
    assert_eq!(ack(&mut sender, 101, 0, &[]), [11]);
    assert_eq!(ack(&mut sender, 102, 0, &[]), [0]);
    assert_eq!(sender.cwnd(), 5 * MSS);
    // RFC 6582: cwnd = ssthresh + 3 segments, and one more each duplicate: at 5 + 3 + 5 = 13 the
    // 13th segment goes out.
    for n in 0..4 {
        assert_eq!(ack(&mut sender, 103 + n, 0, &[]), [0; 0]);
    }
    assert_eq!(ack(&mut sender, 108, 0, &[]), [12]);
    // Partial acknowledgements: cwnd 13 − 3 + 1 = 11 with 10 in flight, then 11 − 3 + 1 = 9 with 8.
    assert_eq!(ack(&mut sender, 200, 3, &[]), [3, 13]);
    assert_eq!(ack(&mut sender, 300, 6, &[]), [6, 14]);
    assert!(sender.recovery.is_fast());
    ack(&mut sender, 400, 12, &[]);
    assert_eq!(sender.recovery.phase(), Phase::None);
    assert!(sender.in_flight() <= 5 * MSS);
    assert_eq!(sender.ssthresh(), Some(5 * MSS));
}

#[test]
fn renos_recovery_ends_with_the_first_partial_acknowledgement() {
    let mut reno = setup(false);
    reno.recovery.reno = true;
    let mut sender = sender_with_setup(reno, u64::MAX);
    drain(&mut sender, at(0));
    // 0 and 3 are lost.
    for ms in 100..108 {
        ack(&mut sender, ms, 0, &[]);
    }
    assert!(sender.recovery.is_fast());
    let sent = ack(&mut sender, 200, 3, &[]);
    assert_eq!(sender.recovery.phase(), Phase::None);
    assert!(!sent.contains(&3), "{sent:?}");
    let before = sender.cwnd();
    // Three duplicates more repair it, and halve again.
    let sent: Vec<u64> = (201..204)
        .flat_map(|ms| ack(&mut sender, ms, 3, &[]))
        .collect();
    assert!(sent.contains(&3), "{sent:?}");
    assert!(sender.cwnd() < before);
}

#[test]
fn with_proportional_rate_reduction_the_window_falls_as_segments_arrive() {
    let mut prr = setup(true);
    prr.recovery.prr = PrrMode::Rfc6937;
    let mut sender = sender_with_setup(prr, u64::MAX);
    drain(&mut sender, at(0));
    ack(&mut sender, 100, 0, &[(1, 2)]);
    ack(&mut sender, 101, 0, &[(1, 3)]);
    assert_eq!(ack(&mut sender, 102, 0, &[(1, 4)]), [0]);
    // Twelve were outstanding, eight are on their way: 5/12 of a segment for each that arrives,
    // less the repair.
    assert_eq!(sender.cwnd(), 8417);
    for top in 5..9 {
        assert_eq!(ack(&mut sender, 98 + top, 0, &[(1, top)]), [0; 0], "{top}");
    }
    assert_eq!(ack(&mut sender, 107, 0, &[(1, 9)]), [12]);
    assert_eq!(ack(&mut sender, 108, 0, &[(1, 10)]), [13]);
    ack(&mut sender, 202, 12, &[]);
    assert_eq!(
        (sender.recovery.phase(), sender.recovery.is_reducing()),
        (Phase::None, false)
    );
}

#[test]
fn rack_waits_a_quarter_of_a_round_trip_for_what_may_be_reordered() {
    let mut sender = with_rack(u64::MAX);
    drain(&mut sender, at(0));
    assert_eq!(ack(&mut sender, 100, 0, &[(1, 2)]), [10]);
    assert_eq!(sender.timer_deadline(), Some(at(125)));
    ack(&mut sender, 110, 2, &[]);
    assert_eq!(sender.recovery.phase(), Phase::None);
    assert_eq!(sender.cwnd(), 11 * MSS, "no harm done");
    // From now on reordering is expected: three out of order are no sign of loss.
    for top in 4..7 {
        assert!(!ack(&mut sender, 111, 2, &[(3, top)]).contains(&2));
    }
    assert_eq!(sender.recovery.phase(), Phase::None);
}

#[test]
fn rack_repairs_when_the_wait_is_over_or_three_have_overtaken() {
    let mut sender = with_rack(u64::MAX);
    drain(&mut sender, at(0));
    ack(&mut sender, 100, 0, &[(1, 2)]);
    assert_eq!(sender.on_timer(at(124)), None);
    assert_eq!(sender.recovery.phase(), Phase::None);
    sender.on_timer(at(125));
    assert_eq!(drain(&mut sender, at(125)), [0]);
    let mut sender = with_rack(u64::MAX);
    drain(&mut sender, at(0));
    ack(&mut sender, 100, 0, &[(1, 2)]);
    ack(&mut sender, 101, 0, &[(1, 3)]);
    assert_eq!(ack(&mut sender, 102, 0, &[(1, 4)]), [0]);
}

#[test]
fn rack_notices_that_a_repair_is_lost() {
    let mut sender = with_rack(u64::MAX);
    drain(&mut sender, at(0));
    let mut sent = Vec::new();
    for top in 2..13 {
        sent.extend(ack(&mut sender, 98 + top, 0, &[(1, top)]));
    }
    assert_eq!(sent.iter().filter(|&&number| number == 0).count(), 1);
    let newest = *sent.last().expect("new data");
    assert!(newest > 12, "sent after the repair");
    assert!(ack(&mut sender, 215, 0, &[(newest, newest + 1), (1, 12)]).contains(&0));
}

#[test]
fn a_probe_after_two_round_trips_shows_that_the_end_of_a_flight_is_lost() {
    let mut sender = with_rack(3 * MSS);
    drain(&mut sender, at(0));
    ack(&mut sender, 100, 1, &[]);
    assert_eq!(sender.rto_deadline, Some(at(400)));
    assert_eq!(sender.timer_deadline(), Some(at(300)));
    let probe = sender.on_timer(at(300)).expect("a probe");
    assert_eq!((probe.seq, probe.again), (2 * MSS, true));
    assert_eq!(
        sender.timer_deadline(),
        Some(at(600)),
        "one probe, then the timer"
    );
    assert_eq!(ack(&mut sender, 400, 1, &[(2, 3)]), [1]);
    assert!(sender.recovery.is_fast());
}

#[test]
fn a_probe_that_repairs_the_loss_itself_halves_the_window_and_new_data_goes_first() {
    let mut sender = with_rack(2 * MSS);
    drain(&mut sender, at(0));
    ack(&mut sender, 100, 1, &[]);
    // One segment is outstanding: its acknowledgement may be delayed.
    assert_eq!(sender.timer_deadline(), Some(at(340)));
    sender.on_timer(at(340)).expect("a probe");
    ack(&mut sender, 440, 2, &[]);
    assert_eq!(sender.ssthresh(), Some(2 * MSS));
    let mut sender = with_rack(12 * MSS);
    drain(&mut sender, at(0));
    ack(&mut sender, 100, 0, &[]);
    sender.rtt.sample(Duration::from_millis(100));
    sender.cwnd = 0;
    sender.on_timeout(at(5000));
    assert_eq!(sender.send_probe(at(5000)), None, "not in recovery");
}

#[test]
fn a_duplicate_makes_rack_wait_longer_for_what_is_late() {
    let waits = [false, true].map(|dsack| {
        let mut sender = rack_sender(dsack, u64::MAX);
        drain(&mut sender, at(0));
        // 0 comes 10 ms late, and 3 40 ms: after 110 for the latest to arrive and 25 it is taken
        // for lost.
        assert_eq!(ack(&mut sender, 100, 0, &[(1, 2)]), [10]);
        ack(&mut sender, 110, 3, &[]);
        ack(&mut sender, 110, 3, &[(4, 10)]);
        sender.on_timer(at(135));
        assert!(drain(&mut sender, at(135)).contains(&3), "needlessly");
        ack(&mut sender, 140, 10, &[]);
        // The repair arrives, and the receiver says so if it reports duplicates.
        let twice: &[_] = if dsack { &[(3, 4)] } else { &[] };
        let sent = sender.board.nxt() / MSS;
        ack(&mut sender, 235, 10, twice);
        // 10 left at 100; what left at 110 arrives after 130.
        ack(&mut sender, 240, 10, &[(11, sent)]);
        sender.recovery.reordering_deadline()
    });
    assert_eq!(waits, [Some(at(255)), Some(at(280))]);
}

#[test]
fn with_dsack_a_probe_has_repaired_a_loss_unless_it_arrived_twice() {
    for lost in [true, false] {
        let mut sender = with_dsack(3 * MSS);
        drain(&mut sender, at(0));
        ack(&mut sender, 100, 2, &[]);
        let probe = sender.on_timer(at(340)).expect("a probe");
        assert_eq!((probe.seq, probe.again), (2 * MSS, true));
        // All is acknowledged: by the original's arrival or the probe's, as nobody knows yet.
        ack(&mut sender, 440, 3, &[]);
        assert_eq!((sender.ssthresh(), sender.board.is_empty()), (None, true));
        if !lost {
            ack(&mut sender, 441, 3, &[(2, 3)]);
        }
        sender.write(2 * MSS);
        assert_eq!(drain(&mut sender, at(500)), [3, 4]);
        ack(&mut sender, 600, 5, &[]);
        assert_eq!(sender.ssthresh().is_some(), lost);
    }
}

#[test]
fn a_control_without_a_rate_is_paced_by_its_window_if_asked() {
    let mut paced = setup(true);
    paced.sender.pacing = true;
    let mut sender = sender_with_setup(paced, u64::MAX);
    assert_eq!(
        drain(&mut sender, at(0)).len(),
        10,
        "no round trip is known"
    );
    // Twelve segments each 100 ms, twice that in slow start: a segment each 4.17 ms.
    assert_eq!(ack(&mut sender, 100, 2, &[]), [10]);
    assert_eq!(
        sender.pacing_deadline(),
        Some(Instant::from_nanos(104_166_667))
    );
}

#[test]
fn tahoe_sends_everything_again_in_slow_start_after_the_third_duplicate() {
    let control = Tahoe::new(&tahoe::Config::default(), MSS, 10 * MSS);
    let mut sender = sender_with(false, Box::new(control));
    sender.write(u64::MAX);
    drain(&mut sender, at(0));
    assert_eq!(ack(&mut sender, 100, 0, &[]), [10], "limited transmit");
    assert_eq!(ack(&mut sender, 101, 0, &[]), [11]);
    assert_eq!(ack(&mut sender, 102, 0, &[]), [0]);
    assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, Some(5 * MSS)));
    for ms in 103..110 {
        assert_eq!(ack(&mut sender, ms, 0, &[]), [0; 0], "no other recovery");
    }
    // The receiver has 1 to 11: its next answers tell, and what arrives again is not sent a third
    // time.
    assert_eq!(ack(&mut sender, 202, 12, &[]), [12, 13]);
    assert_eq!(sender.recovery.phase(), Phase::None);
}

#[test]
fn without_sack_duplicates_of_the_last_recovery_start_no_other() {
    let mut sender = sender(false);
    drain(&mut sender, at(0));
    for n in 0..3 {
        ack(&mut sender, 100 + n, 0, &[]);
    }
    ack(&mut sender, 200, 12, &[]);
    assert_eq!(sender.recovery.phase(), Phase::None);
    for n in 0..5 {
        assert!(!ack(&mut sender, 201 + n, 12, &[]).contains(&12));
    }
    assert_eq!(sender.recovery.phase(), Phase::None);
}

#[test]
fn the_timer_doubles_until_something_new_is_acknowledged_and_repairs_in_slow_start() {
    let mut sender = sender(true);
    drain(&mut sender, at(0));
    let mut expected = 0;
    for timeout in [1, 2, 4, 8, 16, 32, 60, 60] {
        expected += timeout * 1000;
        assert_eq!(sender.rto_deadline, Some(at(expected)));
        sender.on_timeout(at(expected));
        assert_eq!(drain(&mut sender, at(expected)), [0]);
    }
    assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, Some(5 * MSS)));
    assert_eq!(ack(&mut sender, 200_000, 1, &[]), [1, 2]);
    // The first sample: 100 ms, RTO = 100 + 4 · 50.
    assert_eq!(sender.rto_deadline, Some(at(200_300)));
    assert_eq!(
        ack(&mut sender, 200_100, 3, &[]),
        [3, 4, 5],
        "one more each acknowledgement"
    );
}

/// NewReno, ten segments of which the first is lost with its repair, and new data as long as
/// selective acknowledgements arrive.
fn with_a_lost_repair() -> Sender {
    let mut sender = sender(true);
    drain(&mut sender, at(0));
    for top in 2..=10 {
        ack(&mut sender, 98 + top, 0, &[(1, top)]);
    }
    assert!(sender.recovery.is_fast());
    assert_eq!((sender.cwnd(), sender.ssthresh()), (5 * MSS, Some(5 * MSS)));
    sender
}

#[test]
fn a_timeout_in_fast_recovery_neither_counts_the_pipe_nor_raises_the_threshold() {
    let mut sender = with_a_lost_repair();
    // Two segments of limited transmit, and two new ones once the pipe is below the window.
    assert_eq!(sender.board.nxt(), 14 * MSS);
    for top in 11..=14 {
        ack(&mut sender, 200 + top, 0, &[(1, top)]);
    }
    assert_eq!(sender.board.nxt(), 18 * MSS);
    assert_eq!(sender.in_flight(), 5 * MSS);
    let deadline = sender.rto_deadline.expect("the timer runs");
    sender.on_timeout(deadline);
    assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, Some(5 * MSS)));
}

#[test]
fn a_timeout_after_a_partial_acknowledgement_halves_what_is_still_outstanding() {
    let mut sender = sender_with_setup(setup(true), 12 * MSS);
    drain(&mut sender, at(0));
    // 0 and 4 are lost, and the repair of 4.
    for top in [2, 3, 4] {
        ack(&mut sender, 98 + top, 0, &[(1, top)]);
    }
    for top in 6..=10 {
        ack(&mut sender, 98 + top, 0, &[(5, top), (1, 4)]);
    }
    ack(&mut sender, 200, 4, &[(5, 12)]);
    assert_eq!(sender.board.nxt(), 12 * MSS);
    assert!(sender.in_flight() <= 2 * MSS);
    let deadline = sender.rto_deadline.expect("the timer runs");
    sender.on_timeout(deadline);
    // Eight are outstanding, seven of them selectively acknowledged.
    assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, Some(4 * MSS)));
}

#[test]
fn a_timeout_of_the_same_segment_leaves_the_threshold_and_one_of_the_next_halves_what_is_left() {
    let mut sender = sender(true);
    drain(&mut sender, at(0));
    sender.on_timeout(at(1000));
    drain(&mut sender, at(1000));
    sender.on_timeout(at(3000));
    assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, Some(5 * MSS)));
    drain(&mut sender, at(3000));
    ack(&mut sender, 3100, 1, &[]);
    let deadline = sender.rto_deadline.expect("the timer runs");
    sender.on_timeout(deadline);
    // Nine of ten are not acknowledged, two of them in flight.
    assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, Some(4500)));
}

#[test]
fn where_limited_transmit_has_nothing_to_send_a_loss_halves_all_that_is_outstanding() {
    let mut sender = sender_with_setup(setup(true), 10 * MSS);
    drain(&mut sender, at(0));
    for top in [2, 3, 4] {
        ack(&mut sender, 98 + top, 0, &[(1, top)]);
    }
    assert_eq!((sender.cwnd(), sender.ssthresh()), (5 * MSS, Some(5 * MSS)));
}

#[test]
fn after_a_timeout_what_is_selectively_acknowledged_is_not_sent_again() {
    let mut sender = sender(true);
    drain(&mut sender, at(0));
    ack(&mut sender, 100, 0, &[(2, 3)]);
    ack(&mut sender, 101, 0, &[(2, 4)]);
    sender.on_timeout(at(1000));
    assert_eq!(drain(&mut sender, at(1000)), [0]);
    assert_eq!(ack(&mut sender, 1100, 1, &[(2, 4)]), [1, 4]);
    // No new recovery before the point of the timeout is passed (RFC 6675 §5.1).
    ack(&mut sender, 1101, 1, &[(5, 9), (2, 4)]);
    assert!(matches!(sender.recovery.phase(), Phase::Timeout { .. }));
    ack(&mut sender, 1200, 12, &[]);
    assert_eq!(sender.recovery.phase(), Phase::None);
}

#[test]
fn when_nothing_else_is_left_the_last_segment_is_rescued_once() {
    let control = Reno::new(&reno::Config::default(), MSS, 10 * MSS);
    let mut sender = sender_with(true, Box::new(control));
    sender.write(8 * MSS);
    drain(&mut sender, at(0));
    // 0, 6 and 7 are lost, and there is no new data.
    assert_eq!(ack(&mut sender, 100, 0, &[(1, 4)]), [0]);
    assert_eq!(ack(&mut sender, 101, 0, &[(1, 6)]), [0; 0]);
    assert_eq!(
        ack(&mut sender, 200, 6, &[]),
        [7],
        "the highest outstanding"
    );
    assert_eq!(ack(&mut sender, 300, 6, &[(7, 8)]), [6], "rule 3");
    assert_eq!(ack(&mut sender, 400, 8, &[]), [0; 0]);
    assert_eq!(sender.recovery.phase(), Phase::None);
}

#[test]
fn an_echo_counts_once_a_window_and_is_answered_by_cwr_on_new_data() {
    let mut sender = sender(true);
    sender.use_ecn(EcnMode::On);
    drain(&mut sender, at(0));
    assert_eq!(echo(&mut sender, 100, 1), [], "the window is halved");
    assert_eq!(sender.cwnd(), 5 * MSS);
    echo(&mut sender, 101, 2);
    echo(&mut sender, 102, 5);
    assert_eq!(sender.cwnd(), 5 * MSS, "the same window");
    let sent = echo(&mut sender, 103, 6);
    assert_eq!((sent.len(), sent[0].cwr), (1, true));
    assert!(
        echo(&mut sender, 104, 7)
            .iter()
            .all(|transmit| !transmit.cwr)
    );
    assert_eq!(sender.cwnd(), 5 * MSS);
    echo(&mut sender, 200, 10);
    assert_eq!(sender.cwnd(), 5 * MSS, "CWR comes with the eleventh");
    echo(&mut sender, 201, 11);
    assert_eq!(sender.cwnd(), 2500, "the next window");
}

#[test]
fn a_mark_counts_before_anything_is_acknowledged() {
    let mut sender = sender(true);
    sender.use_ecn(EcnMode::On);
    drain(&mut sender, at(0));
    // The first segment is on its way, or lost.
    echo(&mut sender, 100, 0);
    assert_eq!(sender.cwnd(), 5 * MSS);
    echo(&mut sender, 101, 0);
    assert_eq!(sender.cwnd(), 5 * MSS, "once a window");
}

#[test]
fn accurate_marks_count_once_a_window_and_need_no_answer() {
    let mut sender = sender(true);
    assert_eq!(sender.use_ecn(EcnMode::Accurate), Ecn::Ect0);
    drain(&mut sender, at(0));
    let mut tell = |ms, segments: u64, marked: u8| {
        let ack = Ack {
            next: segments * MSS,
            echo: at(ms - 100),
            sent_at: at(ms - 50),
            blocks: &[],
            carries_data: false,
            flags: Flags::ACK.with_ace(marked),
        };
        take(&mut sender, &ack, WINDOW, at(ms));
        let sent: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(at(ms))).collect();
        assert!(sent.iter().all(|transmit| !transmit.cwr));
        sender.cwnd()
    };
    assert_eq!(tell(100, 2, 6), 5 * MSS);
    assert_eq!(tell(101, 4, 7), 5 * MSS, "the same window");
    assert_eq!(tell(102, 7, 7), 5 * MSS);
    assert_eq!(tell(103, 10, 0), 5 * MSS, "its last segment");
    assert_eq!(tell(104, 11, 1), 2500, "the next one");
}

#[test]
fn a_mark_and_a_loss_in_one_window_count_once() {
    let mut sender = sender(true);
    sender.use_ecn(EcnMode::On);
    drain(&mut sender, at(0));
    echo(&mut sender, 100, 1);
    ack(&mut sender, 101, 1, &[(2, 5)]);
    assert!(sender.recovery.is_fast());
    assert_eq!(sender.cwnd(), 5 * MSS);
}

#[test]
fn the_send_buffer_bounds_what_is_outstanding_also_what_is_selectively_acknowledged() {
    let mut buffered = setup(true);
    buffered.sender.send_buffer = 6 * MSS;
    let mut sender = sender_with_setup(buffered, u64::MAX);
    assert_eq!(drain(&mut sender, at(0)), [0, 1, 2, 3, 4, 5]);
    assert!(
        !sender.window_use.may_grow(0, true),
        "so that the window does not grow"
    );
    // The first is missing: the others stay in the buffer, and nothing new goes out but the repair.
    assert_eq!(ack(&mut sender, 100, 0, &[(1, 3)]), [0; 0]);
    assert_eq!(ack(&mut sender, 101, 0, &[(1, 4)]), [0]);
    assert_eq!(ack(&mut sender, 200, 4, &[]), [6]);
}

/// A window of ten with three segments in flight, the rest of which the application did not use.
fn half_idle(ssthresh_from: SsthreshFrom) -> Sender {
    let mut setup = setup(true);
    setup.recovery.ssthresh_from = ssthresh_from;
    let mut sender = sender_with_setup(setup, 4 * MSS);
    drain(&mut sender, at(0));
    ack(&mut sender, 100, 0, &[(1, 4)]);
    sender
}

#[test]
fn a_threshold_is_half_of_the_flight_or_of_the_window() {
    let threshold = |from| half_idle(from).ssthresh();
    assert_eq!(threshold(SsthreshFrom::FlightSize), Some(2 * MSS));
    assert_eq!(threshold(SsthreshFrom::Window), Some(5 * MSS));
}

#[test]
fn a_receivers_window_bounds_what_is_in_flight_and_the_fin_needs_none() {
    let control = Reno::new(&reno::Config::default(), MSS, 10 * MSS);
    let mut sender = sender_with(true, Box::new(control));
    sender.right_edge = 3 * MSS;
    sender.write(3 * MSS + 1);
    assert_eq!(drain(&mut sender, at(0)), [0, 1, 2]);
    assert!(!sender.window_use.may_grow(0, true));
    sender.close();
    let mut small = Ack {
        next: MSS,
        echo: at(0),
        sent_at: at(50),
        blocks: &[],
        carries_data: false,
        flags: Flags::ACK,
    };
    take(&mut sender, &small, 2000, at(100));
    assert_eq!(sender.poll_transmit(at(100)), None, "the right edge stands");
    take(&mut sender, &small, 2001, at(101));
    let last = sender.poll_transmit(at(101)).expect("one byte");
    assert_eq!((last.seq, last.payload, last.fin), (3000, 1, false));
    let fin = sender.poll_transmit(at(101)).expect("the FIN");
    assert_eq!((fin.seq, fin.payload, fin.fin), (3001, 0, true));
    assert!(!sender.is_finished());
    small.next = 3002;
    take(&mut sender, &small, 2000, at(200));
    assert!(sender.is_finished());
    assert_eq!(sender.rto_deadline, None);
}

#[test]
fn closing_an_endless_stream_ends_it_with_what_was_sent() {
    let mut sender = sender(true);
    drain(&mut sender, at(0));
    sender.close();
    let fin = sender.poll_transmit(at(1)).expect("the FIN");
    assert_eq!((fin.seq, fin.fin), (10 * MSS, true));
    assert_eq!(sender.poll_transmit(at(1)), None);
}

#[test]
fn after_idling_longer_than_a_timeout_the_window_is_the_initial_one() {
    let mut sender = sender(true);
    sender.written = 60 * MSS;
    let mut acked = 0;
    drain(&mut sender, at(0));
    for round in 1..=4 {
        while acked < 10 * round {
            acked += 2;
            ack(&mut sender, 100 * round, acked, &[]);
        }
    }
    ack(&mut sender, 500, 60, &[]);
    assert!(sender.cwnd() > 20 * MSS);
    sender.write(100 * MSS);
    assert_eq!(drain(&mut sender, at(5000)).len(), 10);
}

#[test]
fn without_timestamps_a_segment_sent_twice_is_not_timed() {
    let mut sender = sender(true);
    sender.setup.timestamps = false;
    drain(&mut sender, at(0));
    sender.on_timeout(at(1000));
    drain(&mut sender, at(1000));
    ack(&mut sender, 1010, 1, &[]);
    assert_eq!(sender.srtt(), None);
    // Segments 2 and 3 are repairs too; the first segment sent once is timed.
    ack(&mut sender, 1100, 10, &[]);
    let sent = drain(&mut sender, at(1100));
    assert_eq!(sent, [0; 0], "already sent on the acknowledgement");
    ack(&mut sender, 1150, 11, &[]);
    assert_eq!(sender.srtt(), Some(Duration::from_millis(50)));
}

/// A fixed window, a pace, and what leaves together.
#[derive(Debug)]
struct Paced(Rate, u64);

impl CongestionControl for Paced {
    fn on_ack(&mut self, _ack: &AckSample) {}
    fn on_congestion(&mut self, _signal: CongestionSignal, _ack: &AckSample) {}
    fn cwnd(&self) -> u64 {
        10 * MSS
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.0)
    }
    fn send_quantum(&self) -> u64 {
        self.1
    }
}

#[test]
fn a_pacing_rate_spaces_segments_by_their_size() {
    // 1000 bytes at 8 Mbit/s take a millisecond.
    let mut sender = sender_with(true, Box::new(Paced(Rate(8_000_000), 0)));
    sender.write(u64::MAX);
    for ms in 0..10 {
        assert_eq!(drain(&mut sender, at(ms)), [ms]);
        assert_eq!(sender.pacing_deadline(), Some(at(ms + 1)));
    }
    assert_eq!(drain(&mut sender, at(10)), [0; 0], "the window is full");
    assert_eq!(sender.pacing_deadline(), None);
}

#[test]
fn what_fits_a_quantum_leaves_together_and_takes_its_time_afterwards() {
    let mut sender = sender_with(true, Box::new(Paced(Rate(8_000_000), 3 * MSS + 1)));
    sender.write(u64::MAX);
    for piece in 0..3 {
        let first = 3 * piece;
        assert_eq!(drain(&mut sender, at(first)), [first, first + 1, first + 2]);
        assert_eq!(sender.pacing_deadline(), Some(at(first + 3)));
    }
    assert_eq!(drain(&mut sender, at(9)), [9], "the window is full");
}

#[test]
fn the_sample_tells_the_rate_of_delivery_and_who_set_it() {
    #[derive(Debug)]
    struct Fixed(std::sync::mpsc::Sender<AckSample>);
    impl CongestionControl for Fixed {
        fn on_ack(&mut self, ack: &AckSample) {
            self.0.send(*ack).expect("the test listens");
        }
        fn on_congestion(&mut self, _signal: CongestionSignal, _ack: &AckSample) {}
        fn cwnd(&self) -> u64 {
            10 * MSS
        }
    }
    let (tell, samples) = std::sync::mpsc::channel();
    let mut sender = sender_with(true, Box::new(Fixed(tell)));
    sender.write(14 * MSS);
    drain(&mut sender, at(0));
    // A path of 100 ms that delivers a segment a millisecond.
    for n in 1..=10 {
        ack(&mut sender, 99 + n, n, &[]);
    }
    ack(&mut sender, 200, 12, &[]);
    let samples: Vec<AckSample> = samples.try_iter().collect();
    assert_eq!(
        samples[0].delivery_rate(),
        Some(Rate(80_000)),
        "1000 bytes in 100 ms"
    );
    assert_eq!(samples[9].delivery_rate(), Some(Rate(10 * 8_000_000 / 109)));
    assert_eq!(samples[10].delivered, 12 * MSS);
    assert_eq!(samples[0].rtt, Some(Duration::from_millis(100)));
    assert_eq!(samples[0].one_way_delay, Some(Duration::from_millis(50)));
    assert_eq!(
        (samples[0].prior_in_flight, samples[0].in_flight),
        (10_000, 9_000)
    );
    assert!(!samples[0].app_limited && !samples[9].app_limited);
    assert!(samples[0].cwnd_limited && !samples[10].cwnd_limited);
    assert_eq!(
        (samples[0].round, samples[9].round, samples[10].round),
        (1, 1, 2)
    );
}
