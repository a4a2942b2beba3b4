//! Tests of the upstream scheduler: which flow gets which grants, when, and in which pieces.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::link::docsis::preset::Plant;
use crate::link::docsis::qos::{ProactiveGrants, UnsolicitedGrants};
use crate::rng::Rng;
use crate::units::ByteCount;

const UNLIMITED: Limits = Limits {
    sustained: None,
    burst: 0,
    peak: None,
    peak_burst: 0,
};

fn ofdma() -> UpstreamTiming {
    Plant::docsis31().upstream_timing()
}

fn bonded() -> UpstreamTiming {
    Plant::docsis30().upstream_timing()
}

/// A scheduler for these flows, all with the same `Cut`.
fn cmts(flows: &[Qos], cut: Cut, capacity: Option<u64>, timing: &UpstreamTiming) -> Cmts {
    let capacity = capacity.map(|rate| Capacity::new(RateSchedule::Constant(Rate(rate))));
    let rng = Rng::for_path(1, "cmts");
    let mut cmts = Cmts::new(Placement::First, capacity, rng);
    for qos in flows {
        let shaper = Shaper::new(UNLIMITED, Duration::ZERO);
        cmts.add_flow(qos, (cut, shaper), Instant::ZERO, timing);
    }
    cmts
}

fn best_effort(count: usize) -> Vec<Qos> {
    vec![Qos::default(); count]
}

fn with_priority(priority: u8) -> Qos {
    Qos {
        priority,
        ..Qos::default()
    }
}

/// Bytes granted to each flow in `maps`, while every flow requests more than the capacity.
fn granted(
    cmts: &mut Cmts,
    timing: &UpstreamTiming,
    maps: std::ops::Range<u64>,
) -> BTreeMap<usize, u64> {
    for flow in 0..cmts.flows.len() {
        cmts.request(flow, Instant::ZERO, 1 << 40);
    }
    let mut grants = Vec::new();
    for map in maps {
        cmts.schedule(map, 0, timing, &mut grants);
    }
    let mut bytes = BTreeMap::new();
    for grant in grants {
        *bytes.entry(grant.flow).or_default() += grant.credit;
    }
    bytes
}

#[test]
fn a_request_after_the_acknowledgement_time_waits_for_the_next_map() {
    let timing = ofdma();
    let mut cmts = cmts(&best_effort(1), Cut::Anywhere, None, &timing);
    let in_time = timing.allocation_start(10) - timing.minimum_request_grant();
    cmts.request(0, in_time, 1028);
    cmts.request(0, Instant::from_nanos(in_time.as_nanos() + 1), 480);
    let mut grants = Vec::new();
    cmts.schedule(10, 0, &timing, &mut grants);
    assert_eq!(
        grants,
        [Grant {
            flow: 0,
            map: 10,
            first: 0,
            minislots: 22,
            credit: 1028
        }]
    );
    cmts.schedule(11, 0, &timing, &mut grants);
    assert_eq!(grants[1].credit, 480);
    assert!(!cmts.has_backlog());
}

#[test]
fn a_short_channel_is_shared_max_min_fairly() {
    let timing = ofdma();
    let mut cmts = cmts(&best_effort(3), Cut::Anywhere, Some(100_000_000), &timing);
    for (flow, bytes) in [(0, 1_000), (1, 1_000_000), (2, 1_000_000)] {
        cmts.request(flow, Instant::ZERO, bytes);
    }
    let mut grants = Vec::new();
    cmts.schedule(10, 0, &timing, &mut grants);
    assert_eq!(grants[0].credit, 1_000);
    assert!(grants[1].minislots.abs_diff(grants[2].minislots) <= 1);
    let bytes: u64 = grants
        .iter()
        .map(|grant| grant.minislots * timing.minislot_bytes)
        .sum();
    assert!(bytes.abs_diff(100_000_000 / 8 * 2_025 / 1_000_000) <= timing.minislot_bytes);
}

#[test]
fn a_capacity_schedule_is_kept_exactly_over_many_maps() {
    let timing = ofdma();
    let mut cmts = cmts(&best_effort(1), Cut::Anywhere, Some(1_234_567), &timing);
    cmts.request(0, Instant::ZERO, 1 << 40);
    let mut grants = Vec::new();
    for map in 10..1010 {
        cmts.schedule(map, 0, &timing, &mut grants);
    }
    let bytes: u64 = grants
        .iter()
        .map(|grant| grant.minislots * timing.minislot_bytes)
        .sum();
    assert!(bytes.abs_diff(1_234_567 * 2_025 / 8 / 1_000) <= timing.minislot_bytes);
}

/// A scheduler with one flow of 50 Mb/s that has requested 60 000 B.
fn at_50_megabits(timing: &UpstreamTiming) -> Cmts {
    let mut cmts = cmts(&best_effort(1), Cut::Anywhere, None, timing);
    cmts.set_limits(
        0,
        Limits {
            sustained: Some(Rate(50_000_000)),
            burst: 3044,
            ..UNLIMITED
        },
    );
    cmts.request(0, Instant::ZERO, 60_000);
    cmts
}

#[test]
fn a_map_grants_what_the_flows_rate_limits_allow_and_the_rest_stays_outstanding() {
    let timing = ofdma();
    let mut cmts = at_50_megabits(&timing);
    let mut grants = Vec::new();
    for map in 10..20 {
        cmts.schedule(map, 0, &timing, &mut grants);
    }
    // 12 656 B take 2.025 ms at 50 Mb/s.
    let credits: Vec<u64> = grants.iter().map(|grant| grant.credit).collect();
    assert_eq!(credits, [15_700, 12_656, 12_656, 12_657, 6331]);
}

#[test]
fn bytes_that_were_no_pdu_may_be_granted_again() {
    let timing = ofdma();
    let mut cmts = at_50_megabits(&timing);
    let mut grants = Vec::new();
    cmts.schedule(10, 0, &timing, &mut grants);
    cmts.settle(0, grants[0].credit, grants[0].credit - 100, Instant::ZERO);
    cmts.schedule(11, 0, &timing, &mut grants);
    assert_eq!(grants[1].credit, 12_756);
}

#[test]
fn what_unsolicited_grants_take_beyond_the_capacity_is_paid_back() {
    let timing = ofdma();
    let ugs = Qos {
        scheduling: Scheduling::Ugs(UnsolicitedGrants::default()),
        ..Qos::default()
    };
    // 115 calls take 39.7 of 40 Mb/s. The number of grants that are due in a MAP varies.
    let mut flows = vec![ugs; 115];
    flows.push(Qos::default());
    let mut cmts = cmts(&flows, Cut::Anywhere, Some(40_000_000), &timing);
    cmts.request(115, Instant::ZERO, 1 << 40);
    let mut grants = Vec::new();
    let maps = 10..5_010;
    for map in maps.clone() {
        cmts.schedule(map, 0, &timing, &mut grants);
    }
    let given: u64 = grants.iter().map(|grant| grant.minislots).sum();
    let bits = given as f64 * (timing.minislot_bytes * 8) as f64;
    let seconds = maps.count() as f64 * timing.map_interval().as_secs_f64();
    assert!(bits <= 40e6 * seconds + 668e6 * 0.002, "{}", bits / seconds);
    assert!(bits > 39.9e6 * seconds, "{}", bits / seconds);
}

#[test]
fn a_capacity_that_varies_has_its_mean_whichever_maps_are_made() {
    let timing = ofdma();
    let capacity = || {
        let schedule = RateSchedule::Constant(Rate(100_000_000));
        Capacity::new(schedule).varied(0.2, Rng::for_path(1, "capacity"))
    };
    let of_map = |capacity: &mut Capacity, [skipped, first]: [u64; 2]| {
        capacity.of_map(skipped, Span { first, length: 1 }, &timing) as f64 / 1e9
    };
    let mean = 100e6 * timing.map_interval().as_secs_f64();
    let mut all = capacity();
    let bits: Vec<f64> = (0..2000).map(|map| of_map(&mut all, [0, map])).collect();
    assert!((bits.iter().sum::<f64>() / 2000.0 / mean - 1.0).abs() < 0.01);
    assert!(bits.iter().all(|bits| (0.8..=1.2).contains(&(bits / mean))));
    let mut few = capacity();
    assert_eq!(of_map(&mut few, [4, 4]).to_bits(), bits[4].to_bits());
    assert_eq!(of_map(&mut few, [2, 7]).to_bits(), bits[7].to_bits());
}

#[test]
fn equal_flows_get_equal_shares_whether_there_is_a_packet_for_each_or_not() {
    for (count, capacity) in [(20, None), (20, Some(20_000_000)), (300, None)] {
        let timing = bonded();
        let flows = best_effort(count);
        let mut cmts = cmts(&flows, Cut::Anywhere, capacity, &timing);
        let bytes = granted(&mut cmts, &timing, 10..1010);
        let sum: u64 = bytes.values().sum();
        let squares: f64 = bytes.values().map(|&bytes| (bytes as f64).powi(2)).sum();
        let fairness = (sum as f64).powi(2) / (count as f64 * squares);
        assert!(fairness > 0.999, "{count} {capacity:?}: {fairness}");
    }
}

#[test]
fn a_higher_priority_gets_everything_it_asks_for_first() {
    let timing = bonded();
    let mut cmts = cmts(
        &[with_priority(1), with_priority(5), with_priority(1)],
        Cut::Anywhere,
        None,
        &timing,
    );
    cmts.request(0, Instant::ZERO, 100_000);
    cmts.request(1, Instant::ZERO, 20_000);
    cmts.request(2, Instant::ZERO, 100_000);
    let mut grants = Vec::new();
    cmts.schedule(10, 0, &timing, &mut grants);
    let of = |flow: usize| -> u64 {
        let of_flow = grants.iter().filter(|grant| grant.flow == flow);
        of_flow.map(|grant| grant.credit).sum()
    };
    assert_eq!(of(1), 20_000);
    assert!(
        of(0) > 0 && of(0).abs_diff(of(2)) < 400,
        "{} {}",
        of(0),
        of(2)
    );
}

#[test]
fn a_reserved_rate_is_had_under_overload_from_flows_of_higher_priority() {
    let timing = bonded();
    let reserved = Qos {
        minimum_reserved: Rate(5_000_000),
        ..Qos::default()
    };
    let mut flows = vec![with_priority(7); 10];
    flows.push(reserved);
    let mut cmts = cmts(&flows, Cut::Anywhere, None, &timing);
    let bytes = granted(&mut cmts, &timing, 10..5010)[&10];
    // Ten seconds. The MAC headers of packets of 200 B raise the reserved rate by 5 %.
    let mbits = bytes as f64 * 8.0 / 10e6;
    assert!((5.0..5.3).contains(&mbits), "{mbits}");
}

#[test]
fn a_grant_over_the_end_of_a_channel_is_two_segments_and_pays_for_both() {
    let timing = bonded();
    let mut cmts = cmts(&best_effort(1), Cut::Anywhere, None, &timing);
    let per_channel = timing.minislots_per_channel();
    let bytes = timing.room(per_channel) + 1000;
    cmts.request(0, Instant::ZERO, bytes);
    let mut grants = Vec::new();
    cmts.schedule(10, 0, &timing, &mut grants);
    assert_eq!(grants.len(), 2);
    assert_eq!(grants[0].minislots, per_channel);
    assert_eq!(grants[0].credit, timing.room(per_channel));
    assert_eq!(grants[1].first, per_channel);
    assert_eq!(grants[1].credit, 1000);
    assert_eq!(grants[1].minislots, timing.minislots_for(1000));
    assert!(!cmts.has_backlog());
}

#[test]
fn a_fragment_pays_for_its_header_and_a_whole_burst_does_not() {
    let timing = Plant::docsis11().upstream_timing();
    let cut = Cut::Fragments(20);
    let mut cmts = cmts(&best_effort(1), cut, None, &timing);
    let free = timing.minislots_per_map();
    let bytes = timing.room(free) + 1000;
    cmts.request(0, Instant::ZERO, bytes);
    let mut grants = Vec::new();
    for map in 10..12 {
        cmts.schedule(map, 0, &timing, &mut grants);
    }
    let [first, second] = grants[..] else {
        panic!("two fragments: {grants:?}");
    };
    assert_eq!(first.credit, timing.room(free) - 20);
    assert_eq!(second.credit, 1020);
    assert_eq!(second.minislots, timing.minislots_for(1020 + 20));
    cmts.request(0, Instant::ZERO, 1000);
    cmts.schedule(12, 0, &timing, &mut grants);
    assert_eq!(grants[2].minislots, timing.minislots_for(1000));
}

#[test]
fn what_must_not_be_cut_runs_on_into_the_next_interval_or_waits_for_it() {
    let timing = Plant::docsis10().upstream_timing();
    let mut cmts = cmts(&best_effort(3), Cut::Never, None, &timing);
    let (free, each) = (timing.minislots_per_map(), timing.minislots_for(1524));
    assert!(each < free && 2 * each > free, "{each} of {free}");
    for flow in 0..3 {
        cmts.request(flow, Instant::ZERO, 1524);
    }
    let mut grants = Vec::new();
    cmts.schedule(10, 0, &timing, &mut grants);
    cmts.schedule(11, 0, &timing, &mut grants);
    let found: Vec<(usize, u64, u64)> = grants
        .iter()
        .map(|grant| (grant.flow, grant.map, grant.first))
        .collect();
    assert_eq!(found, [(0, 10, 0), (1, 10, each), (2, 11, 2 * each - free)]);
    assert!(
        grants
            .iter()
            .all(|grant| grant.minislots == each && grant.credit == 1524)
    );
}

#[test]
fn a_grant_answers_no_more_than_it_has_room_for_even_of_what_is_longer_than_a_map() {
    let timing = Plant::docsis10().upstream_timing();
    let mut cmts = cmts(&best_effort(2), Cut::Never, None, &timing);
    let longer = timing.room(timing.minislots_per_map()) + 1000;
    cmts.request(0, Instant::ZERO, longer);
    cmts.request(1, Instant::ZERO, longer);
    let mut grants = Vec::new();
    for map in 10..20 {
        cmts.schedule(map, 0, &timing, &mut grants);
    }
    let fits = |grant: &Grant| grant.credit <= timing.room(grant.minislots);
    assert!(grants.iter().all(fits), "{grants:?}");
    assert!(!cmts.has_backlog());
}

#[test]
fn what_must_not_be_cut_waits_while_higher_priorities_leave_too_little_of_every_map() {
    let timing = Plant::docsis11().upstream_timing();
    let voice = Qos {
        scheduling: Scheduling::Ugs(UnsolicitedGrants {
            interval: timing.map_interval(),
            ..UnsolicitedGrants::default()
        }),
        ..Qos::default()
    };
    let flows = [voice, with_priority(5), Qos::default(), Qos::default()];
    let mut cmts = cmts(&flows, Cut::Never, None, &timing);
    let regular = timing.minislots_for(UnsolicitedGrants::default().size.0);
    let each = timing.minislots_for(1524);
    // The rest is one minislot too short for the request of flow 2, but long enough for a shorter
    // request.
    let most = timing.minislots_per_map() - regular;
    let high = timing.room(most - (each - 1));
    let mut grants = Vec::new();
    let mut run = |maps: std::ops::Range<u64>, is_busy: bool| {
        let mut served = [0; 4];
        for map in maps {
            for (flow, bytes) in [(1, high), (2, 1524), (3, 200)] {
                if cmts.pending(flow) == 0 && (flow != 1 || is_busy) {
                    cmts.request(flow, Instant::ZERO, bytes);
                }
            }
            grants.clear();
            cmts.schedule(map, 0, &timing, &mut grants);
            for grant in grants.iter().filter(|grant| grant.credit > 0) {
                served[grant.flow] += 1;
            }
        }
        served
    };
    assert_eq!(run(10..50, true), [0, 40, 0, 0]);
    let then = run(50..60, false);
    assert!(then[2] >= 9 && then[3] >= 9, "{then:?}");
}

#[test]
fn a_burst_too_long_beside_regular_grants_holds_nobody_up_and_has_the_next_map_with_room() {
    let timing = Plant::docsis11().upstream_timing();
    // Nine minislots for each grant, and six grants in every second MAP. These MAPs have 24
    // minislots left, and the others 78.
    let voice = Qos {
        scheduling: Scheduling::Ugs(UnsolicitedGrants {
            interval: timing.map_interval() * 2,
            grants: 6,
            ..UnsolicitedGrants::default()
        }),
        ..Qos::default()
    };
    let mut cmts = cmts(
        &[voice, Qos::default(), Qos::default()],
        Cut::Never,
        None,
        &timing,
    );
    let mut grants = Vec::new();
    let mut served = [0; 3];
    for map in 10..50 {
        for flow in [1, 2] {
            if cmts.pending(flow) == 0 {
                let bytes = [0, 1524, 500][flow];
                cmts.request(flow, Instant::ZERO, bytes);
            }
        }
        grants.clear();
        cmts.schedule(map, 0, &timing, &mut grants);
        for grant in grants.iter().filter(|grant| grant.credit > 0) {
            served[grant.flow] += 1;
        }
    }
    assert!(served[1] >= 19, "{served:?}");
    assert!(served[2] >= 38, "{served:?}");
}

#[test]
fn a_channel_too_slow_for_a_burst_in_one_map_saves_up_for_it() {
    let timing = Plant::docsis10().upstream_timing();
    let mut cmts = cmts(&best_effort(2), Cut::Never, Some(500_000), &timing);
    for flow in [0, 1, 0, 1] {
        cmts.request(flow, Instant::ZERO, 1000);
    }
    let mut grants = Vec::new();
    for map in 10..110 {
        cmts.schedule(map, 0, &timing, &mut grants);
    }
    assert!(!cmts.has_backlog(), "{grants:?}");
    let minislots: u64 = grants.iter().map(|grant| grant.minislots).sum();
    let last = grants.last().map_or(0, |grant| grant.map);
    let used = (minislots * timing.minislot_bytes * 8) as f64 / ((last - 9) as f64 * 2e-3);
    assert!((400e3..=510e3).contains(&used), "{used}");
}

#[test]
fn neighbours_take_their_share_first() {
    let timing = ofdma();
    let mut cmts = cmts(&best_effort(1), Cut::Anywhere, None, &timing);
    cmts.request(0, Instant::ZERO, 1 << 40);
    let mut grants = Vec::new();
    cmts.schedule(10, 1000, &timing, &mut grants);
    cmts.schedule(11, timing.minislots_per_map(), &timing, &mut grants);
    assert_eq!(grants.len(), 1);
    assert_eq!(grants[0].minislots, timing.minislots_per_map() - 1000);
}

fn ugs(interval: u64, jitter: u64, size: u64) -> Qos {
    let [interval, jitter] = [interval, jitter].map(Duration::from_micros);
    Qos {
        scheduling: Scheduling::Ugs(UnsolicitedGrants {
            size: ByteCount(size),
            interval,
            jitter,
            grants: 1,
        }),
        ..Qos::default()
    }
}

/// Runs MAPs full of best-effort traffic beside unsolicited grants. Checks that no two grants share
/// a minislot, that no unsolicited grant is missing, and that each one begins within its jitter.
fn check_unsolicited(
    flows: &[Qos],
    timing: &UpstreamTiming,
    maps: u64,
) -> Result<(), TestCaseError> {
    let mut flows = flows.to_vec();
    let voices = flows.len();
    flows.extend(best_effort(3));
    let mut cmts = cmts(&flows, Cut::Anywhere, None, timing);
    cmts.placement = Placement::Random;
    let expected = cmts.periodic.clone();
    let mut seen = vec![0; voices];
    for map in 1..maps {
        for flow in voices..voices + 3 {
            cmts.request(flow, Instant::ZERO, 20_000);
        }
        let mut grants = Vec::new();
        cmts.schedule(map, 0, timing, &mut grants);
        let mut taken = vec![false; timing.minislots_per_map() as usize];
        for grant in grants {
            for minislot in grant.first..grant.first + grant.minislots {
                prop_assert!(!std::mem::replace(&mut taken[minislot as usize], true));
            }
            if grant.flow >= voices {
                continue;
            }
            let voice = &expected[grant.flow];
            let start = timing.minislot_start(map, grant.first);
            // The nominal time whose window contains the grant: the grants of a flow come in order.
            let first = start.since(voice.first + voice.jitter).as_nanos();
            let n = first.div_ceil(voice.interval.as_nanos());
            let nominal = voice.first + voice.interval * n;
            prop_assert!(nominal <= start && start <= nominal + voice.jitter);
            seen[grant.flow] += 1;
        }
    }
    let end = timing.allocation_start(maps - 2);
    for (voice, seen) in expected.iter().zip(seen) {
        let due = end.since(voice.first).as_nanos() / voice.interval.as_nanos();
        prop_assert!(seen + 1 >= due, "{} of {}", seen, due);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The flows take at most half of the channel's minislots within the shortest jitter, as the
    /// admission rule requires.
    #[test]
    fn unsolicited_grants_begin_within_their_jitter_whatever_else_is_granted(
        is_ofdma in any::<bool>(),
        voices in prop::collection::vec((5_000_u64..40_000, 800_u64..5_000, 60_u64..300), 1..20),
    ) {
        let timing = if is_ofdma { ofdma() } else { bonded() };
        let flows: Vec<Qos> = voices
            .iter()
            .map(|&(interval, jitter, size)| ugs(interval, jitter.min(interval / 2), size))
            .collect();
        check_unsolicited(&flows, &timing, 120)?;
    }
}

#[test]
fn calls_that_take_four_fifths_of_a_channel_all_keep_their_jitter() {
    // 250 B grants every 20 ms, each within 2 ms.
    for (timing, calls) in [(ofdma(), 5000), (bonded(), 550)] {
        let flows = vec![ugs(20_000, 2_000, 228); calls];
        let minislots = timing.minislots_for(228) * calls as u64;
        let share = minislots as f64 * timing.map_interval().as_secs_f64()
            / (0.02 * timing.minislots_per_map() as f64);
        assert!((0.6..0.9).contains(&share), "{share}");
        check_unsolicited(&flows, &timing, 40).expect("every grant begins within its jitter");
    }
}

#[test]
fn grants_of_maps_that_were_not_made_are_counted() {
    let timing = ofdma();
    let mut cmts = cmts(&[ugs(20_000, 2_000, 228)], Cut::Anywhere, None, &timing);
    let mut grants = Vec::new();
    cmts.schedule(1, 0, &timing, &mut grants);
    cmts.schedule(500, 0, &timing, &mut grants);
    let missed: u64 = cmts.take_missed().map(|missed| missed.grants).sum();
    // 499 MAPs of 2.025 ms, and one grant every 20 ms.
    assert!(
        (50..=51).contains(&(missed + grants.len() as u64)),
        "{missed}"
    );
    assert_eq!(cmts.take_missed().count(), 0);
}

#[test]
fn polls_take_their_minislots_from_the_others() {
    let timing = ofdma();
    let polling = crate::link::docsis::qos::Polling {
        interval: timing.map_interval(),
        jitter: Duration::from_millis(1),
    };
    let polled = Qos {
        scheduling: Scheduling::RtPs(polling),
        ..Qos::default()
    };
    let mut cmts = cmts(&[Qos::default(), polled], Cut::Anywhere, None, &timing);
    cmts.request(0, Instant::ZERO, 1 << 40);
    let mut grants = Vec::new();
    for map in 10..110 {
        cmts.schedule(map, 0, &timing, &mut grants);
    }
    let minislots: u64 = grants.iter().map(|grant| grant.minislots).sum();
    let all = 100 * timing.minislots_per_map();
    assert!(
        (99..=101).contains(&(all - minislots)),
        "{}",
        all - minislots
    );
}

fn proactive(change: impl Fn(&mut ProactiveGrants)) -> Qos {
    let mut grants = ProactiveGrants {
        rate: Rate(5_000_000),
        ..ProactiveGrants::default()
    };
    change(&mut grants);
    Qos {
        scheduling: Scheduling::Pgs(grants),
        ..Qos::default()
    }
}

/// The MAPs among the first thousand with a proactive grant, of a flow that uses none of them and
/// requests at the start of MAP 500.
fn maps_with_proactive_grants(qos: &Qos) -> Vec<u64> {
    let timing = ofdma();
    let mut cmts = cmts(std::slice::from_ref(qos), Cut::Anywhere, None, &timing);
    let mut maps = Vec::new();
    for map in 0..1000 {
        if map == 500 {
            cmts.request(0, timing.allocation_start(map), 1000);
        }
        let mut grants = Vec::new();
        cmts.schedule(map, 0, &timing, &mut grants);
        maps.extend(grants.iter().any(|grant| grant.credit == 0).then_some(map));
        cmts.take_missed().for_each(drop);
    }
    maps
}

#[test]
fn proactive_grants_stop_while_the_flow_is_silent_and_begin_again_with_a_request() {
    let timing = ofdma();
    let maps = maps_with_proactive_grants(&proactive(|_| {}));
    let [first, rest] = [0..400, 400..1000].map(|range| -> Vec<u64> {
        maps.iter()
            .copied()
            .filter(|map| range.contains(map))
            .collect()
    });
    // 200 ms are 98.8 MAPs.
    assert!((98..=100).contains(&first.len()), "{first:?}");
    assert!(first.windows(2).all(|pair| pair[1] == pair[0] + 1));
    // The request is answered by the first MAP that can.
    let answer = timing.first_map_for(timing.allocation_start(500), Instant::ZERO);
    assert!(rest[0] == answer || rest[0] == answer + 1, "{rest:?}");
    assert!((98..=100).contains(&rest.len()), "{rest:?}");
}

#[test]
fn proactive_grants_go_on_without_activity_detection_and_where_the_flow_could_not_request() {
    let undetected = proactive(|grants| grants.activity_detection = false);
    assert!(maps_with_proactive_grants(&undetected).len() >= 999);
    let mut silent = proactive(|_| {});
    silent.policy.no_contention = true;
    assert!(maps_with_proactive_grants(&silent).len() >= 999);
    // With polls, it can.
    let mut polled = proactive(|grants| grants.request_interval = Some(Duration::from_millis(4)));
    polled.policy.no_contention = true;
    assert!(maps_with_proactive_grants(&polled).len() < 250);
}

#[test]
fn proactive_grants_carry_the_guaranteed_rate_with_headers() {
    let timing = ofdma();
    let interval = Some(Duration::from_micros(1000));
    let qos = proactive(|grants| {
        (grants.interval, grants.activity_detection) = (interval, false);
    });
    let mut cmts = cmts(&[qos], Cut::Anywhere, None, &timing);
    let mut grants = Vec::new();
    for map in 0..1000 {
        cmts.schedule(map, 0, &timing, &mut grants);
    }
    let room: u64 = grants
        .iter()
        .map(|grant| timing.room(grant.minislots))
        .sum();
    let span = timing.map_interval() * 1000;
    // Packets of 200 B, each with a MAC header.
    let promised = Rate(5_250_000).bytes_in(span);
    assert!(
        room >= promised - 1000 && room < promised * 11 / 10,
        "{room} {promised}"
    );
}

#[test]
fn a_flow_can_have_proactive_grants_and_request_opportunities() {
    let timing = ofdma();
    let both = proactive(|grants| grants.request_interval = Some(Duration::from_millis(4)));
    let polls = proactive(|grants| {
        grants.rate = Rate(0);
        grants.request_interval = Some(Duration::from_millis(4));
    });
    let qos = [both.clone(), polls.clone(), proactive(|_| {})];
    let mut cmts = cmts(&qos, Cut::Anywhere, None, &timing);
    let has = |cmts: &Cmts| {
        [0, 1, 2].map(|flow| {
            let grant = cmts.next_unsolicited(flow, 0, &timing);
            let poll = cmts.next_poll(flow, Instant::ZERO, &timing);
            (grant.is_some(), poll.is_some())
        })
    };
    assert_eq!(has(&cmts), [(true, true), (false, true), (true, false)]);
    // Each kind begins and ends for itself, whichever place another flow's has.
    let now = (timing.allocation_start(10), 10);
    cmts.change(0, &polls, now, &timing);
    cmts.change(1, &both, now, &timing);
    assert_eq!(has(&cmts), [(false, true), (true, true), (true, false)]);
    cmts.delete(1, 20, &timing);
    assert_eq!(has(&cmts), [(false, true), (false, false), (true, false)]);
}

/// A scheduler of an aggregate, flows 0 and 1, and of `others` further flows.
fn with_aggregate(
    (weight, limits): (u8, Limits),
    others: usize,
    capacity: Option<u64>,
    timing: &UpstreamTiming,
) -> Cmts {
    let mut cmts = cmts(&best_effort(2 + others), Cut::Anywhere, capacity, timing);
    let aggregate = low_latency::Aggregate {
        classic: 0,
        low: 1,
        limits,
        weight,
        coupling: 2.0,
    };
    cmts.add_aggregate(&aggregate, Duration::ZERO);
    cmts
}

fn at_rate(rate: u64) -> Limits {
    Limits {
        sustained: Some(Rate(rate)),
        burst: 3044,
        ..UNLIMITED
    }
}

#[track_caller]
fn assert_share(found: u64, of: u64, expected: f64) {
    let share = found as f64 / of as f64;
    assert!(
        (share / expected - 1.0).abs() <= 0.01,
        "{share} is not {expected}"
    );
}

#[test]
fn two_backlogged_flows_of_an_aggregate_share_by_its_weight() {
    let timing = ofdma();
    for rate in [1_000_000, 10_000_000, 50_000_000] {
        for weight in [230, 128, 5] {
            // The limit of the aggregate decides, in bytes.
            let share = f64::from(weight) / 256.0;
            let mut limited = with_aggregate((weight, at_rate(rate)), 0, None, &timing);
            let bytes = granted(&mut limited, &timing, 10..2000);
            assert_share(bytes[&1], bytes[&0] + bytes[&1], share);
            // The channel decides, in minislots. Each grant costs segment overhead besides.
            let mut short = with_aggregate((weight, UNLIMITED), 0, Some(rate), &timing);
            for flow in [0, 1] {
                short.request(flow, Instant::ZERO, 1 << 40);
            }
            let mut grants = Vec::new();
            for map in 10..2000 {
                short.schedule(map, 0, &timing, &mut grants);
            }
            let minislots = |flow: usize| -> u64 {
                let own = grants.iter().filter(|grant| grant.flow == flow);
                own.map(|grant| grant.minislots).sum()
            };
            assert_share(minislots(1), minislots(0) + minislots(1), share);
        }
    }
}

#[test]
fn an_aggregate_counts_as_one_flow() {
    let timing = ofdma();
    let mut cmts = with_aggregate((230, UNLIMITED), 2, Some(60_000_000), &timing);
    let bytes = granted(&mut cmts, &timing, 10..1000);
    let all: u64 = bytes.values().sum();
    for part in [bytes[&0] + bytes[&1], bytes[&2], bytes[&3]] {
        assert_share(part, all, 1.0 / 3.0);
    }
    assert_share(bytes[&1], all / 3, 230.0 / 256.0);
}

#[test]
fn a_flow_alone_has_the_whole_aggregate() {
    let timing = ofdma();
    for alone in [0, 1] {
        let mut cmts = with_aggregate((230, at_rate(20_000_000)), 0, None, &timing);
        cmts.request(alone, Instant::ZERO, 1 << 40);
        let mut grants = Vec::new();
        for map in 10..1010 {
            cmts.schedule(map, 0, &timing, &mut grants);
        }
        let bytes: u64 = grants.iter().map(|grant| grant.credit).sum();
        let time = timing.map_interval() * 1000;
        assert_share(bytes, Rate(20_000_000).bytes_in(time), 1.0);
        assert!(grants.iter().all(|grant| grant.flow == alone));
    }
}

#[test]
fn the_low_latency_flow_is_placed_before_the_classic_flow() {
    let timing = ofdma();
    let mut cmts = with_aggregate((230, at_rate(20_000_000)), 0, None, &timing);
    for flow in [0, 1] {
        cmts.request(flow, Instant::ZERO, 1 << 20);
    }
    let mut grants = Vec::new();
    cmts.schedule(10, 0, &timing, &mut grants);
    let order: Vec<usize> = grants.iter().map(|grant| grant.flow).collect();
    assert_eq!(order, [1, 0]);
}

#[test]
fn proactive_grants_count_in_the_low_latency_flows_part() {
    let timing = ofdma();
    let pgs = Qos {
        scheduling: Scheduling::Pgs(crate::link::docsis::qos::ProactiveGrants {
            rate: Rate(5_000_000),
            ..Default::default()
        }),
        ..Qos::default()
    };
    let qos = [Qos::default(), pgs];
    let mut cmts = cmts(&qos, Cut::Anywhere, None, &timing);
    let aggregate = low_latency::Aggregate {
        classic: 0,
        low: 1,
        limits: at_rate(20_000_000),
        weight: 128,
        coupling: 2.0,
    };
    cmts.add_aggregate(&aggregate, Duration::ZERO);
    for flow in [0, 1] {
        cmts.request(flow, Instant::ZERO, 1 << 40);
    }
    let mut sums = [0; 2];
    let mut grants = Vec::new();
    for map in 10..1010 {
        cmts.schedule(map, 0, &timing, &mut grants);
        for grant in grants.drain(..) {
            let bytes = match grant.credit {
                0 => timing.room(grant.minislots),
                credit => credit,
            };
            if grant.credit == 0 {
                cmts.settle(grant.flow, 0, bytes, timing.allocation_start(map));
            }
            sums[grant.flow] += bytes;
        }
    }
    assert_share(sums[1], sums[0] + sums[1], 0.5);
    let all = Rate(20_000_000).bytes_in(timing.map_interval() * 1000);
    assert_share(sums[0] + sums[1], all, 1.0);
}

proptest! {
    /// Whatever the flows of an aggregate request, both together keep its limits, and nothing that
    /// may be granted waits.
    #[test]
    fn an_aggregate_keeps_its_limits(
        rate in 500_000_u64..100_000_000,
        burst in 1522_u64..100_000,
        weight in 1_u8..=255,
        requests in prop::collection::vec((0_u64..40_000, 0_u64..40_000), 1..60),
    ) {
        let timing = ofdma();
        let limits = Limits { burst, ..at_rate(rate) };
        let mut cmts = with_aggregate((weight, limits), 0, None, &timing);
        let (mut given, mut grants) = (0, Vec::new());
        for (map, (classic, low)) in (10..).zip(&requests) {
            for (flow, &bytes) in [classic, low].into_iter().enumerate() {
                cmts.request(flow, Instant::ZERO, bytes);
            }
            cmts.schedule(map, 0, &timing, &mut grants);
            given += grants.drain(..).map(|grant| grant.credit).sum::<u64>();
            let most = Rate(rate).bytes_in(timing.map_interval() * (map - 9)) + burst;
            prop_assert!(given <= most + 1, "{given} of {most}");
        }
        let asked: u64 = requests.iter().map(|(classic, low)| classic + low).sum();
        prop_assert_eq!(given + cmts.pending(0) + cmts.pending(1), asked);
    }
}
