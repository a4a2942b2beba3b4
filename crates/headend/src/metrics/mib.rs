//! The service flows of cable lines as DOCS-QOS3-MIB describes them: the names of its objects, and
//! what results record of a service flow.
//!
//! Names, columns and units are those of the module of 2019-05-02. docs/reference/results.md says
//! where a count differs from the MIB's.

use std::sync::Arc;

use crate::time::{Duration, Instant};

/// An object of the MIB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// The table that the object is a column of, or the group of a scalar.
    pub table: &'static str,
    /// Its name.
    pub name: &'static str,
}

/// An object and its value.
pub type Setting = (Object, u64);

/// A service flow that has a queue.
#[derive(Debug, Clone)]
pub struct ServiceFlowInfo {
    /// The name of its modem; empty if that is the line's only one and has none.
    pub modem: String,
    /// Its name: `up`, `down`, or that of a further one.
    pub name: String,
    /// The settings of the service flow and of its modem, each with the time from which they hold,
    /// in order of time. A deletion has none.
    pub settings: Vec<(Instant, Option<Arc<[Setting]>>)>,
    /// The upper edges of its latency histogram's bins; empty if it has no histogram.
    pub latency_edges: Vec<Duration>,
    /// The bytes of a minislot; none for a downstream service flow.
    pub minislot_bytes: Option<u64>,
    /// Its part in the aggregate that it belongs to; `None` for a service flow on its own.
    pub member: Option<Member>,
}

/// The part of a service flow in an aggregate with low latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member {
    /// The classic flow.
    Classic,
    /// The low-latency flow.
    LowLatency {
        /// Whether queue protection is on.
        is_protected: bool,
    },
}

/// A service flow at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State<'a> {
    /// It is created later.
    Absent,
    /// It has these settings.
    Active(&'a [Setting]),
    /// It was deleted.
    Deleted,
}

impl ServiceFlowInfo {
    /// The state of the service flow at `now`.
    pub fn state(&self, now: Instant) -> State<'_> {
        match self.settings.iter().rfind(|(from, _)| *from <= now) {
            None => State::Absent,
            Some((_, None)) => State::Deleted,
            Some((_, Some(settings))) => State::Active(settings),
        }
    }
}

/// The number of bins that a latency histogram has at most (TLV 24.40.6: 15 edges).
pub const MOST_BINS: usize = 16;

/// Bytes of IP up to which an Ethernet frame is padded.
pub const SHORTEST_PAYLOAD: u16 = 46;

/// A boolean of SNMP (`TruthValue`).
pub const fn truth(value: bool) -> u64 {
    if value { 1 } else { 2 }
}

/// Defines constants for the objects of a table.
macro_rules! objects {
    ($table:literal { $($(#[$doc:meta])* $constant:ident = $name:literal),+ $(,)? }) => {
        $(
            $(#[$doc])*
            pub const $constant: Object = Object { table: $table, name: $name };
        )+
    };
}

/// Settings (`docsQosParamSetTable`): those of the active parameter set.
pub mod parameter_set {
    use super::Object;

    objects!("docsQosParamSetTable" {
        /// Traffic priority, 0 to 7.
        PRIORITY = "docsQosParamSetPriority",
        /// Maximum sustained rate, bit/s. Zero: no limit, or more than 32 bits.
        MAX_TRAFFIC_RATE = "docsQosParamSetMaxTrafficRate",
        /// Maximum traffic burst, bytes.
        MAX_TRAFFIC_BURST = "docsQosParamSetMaxTrafficBurst",
        /// Minimum reserved rate, bit/s.
        MIN_RESERVED_RATE = "docsQosParamSetMinReservedRate",
        /// Upstream scheduling type.
        SCHEDULING_TYPE = "docsQosParamSetSchedulingType",
        /// Nominal polling interval, µs.
        NOM_POLL_INTERVAL = "docsQosParamSetNomPollInterval",
        /// Tolerated poll jitter, µs.
        TOL_POLL_JITTER = "docsQosParamSetTolPollJitter",
        /// Bytes of an unsolicited grant.
        UNSOLICIT_GRANT_SIZE = "docsQosParamSetUnsolicitGrantSize",
        /// Nominal grant interval, µs.
        NOM_GRANT_INTERVAL = "docsQosParamSetNomGrantInterval",
        /// Tolerated grant jitter, µs.
        TOL_GRANT_JITTER = "docsQosParamSetTolGrantJitter",
        /// Grants per interval.
        GRANTS_PER_INTERVAL = "docsQosParamSetGrantsPerInterval",
        /// Request/transmission policy, as a number.
        REQUEST_POLICY = "docsQosParamSetRequestPolicyOct",
        /// Peak traffic rate, bit/s. Zero: no limit, or more than 32 bits.
        PEAK_TRAFFIC_RATE = "docsQosParamSetPeakTrafficRate",
        /// Buffer Control's minimum, bytes.
        MINIMUM_BUFFER = "docsQosParamSetMinimumBuffer",
        /// Buffer Control's target, bytes. Zero: the device decides.
        TARGET_BUFFER = "docsQosParamSetTargetBuffer",
        /// Buffer Control's maximum, bytes. 2³² − 1: no limit.
        MAXIMUM_BUFFER = "docsQosParamSetMaximumBuffer",
        /// Whether no AQM runs (`TruthValue`).
        AQM_DISABLED = "docsQosParamSetAqmDisabled",
        /// Latency target of the AQM, ms.
        AQM_LATENCY_TARGET = "docsQosParamSetAqmLatencyTarget",
        /// Maximum sustained rate in 64 bits, bit/s.
        HC_MAX_TRAFFIC_RATE = "docsQosParamSetHCMaxTrafficRate",
        /// Minimum reserved rate in 64 bits, bit/s.
        HC_MIN_RESERVED_RATE = "docsQosParamSetHCMinReservedRate",
        /// Peak traffic rate in 64 bits, bit/s.
        HC_PEAK_TRAFFIC_RATE = "docsQosParamSetHCPeakTrafficRate",
        /// The AQM algorithm: 1 unknown or disabled, 2 other, 3 DOCSIS-PIE, 4 immediate AQM.
        AQM_ALG_IN_USE = "docsQosParamSetAqmAlgInUse",
        /// Guaranteed grant interval, µs.
        GUARANTEED_GRANT_INTERVAL = "docsQosParamSetGuaranteedGrantInterval",
        /// Guaranteed grant rate, bit/s.
        GUARANTEED_GRANT_RATE = "docsQosParamSetGuaranteedGrantRate",
        /// Upper end of the ramp of immediate AQM that is in effect, µs.
        IMMED_AQM_MAX_THRESHOLD = "docsQosParamSetImmedAqmMaxThreshold",
        /// Range of the ramp, as an exponent of 2 of nanoseconds.
        IMMED_AQM_RANGE_EXPONENT = "docsQosParamSetImmedAqmRangeExponentRampFunc",
    });
}

/// Settings of an aggregate service flow.
pub mod aggregate {
    use super::Object;

    objects!("docsQosAggregateServiceFlowTable" {
        /// Traffic priority, 0 to 7.
        PRIORITY = "docsQosAggregateServiceFlowPriority",
        /// Maximum sustained rate of both flows together, bit/s. Zero: no limit, or more than 32
        /// bits.
        MAX_AGGREGATE_TRAFFIC_RATE = "docsQosAggregateServiceFlowMaxAggregateTrafficRate",
        /// Maximum traffic burst, bytes.
        MAX_TRAFFIC_BURST = "docsQosAggregateServiceFlowMaxTrafficBurst",
        /// Peak traffic rate, bit/s. Zero: no limit, or more than 32 bits.
        PEAK_TRAFFIC_RATE = "docsQosAggregateServiceFlowPeakTrafficRate",
        /// Whether it has a low-latency flow (`TruthValue`).
        LOW_LATENCY_ASF = "docsQosAggregateServiceFlowLowLatencyAsf",
        /// Coupling factor, in tenths.
        AQM_COUPLING_FACTOR = "docsQosAggregateServiceFlowAqmCouplingFactor",
        /// Scheduling weight of the low-latency flow, in 256ths.
        SCHEDULING_WEIGHT = "docsQosAggregateServiceFlowSchedulingWeight",
        /// Whether queue protection is on, as the number of its bits.
        QP_ENABLE = "docsQosAggregateServiceFlowQpEnable",
        /// Latency threshold of queue protection, µs.
        QP_LATENCY_THRESHOLD = "docsQosAggregateServiceFlowQpLatencyThreshold",
        /// Queuing score threshold, µs.
        QP_QUEUING_SCORE_THRESHOLD = "docsQosAggregateServiceFlowQpQueuingScoreThreshold",
        /// Drain rate of queuing scores, as an exponent of 2 of bytes per second.
        QP_DRAIN_RATE_EXPONENT = "docsQosAggregateServiceFlowQpDrainRateExponent",
    });
}

/// Settings of the modem, and the buffer size that it has chosen.
pub mod system {
    use super::Object;

    objects!("docsQosServiceFlowTable" {
        /// Bytes of the buffer.
        BUFFER_SIZE = "docsQosServiceFlowBufferSize",
    });

    objects!("docsQosCmSystemCfgState" {
        /// Whether AQM is allowed on the modem's upstream service flows (`TruthValue`).
        AQM_US_ENABLE = "docsQosCmSystemCfgStateAqmUsEnable",
        /// Target buffer of upstream service flows that have none of their own, ms.
        DEFAULT_US_TARGET_BUFFER = "docsQosCmSystemCfgStateDefaultUsTargetBuffer",
    });
}

/// Counters of service flows.
pub mod counter {
    use super::Object;

    objects!("docsQosServiceFlowStatsTable" {
        /// Packets sent.
        PKTS = "docsQosServiceFlowPkts",
        /// Bytes sent, from after the HCS to the CRC.
        OCTETS = "docsQosServiceFlowOctets",
        /// Packets dropped because they did not fit into the buffer or any grant.
        POLICED_DROP_PKTS = "docsQosServiceFlowPolicedDropPkts",
        /// Packets that waited for the rate limits.
        POLICED_DELAY_PKTS = "docsQosServiceFlowPolicedDelayPkts",
        /// Packets dropped by the AQM.
        AQM_DROPPED_PKTS = "docsQosServiceFlowAqmDroppedPkts",
        /// Packets that queue protection redirected to the classic service flow.
        SANCTIONED_PKTS = "docsQosServiceFlowSanctionedPkts",
    });

    objects!("docsQosAggregateServiceFlowStatsTable" {
        /// Packets that both flows of an aggregate sent.
        AGGREGATE_PKTS = "docsQosAggregateServiceFlowStatsPkts",
        /// Their bytes, from after the HCS to the CRC.
        AGGREGATE_OCTETS = "docsQosAggregateServiceFlowStatsOctets",
    });

    objects!("docsQosServiceFlowLogTable" {
        /// The packets that a deleted service flow sent.
        LOG_PKTS = "docsQosServiceFlowLogPkts",
        /// Its bytes.
        LOG_OCTETS = "docsQosServiceFlowLogOctets",
        /// Its packets that did not fit.
        LOG_POLICED_DROP_PKTS = "docsQosServiceFlowLogPolicedDropPkts",
        /// Its packets that waited for the rate limits.
        LOG_POLICED_DELAY_PKTS = "docsQosServiceFlowLogPolicedDelayPkts",
    });

    objects!("docsQosCmServiceUsStatsTable" {
        /// Minislots of data in contention: always zero.
        TX_SLOTS_IMMED = "docsQosCmServiceUsStatsTxSlotsImmed",
        /// Minislots of grants.
        TX_SLOTS_DED = "docsQosCmServiceUsStatsTxSlotsDed",
        /// Data in contention that was not acknowledged: always zero.
        TX_RETRIES = "docsQosCmServiceUsStatsTxRetries",
        /// Contention requests that were not acknowledged.
        RQ_RETRIES = "docsQosCmServiceUsStatsRqRetries",
        /// Requests given up.
        RQ_EXCEEDEDS = "docsQosCmServiceUsStatsRqExceededs",
    });
}

/// Latency histograms of service flows.
pub mod latency {
    use super::{MOST_BINS, Object};

    const CONFIGURED: &str = "docsQosSfLatencyHistCfgTable";
    const COUNTED: &str = "docsQosSfLatencyStatsTable";

    /// The longest latency, µs.
    pub const MAX_LATENCY: Object = Object {
        table: COUNTED,
        name: "docsQosSfLatencyMaxLatency",
    };
    /// How often the histogram was updated.
    pub const NUM_HIST_UPDATES: Object = Object {
        table: COUNTED,
        name: "docsQosSfLatencyNumHistUpdates",
    };
    /// The upper edges of the bins, µs.
    pub const UPPER_EDGE: [Object; MOST_BINS - 1] = [
        edge("docsQosSfLatencyBin1UpperEdge"),
        edge("docsQosSfLatencyBin2UpperEdge"),
        edge("docsQosSfLatencyBin3UpperEdge"),
        edge("docsQosSfLatencyBin4UpperEdge"),
        edge("docsQosSfLatencyBin5UpperEdge"),
        edge("docsQosSfLatencyBin6UpperEdge"),
        edge("docsQosSfLatencyBin7UpperEdge"),
        edge("docsQosSfLatencyBin8UpperEdge"),
        edge("docsQosSfLatencyBin9UpperEdge"),
        edge("docsQosSfLatencyBin10UpperEdge"),
        edge("docsQosSfLatencyBin11UpperEdge"),
        edge("docsQosSfLatencyBin12UpperEdge"),
        edge("docsQosSfLatencyBin13UpperEdge"),
        edge("docsQosSfLatencyBin14UpperEdge"),
        edge("docsQosSfLatencyBin15UpperEdge"),
    ];
    /// The packets in the bins.
    pub const PKTS: [Object; MOST_BINS] = [
        bin("docsQosSfLatencyBin1Pkts"),
        bin("docsQosSfLatencyBin2Pkts"),
        bin("docsQosSfLatencyBin3Pkts"),
        bin("docsQosSfLatencyBin4Pkts"),
        bin("docsQosSfLatencyBin5Pkts"),
        bin("docsQosSfLatencyBin6Pkts"),
        bin("docsQosSfLatencyBin7Pkts"),
        bin("docsQosSfLatencyBin8Pkts"),
        bin("docsQosSfLatencyBin9Pkts"),
        bin("docsQosSfLatencyBin10Pkts"),
        bin("docsQosSfLatencyBin11Pkts"),
        bin("docsQosSfLatencyBin12Pkts"),
        bin("docsQosSfLatencyBin13Pkts"),
        bin("docsQosSfLatencyBin14Pkts"),
        bin("docsQosSfLatencyBin15Pkts"),
        bin("docsQosSfLatencyBin16Pkts"),
    ];

    const fn edge(name: &'static str) -> Object {
        Object {
            table: CONFIGURED,
            name,
        }
    }

    const fn bin(name: &'static str) -> Object {
        Object {
            table: COUNTED,
            name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_flow_is_absent_then_active_then_deleted() {
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let settings = |priority| -> Option<Arc<[Setting]>> {
            Some(Arc::new([(parameter_set::PRIORITY, priority)]))
        };
        let flow = ServiceFlowInfo {
            modem: "home".to_owned(),
            name: "voice".to_owned(),
            settings: vec![(at(3), settings(1)), (at(5), settings(2)), (at(7), None)],
            latency_edges: Vec::new(),
            minislot_bytes: None,
            member: None,
        };
        assert_eq!(flow.state(at(2)), State::Absent);
        for (second, priority) in [(3, 1), (4, 1), (5, 2)] {
            let expected = [(parameter_set::PRIORITY, priority)];
            assert_eq!(flow.state(at(second)), State::Active(&expected));
        }
        assert_eq!(flow.state(at(7)), State::Deleted);
    }
}
