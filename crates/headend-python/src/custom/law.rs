//! A control law in Python, as a law of the engine.

use std::sync::Mutex;

use headend::aqm::Aqm;
use headend::aqm::custom::Provider;
use headend::aqm::detached::DetachedBacklog;
use headend::context::Context;
use headend::custom::Code;
use headend::metrics::sample::QueueInternals;
use headend::packet::{Fields, FlowId, Packet as EnginePacket};
use headend::queue::{Backlog as EngineBacklog, Depth, Framing, LineView};
use headend::rng::Rng;
use headend::time::Instant;
use headend::trace::DropReason;
use headend::units::Rate;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::packet::Flow;
use super::{Custom, Packet, Random, refuse_past};

/// Laws of Python files.
pub(super) struct Laws;

impl Provider for Laws {
    fn law(&self, code: Code<'_>, rate: Rate, rng: Rng) -> Result<Box<dyn Aqm>, String> {
        Python::attach(|py| {
            let random = Random(Mutex::new(rng));
            let custom = Custom::build(py, "build_law", code, |py| {
                (random, rate.0).into_pyobject(py)
            })?;
            let mut law = Law::new(py, custom).map_err(|error| error.value(py).to_string())?;
            law.next_update = law
                .read_next_update(py)
                .map_err(|error| law.custom.describe_start(py, &error))?;
            Ok(Box::new(law) as Box<dyn Aqm>)
        })
    }
}

/// The line of a queue at the time of a call. Times are in ns, rates in bit/s, sizes in bytes; what
/// the line has not got is None.
#[pyclass(module = "headend._engine", get_all)]
#[derive(Default)]
pub(crate) struct Line {
    /// The time since the start of the run.
    now: u64,
    /// Nominal rate.
    rate: u64,
    /// The largest packet, in IP bytes.
    mtu: u16,
    /// The same, as the line counts bytes.
    max_packet: u64,
    /// Of the token buckets: the maximum sustained rate, the peak rate, and the tokens.
    sustained_rate: Option<u64>,
    peak_rate: Option<u64>,
    tokens: Option<u64>,
    /// Of a modem, from the latest MAP: bytes granted, bytes whose request it acknowledges without
    /// a grant, and the time between two MAPs.
    granted: Option<u64>,
    pending: Option<u64>,
    map_interval: Option<u64>,
}

impl Line {
    fn update(&mut self, line: &LineView<'_>, now: Instant) {
        let (shaper, grants) = (line.shaper, line.grants);
        *self = Self {
            now: now.as_nanos(),
            rate: line.rate.0,
            mtu: line.mtu,
            max_packet: line.max_packet(),
            sustained_rate: shaper.map(|shaper| shaper.sustained().0),
            peak_rate: shaper.map(|shaper| shaper.peak().0),
            tokens: shaper.map(|shaper| shaper.tokens(now)),
            granted: grants.map(|grants| grants.granted),
            pending: grants.map(|grants| grants.pending),
            map_interval: grants.map(|grants| grants.map_interval.as_nanos()),
        };
    }
}

/// What a law may do with the backlog in the present call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Nothing: there is no call.
    None,
    /// Read how full it is.
    Read,
    /// Everything.
    Change,
}

/// The packets of a queue, in order of arrival.
#[pyclass(module = "headend._engine")]
pub(crate) struct Backlog {
    detached: DetachedBacklog,
    access: Access,
    /// For calls that may only read.
    depth: Depth,
    head: Option<Fields>,
    others: u64,
    framing: Framing,
    now: Instant,
    /// Packets that the law took out in this call.
    taken: Vec<Py<Packet>>,
    /// By number.
    flows: Vec<Flow>,
}

impl Backlog {
    fn note_flow(&mut self, number: FlowId, flow: Flow) {
        let index = number.0 as usize;
        if index >= self.flows.len() {
            self.flows.resize(index + 1, Flow::default());
        }
        self.flows[index] = flow;
    }

    fn flow(&self, number: FlowId) -> Flow {
        self.flows
            .get(number.0 as usize)
            .copied()
            .unwrap_or_default()
    }

    fn begin(&mut self, access: Access, line: &LineView<'_>, now: Instant) {
        self.access = access;
        self.framing = line.framing;
        self.now = now;
    }

    fn check(&self, wanted: Access) -> PyResult<()> {
        match (self.access, wanted) {
            (Access::Change, _) | (Access::Read, Access::Read) => Ok(()),
            (Access::Read, _) => Err(PyValueError::new_err(
                "packets can be taken, pushed, marked and discarded in enqueue and dequeue only",
            )),
            (Access::None, _) => Err(PyValueError::new_err(
                "the backlog is there during a call of the law only",
            )),
        }
    }

    fn depth_now(&self) -> PyResult<Depth> {
        self.check(Access::Read)?;
        Ok(match self.access {
            Access::Change => self.detached.backlog().depth(),
            _ => self.depth,
        })
    }

    fn show(&self, fields: Fields) -> Packet {
        let bytes = self.framing.size_on_wire(fields.size);
        Packet::seen(fields, bytes, self.flow(fields.flow), self.now)
    }

    fn hand_out(
        &mut self,
        py: Python<'_>,
        take: impl FnOnce(&mut DetachedBacklog) -> Option<EnginePacket>,
    ) -> PyResult<Option<Py<Packet>>> {
        self.check(Access::Change)?;
        let Some(packet) = take(&mut self.detached) else {
            return Ok(None);
        };
        let bytes = self.framing.bytes(&packet);
        let flow = self.flow(packet.flow);
        let packet = Py::new(py, Packet::new(packet, bytes, flow, self.now))?;
        self.taken.push(packet.clone_ref(py));
        Ok(Some(packet))
    }
}

#[pymethods]
impl Backlog {
    /// Bytes that wait, as the line counts them.
    #[getter]
    fn bytes(&self) -> PyResult<u64> {
        self.depth_now().map(|depth| depth.bytes)
    }

    /// Packets that wait.
    #[getter]
    fn packets(&self) -> PyResult<u64> {
        self.depth_now().map(|depth| depth.packets)
    }

    fn __len__(&self) -> PyResult<usize> {
        self.depth_now().map(|depth| depth.packets as usize)
    }

    /// Bytes in the other backlogs of the same scheduler.
    #[getter]
    fn others(&self) -> PyResult<u64> {
        self.check(Access::Read)?;
        Ok(match self.access {
            Access::Change => self.detached.backlog().others(),
            _ => self.others,
        })
    }

    /// The oldest packet, to be read; None if none waits.
    #[getter]
    fn head(&self) -> PyResult<Option<Packet>> {
        self.check(Access::Read)?;
        let head = match self.access {
            Access::Change => self.detached.backlog().head().map(|packet| **packet),
            _ => self.head,
        };
        Ok(head.map(|fields| self.show(fields)))
    }

    /// The packet at this place, counted from the oldest, to be read.
    fn peek(&self, index: usize) -> PyResult<Packet> {
        self.check(Access::Change)?;
        let found = self.detached.backlog().iter().nth(index);
        let found = found.ok_or_else(|| PyIndexError::new_err(no_packet_at(index)))?;
        Ok(self.show(**found))
    }

    /// Whether a packet fits under the limit.
    fn fits(&self, packet: &mut Packet) -> PyResult<bool> {
        self.check(Access::Change)?;
        packet.change(|packet| self.detached.fits(packet))
    }

    /// Appends a packet. False: it did not fit under the limit, and was discarded.
    fn push(&mut self, packet: &mut Packet) -> PyResult<bool> {
        self.check(Access::Change)?;
        Ok(self.detached.push(packet.take()?))
    }

    /// Takes out the oldest packet; None if none waits.
    fn pop(&mut self, py: Python<'_>) -> PyResult<Option<Py<Packet>>> {
        self.hand_out(py, DetachedBacklog::pop)
    }

    /// Takes out the newest packet; None if none waits.
    fn pop_last(&mut self, py: Python<'_>) -> PyResult<Option<Py<Packet>>> {
        self.hand_out(py, DetachedBacklog::pop_last)
    }

    /// Takes out the packet at this place, counted from the oldest.
    fn remove(&mut self, py: Python<'_>, index: usize) -> PyResult<Py<Packet>> {
        let taken = self.hand_out(py, |detached| detached.remove(index))?;
        taken.ok_or_else(|| PyIndexError::new_err(no_packet_at(index)))
    }

    /// Discards a packet.
    fn discard(&mut self, packet: &mut Packet) -> PyResult<()> {
        self.check(Access::Change)?;
        self.detached.discard(packet.take()?, DropReason::Congested);
        Ok(())
    }

    /// Marks a packet CE. False: it is not ECN-capable, and is as it was.
    fn mark(&mut self, packet: &mut Packet) -> PyResult<bool> {
        self.check(Access::Change)?;
        packet.change(|packet| self.detached.mark(packet))
    }
}

fn no_packet_at(index: usize) -> String {
    format!("no packet waits at place {index}")
}

/// A law in Python.
#[derive(Debug)]
struct Law {
    custom: Custom,
    enqueue: Option<Py<PyAny>>,
    dequeue: Option<Py<PyAny>>,
    evicted: Option<Py<PyAny>>,
    update: Option<Py<PyAny>>,
    internals: Option<Py<PyAny>>,
    backlog: Py<Backlog>,
    line: Py<Line>,
    next_update: Option<Instant>,
    has_failed: bool,
}

impl Law {
    fn new(py: Python<'_>, custom: Custom) -> PyResult<Self> {
        let backlog = Backlog {
            detached: DetachedBacklog::default(),
            access: Access::None,
            depth: Depth::default(),
            head: None,
            others: 0,
            framing: Framing::IP,
            now: Instant::ZERO,
            taken: Vec::new(),
            flows: Vec::new(),
        };
        Ok(Self {
            enqueue: custom.method(py, "enqueue")?,
            dequeue: custom.method(py, "dequeue")?,
            evicted: custom.method(py, "evicted")?,
            update: custom.method(py, "update")?,
            internals: custom.method(py, "internals")?,
            backlog: Py::new(py, backlog)?,
            line: Py::new(py, Line::default())?,
            next_update: None,
            has_failed: false,
            custom,
        })
    }

    fn read_next_update(&self, py: Python<'_>) -> PyResult<Option<Instant>> {
        if self.update.is_none() {
            return Ok(None);
        }
        self.custom.read_time(py, "next_update")
    }

    /// After a call: when the next update is due. One that was due before is refused.
    fn note_next_update(&mut self, py: Python<'_>, now: Instant) -> PyResult<()> {
        let before = self.next_update;
        self.next_update = self.read_next_update(py)?;
        match self.next_update {
            Some(next) if next <= now && self.next_update == before => {
                Err(PyValueError::new_err(format!(
                    "update has not set next_update again, which is still {} ns: expected a time \
                     after now, {} ns, or None",
                    next.as_nanos(),
                    now.as_nanos()
                )))
            }
            Some(next) if next <= now => Err(refuse_past("next_update", next, now)),
            _ => Ok(()),
        }
    }

    /// Makes an update that is due: a link may call a queue that was empty before it does so.
    fn catch_up(&mut self, backlog: &EngineBacklog, line: &LineView<'_>, cx: &mut Context<'_>) {
        if self.next_update.is_some_and(|due| due <= cx.now) {
            self.update(backlog, line, cx);
        }
    }

    fn fail(&mut self, py: Python<'_>, error: &PyErr, method: &Py<PyAny>) {
        if !self.has_failed {
            self.custom.fail(py, error, Some(method));
        }
        self.stop();
    }

    /// From now on packets pass as if there was no law, until the run ends.
    fn stop(&mut self) {
        self.has_failed = true;
        self.next_update = None;
    }

    fn refuse(&mut self, py: Python<'_>, why: String, method: &Py<PyAny>) {
        self.fail(py, &PyValueError::new_err(why), method);
    }

    /// Calls a method that may change the backlog.
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        method: &Py<PyAny>,
        arrival: Option<&Py<Packet>>,
        backlog: &mut EngineBacklog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let now = cx.now;
        self.line.borrow_mut(py).update(line, now);
        {
            let mut view = self.backlog.borrow_mut(py);
            view.begin(Access::Change, line, now);
            view.detached.take(backlog, line, now);
        }
        let result = match arrival {
            Some(arrival) => method.bind(py).call1((arrival, &self.backlog, &self.line)),
            None => method.bind(py).call1((&self.backlog, &self.line)),
        };
        self.backlog.borrow_mut(py).access = Access::None;
        match result {
            Ok(result) if self.update.is_some() => {
                self.note_next_update(py, now)?;
                Ok(result)
            }
            result => result,
        }
    }

    /// Ends a call: packets that the law still has are discarded. Says whether there were any.
    fn end(&mut self, py: Python<'_>, backlog: &mut EngineBacklog, cx: &mut Context<'_>) -> bool {
        let mut view = self.backlog.borrow_mut(py);
        let mut any = false;
        let view = &mut *view;
        for packet in view.taken.drain(..) {
            if let Some(packet) = packet.borrow_mut(py).owned.take() {
                view.detached.discard(packet, DropReason::Congested);
                any = true;
            }
        }
        view.detached.give_back(backlog, cx);
        any
    }

    /// Calls a method that may only read the backlog.
    fn call_to_read(
        &mut self,
        py: Python<'_>,
        method: &Py<PyAny>,
        packet: Option<Packet>,
        backlog: &EngineBacklog,
        line: &LineView<'_>,
        now: Instant,
    ) -> PyResult<()> {
        self.line.borrow_mut(py).update(line, now);
        {
            let mut view = self.backlog.borrow_mut(py);
            view.begin(Access::Read, line, now);
            view.depth = backlog.depth();
            view.others = backlog.others();
            view.head = backlog.head().map(|packet| **packet);
        }
        let result = match packet {
            Some(packet) => method.bind(py).call1((packet, &self.backlog, &self.line)),
            None => method.bind(py).call1((&self.backlog, &self.line)),
        };
        self.backlog.borrow_mut(py).access = Access::None;
        result?;
        if self.update.is_some() {
            self.note_next_update(py, now)?;
        }
        Ok(())
    }
}

impl Aqm for Law {
    fn enqueue(
        &mut self,
        backlog: &mut EngineBacklog,
        packet: EnginePacket,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        self.catch_up(backlog, line, cx);
        if self.has_failed {
            backlog.push(packet, line, cx);
            return;
        }
        Python::attach(|py| {
            let flow = Flow::of(cx.header(packet.flow), &packet);
            self.backlog.borrow_mut(py).note_flow(packet.flow, flow);
            let Some(method) = self.enqueue.as_ref().map(|method| method.clone_ref(py)) else {
                backlog.push(packet, line, cx);
                return;
            };
            let bytes = line.framing.bytes(&packet);
            let arrival = Packet::new(packet, bytes, flow, cx.now);
            let arrival = Py::new(py, arrival).expect("memory takes a packet");
            let result = self.call(py, &method, Some(&arrival), backlog, line, cx);
            let left = arrival.borrow_mut(py).owned.take();
            let kept = self.end(py, backlog, cx);
            match result {
                Err(error) => self.fail(py, &error, &method),
                Ok(_) if left.is_some() => {
                    let why = "enqueue neither pushed nor discarded the packet that arrived";
                    self.refuse(py, why.to_owned(), &method);
                }
                Ok(_) if kept => self.refuse(py, KEPT.to_owned(), &method),
                Ok(_) => {}
            }
            if let Some(packet) = left {
                backlog.push(packet, line, cx);
            }
        });
    }

    fn dequeue(
        &mut self,
        backlog: &mut EngineBacklog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<EnginePacket> {
        self.catch_up(backlog, line, cx);
        if self.has_failed || self.dequeue.is_none() {
            return backlog.pop(line);
        }
        Python::attach(|py| {
            let method = self.dequeue.as_ref()?.clone_ref(py);
            let result = self.call(py, &method, None, backlog, line, cx);
            let sent = result.and_then(|result| {
                if result.is_none() {
                    return Ok(None);
                }
                let packet = result.cast::<Packet>().map_err(|_| {
                    let found = result.get_type();
                    PyTypeError::new_err(format!(
                        "dequeue: expected a packet or None, found {found}"
                    ))
                })?;
                packet.borrow_mut().take().map(Some)
            });
            let kept = self.end(py, backlog, cx);
            match sent {
                Err(error) => self.fail(py, &error, &method),
                Ok(Some(packet)) => {
                    if kept {
                        self.refuse(py, KEPT.to_owned(), &method);
                    }
                    return Some(packet);
                }
                Ok(None) if kept => self.refuse(py, KEPT.to_owned(), &method),
                Ok(None) => match backlog.depth().packets {
                    0 => {}
                    waiting => {
                        let why = format!("dequeue returned None while packets wait: {waiting}");
                        self.refuse(py, why, &method);
                    }
                },
            }
            if self.has_failed {
                backlog.pop(line)
            } else {
                None
            }
        })
    }

    fn evicted(
        &mut self,
        backlog: &EngineBacklog,
        packet: &EnginePacket,
        line: &LineView<'_>,
        cx: &Context<'_>,
    ) {
        if self.has_failed || self.evicted.is_none() {
            return;
        }
        Python::attach(|py| {
            let Some(method) = self.evicted.as_ref().map(|method| method.clone_ref(py)) else {
                return;
            };
            let bytes = line.framing.bytes(packet);
            let flow = Flow::of(cx.header(packet.flow), packet);
            let seen = Packet::seen(**packet, bytes, flow, cx.now);
            let result = self.call_to_read(py, &method, Some(seen), backlog, line, cx.now);
            if let Err(error) = result {
                self.fail(py, &error, &method);
            }
        });
    }

    fn next_update(&self) -> Option<Instant> {
        self.next_update
    }

    fn is_periodic(&self) -> bool {
        self.update.is_some()
    }

    fn update(&mut self, backlog: &EngineBacklog, line: &LineView<'_>, cx: &mut Context<'_>) {
        Python::attach(|py| {
            let Some(method) = self.update.as_ref().map(|method| method.clone_ref(py)) else {
                return;
            };
            let result = self.call_to_read(py, &method, None, backlog, line, cx.now);
            if let Err(error) = result {
                self.fail(py, &error, &method);
            }
        });
    }

    fn internals(&self) -> QueueInternals {
        let Some(method) = self.internals.as_ref().filter(|_| !self.has_failed) else {
            return QueueInternals::default();
        };
        Python::attach(|py| {
            read_internals(method.bind(py)).unwrap_or_else(|error| {
                self.custom.fail(py, &error, Some(method));
                QueueInternals::default()
            })
        })
    }
}

const KEPT: &str =
    "a packet was taken out of the backlog, and neither returned, pushed nor discarded";

/// The figures of a law that the series of results have a column for.
fn read_internals(method: &Bound<'_, PyAny>) -> PyResult<QueueInternals> {
    let figures = method.call0()?;
    let figures = figures
        .cast::<PyDict>()
        .map_err(|_| PyTypeError::new_err("internals: expected a dictionary of numbers by name"))?;
    let mut internals = QueueInternals::default();
    for (name, value) in figures {
        let name: String = name.extract()?;
        let value: f64 = value.extract()?;
        let place = match name.as_str() {
            "drop_probability" => &mut internals.drop_probability,
            "burst_allowance" => &mut internals.burst_allowance_ns,
            "delay_estimate" => &mut internals.delay_estimate_ns,
            "rate_estimate" => &mut internals.rate_estimate_bps,
            "average_packets" => &mut internals.average_packets,
            "average_bytes" => &mut internals.average_bytes,
            other => {
                return Err(PyValueError::new_err(format!(
                    "internals: no figure is called \"{other}\"; there are drop_probability, \
                     burst_allowance, delay_estimate, rate_estimate, average_packets and \
                     average_bytes"
                )));
            }
        };
        if !value.is_finite() {
            return Err(PyValueError::new_err(format!(
                "internals: {name}: expected a finite number, found {value}"
            )));
        }
        *place = Some(value);
    }
    Ok(internals)
}
