//! Cells of 802.11g, n, ac and ax: checks, defaults, and the parameters of the model.

use super::band::Band;
use super::config::{Sharing, Wifi, WifiStation};
use super::edca::{Edca, Whose};
use super::modes::Channel;
use super::signal::plan_ratio;
use super::standard::Standard;
use crate::aqm::drop_tail;
use crate::link::cell::backoff::Windows;
use crate::link::cell::phy::{Format, Mode, Phy, Preamble};
use crate::link::cell::setup::{self, Access, Aggregation, Radio, Rules};
use crate::link::cell::window::TryLimits;
use crate::named::Named;
use crate::qdisc::lanes::{Categories, DscpMap};
use crate::qdisc::{QueueConfig, fq_codel};
use crate::queue::Framing;
use crate::scenario::cell::plan::{
    AccessPointPlan, CellPlan, StationPlan, Stations, check_eifs, check_overhead, check_sifs,
    check_slot, check_within_slot, plan_tries,
};
use crate::scenario::error::ScenarioError;
use crate::scenario::names::unknown;
use crate::scenario::queue::{Queue, plan_queue};
use crate::scenario::times::check_delay;
use crate::time::Duration;
use crate::units::{ByteCount, Limit, Rate};

/// The queue of Linux network interfaces (txqueuelen).
const QUEUE: Limit = Limit::Packets(1000);
/// CoDel's target in the queues of Linux's mac80211.
const TARGET: Duration = Duration::from_millis(20);
/// `ATH_MAX_QDEPTH` of Linux's ath9k.
const AHEAD: u32 = 123;
/// `ATH_AIRTIME_QUANTUM` of Linux's ath9k, as in "Ending the Anomaly".
const QUANTUM: Duration = Duration::from_micros(300);
/// aPPDUMaxTime (IEEE 802.11-2020 Tables 19-25 and 21-28).
const LONGEST_FRAME: Duration = Duration::from_micros(5484);
/// A shorter quantum needs many rounds for each frame.
const LEAST_QUANTUM: Duration = Duration::from_micros(10);
const MOST_AHEAD: u32 = 100_000;
/// A frame that lasts much less is little but its preamble.
const LEAST_AHEAD: Duration = Duration::from_micros(100);
/// Longer than any radio's: Linux's default for a radio is 24 ms in all.
const LONGEST_AHEAD: Duration = Duration::from_millis(100);

/// Checks a cell and writes its defaults out.
pub(in crate::scenario) fn plan(
    path: &str,
    standard: Standard,
    cell: &mut Wifi,
) -> Result<CellPlan, ScenarioError> {
    if !standard.is_modern() {
        refuse_modern_keys(path, standard, cell)?;
    }
    let channel = Channel::plan(path, standard, cell)?;
    let is_legacy = |station: &WifiStation| station.standard == Some(Standard::Dot11b);
    let has_dsss = cell.station.values().any(is_legacy);
    let times = plan_times(path, channel.band, has_dsss, cell)?;
    let categories = if standard.is_modern() {
        Categories::edca(*cell.dscp_map.get_or_insert(DscpMap::default()))
    } else {
        Categories::NONE
    };
    let of_stations = if standard.is_modern() {
        let edca = cell.edca.get_or_insert_with(Edca::default);
        edca.plan(&format!("{path}.edca"), Whose::Station, times)?
    } else {
        vec![legacy_access(standard, times)]
    };
    let aggregation = if standard.is_modern() {
        plan_aggregation(path, standard, cell)?
    } else {
        Aggregation::NONE
    };
    let mut stations = Stations::default();
    let mut written = std::mem::take(&mut cell.station);
    for (name, station) in &mut written {
        let at = format!("{path}.station.{name}");
        let common = (&of_stations[..], times, aggregation);
        let plan = plan_station(&at, name, &channel, cell, station, common)?;
        stations.add(&at, station.count, &plan)?;
    }
    for (name, station) in &written {
        for other in &station.hidden_from {
            if other == name && station.count.is_none() {
                let at = format!("{path}.station.{name}.hidden_from");
                let why = "a station hears itself; of several that are alike, set count";
                return Err(ScenarioError::invalid(at, why));
            }
            if !written.contains_key(other) {
                let at = format!("{path}.station.{name}.hidden_from");
                let known = written.keys().cloned().collect();
                return Err(unknown(at, "station", other, known));
            }
        }
    }
    cell.station = written;
    let fastest = stations.fastest(path)?;
    let access_point = plan_access_point(path, standard, cell, &stations, times)?;
    let rules = plan_rules(path, &channel, cell, has_dsss, times)?;
    Ok(CellPlan {
        kind: standard.key(),
        rules,
        categories,
        access_point,
        fastest,
        stations: stations.all,
        groups: stations.groups,
    })
}

/// Refuses what 802.11g has not.
fn refuse_modern_keys(path: &str, standard: Standard, cell: &Wifi) -> Result<(), ScenarioError> {
    let keys = [
        ("streams", cell.streams.is_some()),
        ("mcs", cell.mcs.is_some()),
        ("ampdu_mpdus", cell.ampdu_mpdus.is_some()),
        ("ampdu_bytes", cell.ampdu_bytes.is_some()),
        ("ampdu_time", cell.ampdu_time.is_some()),
        ("amsdu_bytes", cell.amsdu_bytes.is_some()),
        ("dscp_map", cell.dscp_map.is_some()),
        ("edca", cell.edca.is_some()),
        ("access_point.edca", cell.access_point.edca.is_some()),
    ];
    match keys.into_iter().find(|(_, is_set)| *is_set) {
        Some((key, _)) => {
            let why = format!(
                "{} does not have it; expected a later standard",
                standard.name()
            );
            Err(ScenarioError::invalid(format!("{path}.{key}"), why))
        }
        None => Ok(()),
    }
}

/// Slot and SIFS.
fn plan_times(
    path: &str,
    band: Band,
    has_dsss: bool,
    cell: &mut Wifi,
) -> Result<[Duration; 2], ScenarioError> {
    // IEEE 802.11-2020 Tables 17-21 and 18-5: the long slot beside 802.11b stations.
    let slot = Duration::from_micros(if has_dsss { 20 } else { 9 });
    let slot = *cell.slot.get_or_insert(slot);
    check_slot(path, slot)?;
    let sifs = Duration::from_micros(if band == Band::Ghz24 { 10 } else { 16 });
    let sifs = *cell.sifs.get_or_insert(sifs);
    check_sifs(path, sifs)?;
    Ok([slot, sifs])
}

/// The distributed coordination function, without access categories (Tables 15-5 and 18-5).
fn legacy_access(standard: Standard, [slot, sifs]: [Duration; 2]) -> Access {
    let least = if standard == Standard::Dot11b { 31 } else { 15 };
    Access {
        aifs: sifs + slot * 2,
        windows: Windows { least, most: 1023 },
        txop: Duration::ZERO,
    }
}

fn plan_station(
    at: &str,
    name: &str,
    channel: &Channel,
    cell: &Wifi,
    station: &mut WifiStation,
    (access, times, aggregation): (&[Access], [Duration; 2], Aggregation),
) -> Result<StationPlan, ScenarioError> {
    let standard = station.standard.unwrap_or(channel.standard);
    let modes = channel.modes(at, cell, station)?;
    let snr = match &station.snr {
        Some(ratio) => Some(plan_ratio(&format!("{at}.snr"), ratio)?),
        None => None,
    };
    let fastest = modes[modes.len() - 1].rate();
    let has_categories = standard.is_modern();
    let queue = station.queue.get_or_insert_with(fifo);
    let queue = plan_queue(&format!("{at}.queue"), queue, fastest, Framing::IP)?.clone();
    let overhead = cell
        .overhead
        .unwrap_or(ByteCount(if has_categories { 38 } else { 36 }));
    Ok(StationPlan {
        name: name.to_owned(),
        written: name.to_owned(),
        radio: Radio {
            modes,
            snr,
            frame_errors: station.frame_errors,
            aggregates: has_categories,
            aggregation: aggregation.within(most_of(standard)),
            overhead: overhead.0,
        },
        queue,
        access: if has_categories {
            access.to_vec()
        } else {
            vec![legacy_access(standard, times); access.len()]
        },
        hidden_from: station.hidden_from.clone(),
    })
}

/// What a frame to or from a station of this standard carries at most.
fn most_of(standard: Standard) -> Aggregation {
    if !standard.is_modern() {
        return Aggregation::NONE;
    }
    Aggregation {
        mpdus: standard.block_ack_window(),
        bytes: standard.most_ampdu().0,
        time: LONGEST_FRAME,
        amsdu: standard.most_amsdu(),
    }
}

/// The queue of a Linux network interface.
fn fifo() -> Queue {
    Named(QueueConfig::DropTail(drop_tail::Config { limit: QUEUE }))
}

fn plan_access_point(
    path: &str,
    standard: Standard,
    cell: &mut Wifi,
    stations: &Stations,
    times: [Duration; 2],
) -> Result<AccessPointPlan, ScenarioError> {
    let at = format!("{path}.access_point");
    let own = &mut cell.access_point;
    let refuse = |key: &str, why: &str| Err(ScenarioError::invalid(format!("{at}.{key}"), why));
    match own.queues {
        Sharing::ByCategory => {
            let by_station = [
                ("airtime_quantum", own.airtime_quantum),
                ("airtime_limit", own.airtime_limit),
            ];
            for (key, span) in by_station {
                if span.is_some() {
                    let why = "it is of queues by station: set queues = \"by_station\"";
                    return refuse(key, why);
                }
            }
            let usual = if standard.is_modern() { AHEAD } else { 1 };
            let ahead = *own.ahead.get_or_insert(usual);
            if !(1..=MOST_AHEAD).contains(&ahead) {
                let why = format!("expected 1 to {MOST_AHEAD} packets, found {ahead}");
                return refuse("ahead", &why);
            }
        }
        Sharing::ByStation => {
            if own.ahead.is_some() {
                let why = "expected airtime_limit, since with queues by station the radio takes \
                           packets ahead by their time on the air";
                return refuse("ahead", why);
            }
            let quantum = *own.airtime_quantum.get_or_insert(QUANTUM);
            check_delay(&format!("{at}.airtime_quantum"), quantum)?;
            if !quantum.is_zero() && quantum < LEAST_QUANTUM {
                let why = format!("expected {LEAST_QUANTUM} at least, or \"0 s\", found {quantum}");
                return refuse("airtime_quantum", &why);
            }
            let limit = *own.airtime_limit.get_or_insert(Duration::ZERO);
            if !limit.is_zero() && !(LEAST_AHEAD..=LONGEST_AHEAD).contains(&limit) {
                let why =
                    format!("expected {LEAST_AHEAD} to {LONGEST_AHEAD}, or \"0 s\", found {limit}");
                return refuse("airtime_limit", &why);
            }
        }
    }
    let by_station = own.queues == Sharing::ByStation;
    let queue = own.queue.get_or_insert_with(|| {
        if by_station {
            Named(QueueConfig::FqCodel(fq_codel::Config {
                target: TARGET,
                ..fq_codel::Config::default()
            }))
        } else {
            fifo()
        }
    });
    let rates: Vec<Rate> = (stations.all.iter())
        .map(|station| station.radio.fastest().rate())
        .collect();
    let of_queue = if by_station {
        rates.iter().min()
    } else {
        rates.iter().max()
    };
    let rate = of_queue.copied().unwrap_or(Rate(1));
    let queue = plan_queue(&format!("{at}.queue"), queue, rate, Framing::IP)?.clone();
    let access = if standard.is_modern() {
        let edca = own.edca.get_or_insert_with(Edca::default);
        edca.plan(&format!("{at}.edca"), Whose::AccessPoint, times)?
    } else {
        vec![legacy_access(standard, times)]
    };
    Ok(AccessPointPlan { queue, access })
}

fn plan_rules(
    path: &str,
    channel: &Channel,
    cell: &mut Wifi,
    has_dsss: bool,
    [slot, sifs]: [Duration; 2],
) -> Result<Rules, ScenarioError> {
    let unnoticed = *cell.cca_time.get_or_insert(Duration::from_micros(4));
    let propagation = *cell.propagation.get_or_insert(Duration::ZERO);
    for (key, span) in [("cca_time", unnoticed), ("propagation", propagation)] {
        check_within_slot(path, key, span, slot)?;
    }
    let tries = *cell.retry_limit.get_or_insert(7);
    let limit = plan_tries(path, "retry_limit", tries)?;
    if let Some(overhead) = cell.overhead {
        check_overhead(path, overhead)?;
    }
    let phy = plan_phy(channel.band, has_dsss);
    let difs = sifs + slot * 2;
    let eifs = *cell.eifs.get_or_insert(sifs + phy.slowest_answer() + difs);
    check_eifs(path, eifs, difs)?;
    let after_error = eifs.saturating_sub(difs);
    let own = &cell.access_point;
    Ok(Rules {
        protection: has_dsss.then(|| phy.basic[0]),
        phy,
        slot,
        sifs,
        after_error,
        unnoticed,
        propagation,
        rts_threshold: cell.rts_threshold.map_or(u64::MAX, |bytes| bytes.0),
        tries: TryLimits {
            short: limit,
            long: limit,
        },
        sharing: match own.queues {
            Sharing::ByCategory => setup::Sharing::Ahead(own.ahead.unwrap_or(1)),
            Sharing::ByStation => {
                let some = |span: Option<Duration>| span.filter(|span| !span.is_zero());
                setup::Sharing::ByStation {
                    quantum: some(own.airtime_quantum),
                    limit: some(own.airtime_limit),
                }
            }
        },
    })
}

fn plan_phy(band: Band, has_dsss: bool) -> Phy {
    // Mandatory rates: 1 and 2 Mbit/s of DSSS, and 6, 12 and 24 Mbit/s of OFDM (IEEE 802.11-2020
    // §15.2.3.5, §17.2.3.4).
    let dsss = Mode::legacy(Format::Dsss).take(if has_dsss { 2 } else { 0 });
    let ofdm = Mode::legacy(Format::Ofdm).filter(|mode| matches!(mode.mcs, 0 | 2 | 4));
    Phy {
        preamble: Preamble::Long,
        basic: dsss.chain(ofdm).collect(),
        // §18.3.2.4, §19.3.2.
        signal_extension: Duration::from_micros(if band == Band::Ghz24 { 6 } else { 0 }),
    }
}

fn plan_aggregation(
    path: &str,
    standard: Standard,
    cell: &mut Wifi,
) -> Result<Aggregation, ScenarioError> {
    let refuse = |key: &str, why: String| Err(ScenarioError::invalid(format!("{path}.{key}"), why));
    let mpdus = *cell.ampdu_mpdus.get_or_insert(standard.block_ack_window());
    let most = standard.block_ack_window();
    if !(1..=most).contains(&mpdus) {
        let why = format!("expected 1 to {most}, found {mpdus}");
        return refuse("ampdu_mpdus", why);
    }
    let bytes = *cell.ampdu_bytes.get_or_insert(standard.most_ampdu());
    if bytes > standard.most_ampdu() {
        let (most, of) = (standard.most_ampdu(), standard.name());
        let why = format!("expected {most} at most, the limit of {of}, found {bytes}");
        return refuse("ampdu_bytes", why);
    }
    let time = *cell.ampdu_time.get_or_insert(LONGEST_FRAME);
    if time > LONGEST_FRAME {
        let why = format!("expected {LONGEST_FRAME} at most, the limit of the standards");
        return refuse("ampdu_time", why);
    }
    let amsdu = cell.amsdu_bytes.get_or_insert(ByteCount(0)).0;
    if amsdu > standard.most_amsdu() {
        let most = ByteCount(standard.most_amsdu());
        let why = format!("expected {most} at most, the limit of {}", standard.name());
        return refuse("amsdu_bytes", why);
    }
    Ok(Aggregation {
        mpdus,
        bytes: bytes.0,
        time,
        amsdu,
    })
}
