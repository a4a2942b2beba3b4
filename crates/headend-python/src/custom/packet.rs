//! A packet in the hands of a law in Python.

use headend::flow::FlowHeader;
use headend::packet::{Ecn, Fields, Flags, Packet as EnginePacket};
use headend::time::Instant;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What all packets of a flow have in common.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flow {
    dscp: u8,
    protocol: &'static str,
}

impl Flow {
    pub(super) fn of(header: &FlowHeader, packet: &Fields) -> Self {
        use headend::flow::Protocol;
        Self {
            dscp: header.dscp_of(packet),
            protocol: match header.protocol {
                Protocol::Tcp => "tcp",
                Protocol::Udp => "udp",
                _ => "other",
            },
        }
    }
}

/// A packet. A law has it from its arrival, or from taking it out of the backlog, until it pushes,
/// discards or returns it; afterwards it can only be read.
#[pyclass(module = "headend._engine")]
pub(crate) struct Packet {
    pub(super) owned: Option<EnginePacket>,
    fields: Fields,
    flow: Flow,
    /// Bytes, as the line counts them.
    #[pyo3(get)]
    bytes: u64,
    now: Instant,
}

impl Packet {
    pub(super) fn new(packet: EnginePacket, bytes: u64, flow: Flow, now: Instant) -> Self {
        Self {
            fields: *packet,
            owned: Some(packet),
            flow,
            bytes,
            now,
        }
    }

    /// A packet that stays where it is, to be read.
    pub(super) fn seen(fields: Fields, bytes: u64, flow: Flow, now: Instant) -> Self {
        Self {
            fields,
            owned: None,
            flow,
            bytes,
            now,
        }
    }

    pub(super) fn take(&mut self) -> PyResult<EnginePacket> {
        self.owned.take().ok_or_else(|| {
            PyValueError::new_err(
                "this packet is not in the law's hands: it waits in the backlog, or was pushed, \
                 discarded or returned before",
            )
        })
    }

    pub(super) fn change<T>(&mut self, change: impl FnOnce(&mut EnginePacket) -> T) -> PyResult<T> {
        let mut packet = self.take()?;
        let result = change(&mut packet);
        self.fields = *packet;
        self.owned = Some(packet);
        Ok(result)
    }
}

#[pymethods]
impl Packet {
    /// IP bytes.
    #[getter]
    fn size(&self) -> u16 {
        self.fields.size
    }

    /// Application bytes.
    #[getter]
    fn payload(&self) -> u16 {
        self.fields.payload
    }

    /// When it entered the queue, in ns.
    #[getter]
    fn enqueued_at(&self) -> u64 {
        self.fields.enqueued_at.as_nanos()
    }

    /// How long it has waited in the queue, in ns; 0 for one that arrives.
    #[getter]
    fn sojourn(&self) -> u64 {
        if self.fields.enqueued_at > self.now {
            return 0;
        }
        (self.now - self.fields.enqueued_at).as_nanos()
    }

    /// The number of its flow; a number is used again once its flow is closed.
    #[getter]
    fn flow(&self) -> u32 {
        self.fields.flow.0
    }

    #[getter]
    fn dscp(&self) -> u8 {
        self.flow.dscp
    }

    /// `tcp`, `udp` or `other`.
    #[getter]
    fn protocol(&self) -> &'static str {
        self.flow.protocol
    }

    /// `not_ect`, `ect0`, `ect1` or `ce`.
    #[getter]
    fn ecn(&self) -> &'static str {
        match self.fields.ecn {
            Ecn::NotEct => "not_ect",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ce => "ce",
        }
    }

    /// Whether it is a TCP segment without data.
    #[getter]
    fn is_ack(&self) -> bool {
        self.fields.payload == 0 && self.fields.flags.has(Flags::ACK)
    }
}
