//! A congestion control in Python, as a control of the engine.

use std::sync::Mutex;

use headend::congestion::custom::Provider;
use headend::congestion::{
    AckSample as EngineSample, CongestionControl, CongestionSignal as EngineSignal, Stance,
};
use headend::custom::Code;
use headend::rng::Rng;
use headend::time::{Duration, Instant};
use headend::units::Rate;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{Custom, Random, refuse_past};

/// Controls of Python files.
pub(super) struct Controls;

impl Provider for Controls {
    fn control(
        &self,
        code: Code<'_>,
        mss: u64,
        initial_window: u64,
        rng: Rng,
    ) -> Result<Box<dyn CongestionControl>, String> {
        Python::attach(|py| {
            let random = Random(Mutex::new(rng));
            let custom = Custom::build(py, "build_control", code, |py| {
                (random, mss, initial_window).into_pyobject(py)
            })?;
            let mut control =
                Control::new(py, custom, mss).map_err(|error| error.value(py).to_string())?;
            control
                .read_stance(py, Instant::ZERO)
                .map_err(|error| control.custom.describe_start(py, &error))?;
            Ok(Box::new(control) as Box<dyn CongestionControl>)
        })
    }

    fn counts_marks(&self, code: Code<'_>) -> bool {
        Python::attach(|py| {
            if super::check_name(code).is_err() {
                return false;
            }
            let ask = || -> PyResult<bool> {
                let loading = py.import("headend.custom.loading")?;
                loading
                    .getattr("counts_marks")?
                    .call1((code.name, code.text))?
                    .extract()
            };
            // What is wrong with the code is said when the control is built.
            ask().unwrap_or_else(|error| {
                super::note_interruption(py, &error);
                false
            })
        })
    }
}

/// The contents of one acknowledgement, and the sender's state when it arrived. Times are in ns,
/// sizes in bytes, rates in bit/s.
#[pyclass(frozen, module = "headend._engine")]
pub(crate) struct AckSample(EngineSample);

fn nanos(span: Option<Duration>) -> Option<u64> {
    span.map(Duration::as_nanos)
}

#[pymethods]
impl AckSample {
    /// Time of arrival.
    #[getter]
    fn now(&self) -> u64 {
        self.0.now.as_nanos()
    }

    /// Bytes newly known to have arrived.
    #[getter]
    fn newly_acked(&self) -> u64 {
        self.0.newly_acked
    }

    /// Bytes newly known to be lost.
    #[getter]
    fn newly_lost(&self) -> u64 {
        self.0.newly_lost
    }

    /// Bytes newly reported as CE-marked, where those are counted.
    #[getter]
    fn ce_bytes(&self) -> u64 {
        self.0.ce_bytes
    }

    /// Bytes in flight before this acknowledgement.
    #[getter]
    fn prior_in_flight(&self) -> u64 {
        self.0.prior_in_flight
    }

    /// Bytes of which a new slow-start threshold is a share (RFC 5681: FlightSize).
    #[getter]
    fn flight_size(&self) -> u64 {
        self.0.flight_size
    }

    /// Whether windows and thresholds are whole segments, as in Linux.
    #[getter]
    fn whole_segments(&self) -> bool {
        self.0.whole_segments
    }

    /// Bytes in flight after this acknowledgement.
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight
    }

    /// Time since the most recently sent of the segments newly acknowledged was sent; None if it
    /// was sent more than once.
    #[getter]
    fn rtt(&self) -> Option<u64> {
        nanos(self.0.rtt)
    }

    /// Smoothed round-trip time.
    #[getter]
    fn srtt(&self) -> Option<u64> {
        nanos(self.0.srtt)
    }

    /// Smallest round-trip time so far.
    #[getter]
    fn min_rtt(&self) -> Option<u64> {
        nanos(self.0.min_rtt)
    }

    /// One-way delay of the segment that this acknowledgement answers.
    #[getter]
    fn one_way_delay(&self) -> Option<u64> {
        nanos(self.0.one_way_delay)
    }

    /// Bytes delivered since the acknowledged segment was sent, divided by that time.
    #[getter]
    fn delivery_rate(&self) -> Option<u64> {
        self.0.delivery_rate().map(|rate| rate.0)
    }

    /// Total bytes delivered.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }

    /// Total bytes delivered when the acknowledged segment was sent.
    #[getter]
    fn prior_delivered(&self) -> u64 {
        self.0.prior_delivered
    }

    /// Bytes in flight at that time, including that segment.
    #[getter]
    fn sent_in_flight(&self) -> u64 {
        self.0.sent_in_flight
    }

    /// Bytes in flight when the last of the newly lost segments was sent, including that segment.
    #[getter]
    fn lost_in_flight(&self) -> u64 {
        self.0.lost_in_flight
    }

    /// Whether the sender had no more data to send.
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.app_limited
    }

    /// Whether the window limited the sender.
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.0.cwnd_limited
    }

    /// Whether the window must not grow: losses are being repaired.
    #[getter]
    fn in_recovery(&self) -> bool {
        self.0.in_recovery
    }

    /// Round trips since the start.
    #[getter]
    fn round(&self) -> u64 {
        self.0.round
    }

    /// Maximum segment size.
    #[getter]
    fn mss(&self) -> u64 {
        self.0.mss
    }

    /// A slow-start threshold of this share of the flight size, and at least two segments.
    fn threshold(&self, share: f64) -> u64 {
        self.0.threshold(share)
    }
}

/// The reason why a sender must slow down.
#[pyclass(frozen, module = "headend._engine", get_all)]
pub(crate) struct CongestionSignal {
    /// `ecn`, `loss` or `timeout`.
    kind: &'static str,
    /// Bytes lost, of a loss.
    lost: u64,
}

impl From<EngineSignal> for CongestionSignal {
    fn from(signal: EngineSignal) -> Self {
        let (kind, lost) = match signal {
            EngineSignal::Ecn => ("ecn", 0),
            EngineSignal::Loss { lost } => ("loss", lost),
            EngineSignal::Timeout => ("timeout", 0),
        };
        Self { kind, lost }
    }
}

/// A control in Python.
#[derive(Debug)]
struct Control {
    custom: Custom,
    mss: u64,
    on_handshake: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    on_ack: Option<Py<PyAny>>,
    on_congestion: Option<Py<PyAny>>,
    on_spurious_congestion: Option<Py<PyAny>>,
    on_recovered: Option<Py<PyAny>>,
    on_idle: Option<Py<PyAny>>,
    on_timer: Option<Py<PyAny>>,
    repairs_in_slow_start: bool,
    is_scalable: bool,
    stance: Stance,
    ssthresh: Option<u64>,
    has_failed: bool,
}

impl Control {
    fn new(py: Python<'_>, custom: Custom, mss: u64) -> PyResult<Self> {
        let flag = |name| custom.object.getattr(py, name)?.extract(py);
        Ok(Self {
            on_handshake: custom.method(py, "on_handshake")?,
            on_sent: custom.method(py, "on_sent")?,
            on_ack: custom.method(py, "on_ack")?,
            on_congestion: custom.method(py, "on_congestion")?,
            on_spurious_congestion: custom.method(py, "on_spurious_congestion")?,
            on_recovered: custom.method(py, "on_recovered")?,
            on_idle: custom.method(py, "on_idle")?,
            on_timer: custom.method(py, "on_timer")?,
            repairs_in_slow_start: flag("repairs_in_slow_start")?,
            is_scalable: flag("is_scalable")?,
            stance: Stance {
                cwnd: mss,
                pacing_rate: None,
                send_quantum: 0,
                next_timer: None,
            },
            ssthresh: None,
            has_failed: false,
            mss,
            custom,
        })
    }

    /// Reads what the control wants now, and refuses what makes no sense.
    fn read_stance(&mut self, py: Python<'_>, now: Instant) -> PyResult<()> {
        let custom = &self.custom;
        let cwnd: u64 = custom.read(py, "cwnd", "whole bytes")?;
        if cwnd < self.mss {
            return Err(PyValueError::new_err(format!(
                "cwnd: expected one segment of {} bytes at least, found {cwnd}",
                self.mss
            )));
        }
        let rate: Option<u64> = custom.read(py, "pacing_rate", "whole bit/s or None")?;
        if rate == Some(0) {
            return Err(PyValueError::new_err(
                "pacing_rate: expected more than 0 bit/s, or None, found 0",
            ));
        }
        let next_timer = self.read_next_timer(py, now)?;
        self.ssthresh = custom.read(py, "ssthresh", "whole bytes or None")?;
        self.stance = Stance {
            cwnd,
            pacing_rate: rate.map(Rate),
            send_quantum: custom.read(py, "send_quantum", "whole bytes")?,
            next_timer,
        };
        Ok(())
    }

    /// When the timer is due. A time that has passed is refused, unless it was set before and the
    /// timer is still to be called.
    fn read_next_timer(&self, py: Python<'_>, now: Instant) -> PyResult<Option<Instant>> {
        if self.on_timer.is_none() {
            return Ok(None);
        }
        let next = self.custom.read_time(py, "next_timer")?;
        match next {
            Some(at) if at <= now && next != self.stance.next_timer => {
                Err(refuse_past("next_timer", at, now))
            }
            _ => Ok(next),
        }
    }

    /// Calls a method, if the class has it, and reads what the control wants then.
    fn call(
        &mut self,
        method: fn(&Self) -> &Option<Py<PyAny>>,
        now: Option<Instant>,
        args: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
    ) {
        if self.has_failed || method(self).is_none() {
            return;
        }
        Python::attach(|py| {
            let Some(method) = method(self).as_ref().map(|method| method.clone_ref(py)) else {
                return;
            };
            let call = || -> PyResult<()> {
                method.bind(py).call1(args(py)?)?;
                Ok(())
            };
            let result = call().and_then(|()| self.read_stance(py, now.unwrap_or(Instant::ZERO)));
            if let Err(error) = result {
                self.has_failed = true;
                self.stance.next_timer = None;
                self.custom.fail(py, &error, Some(&method));
            }
        });
    }
}

impl CongestionControl for Control {
    fn on_handshake(&mut self, rtt: Duration) {
        self.call(
            |own| &own.on_handshake,
            None,
            |py| (rtt.as_nanos(),).into_pyobject(py),
        );
    }

    fn on_sent(&mut self, now: Instant, bytes: u64, in_flight: u64) {
        let args = (now.as_nanos(), bytes, in_flight);
        self.call(|own| &own.on_sent, Some(now), |py| args.into_pyobject(py));
    }

    fn on_ack(&mut self, ack: &EngineSample) {
        self.call(
            |own| &own.on_ack,
            Some(ack.now),
            |py| (AckSample(*ack),).into_pyobject(py),
        );
    }

    fn on_congestion(&mut self, signal: EngineSignal, ack: &EngineSample) {
        let args = (CongestionSignal::from(signal), AckSample(*ack));
        self.call(
            |own| &own.on_congestion,
            Some(ack.now),
            |py| args.into_pyobject(py),
        );
    }

    fn on_spurious_congestion(&mut self) {
        self.call(
            |own| &own.on_spurious_congestion,
            None,
            |py| Ok(PyTuple::empty(py)),
        );
    }

    fn on_recovered(&mut self, ack: &EngineSample) {
        self.call(
            |own| &own.on_recovered,
            Some(ack.now),
            |py| (AckSample(*ack),).into_pyobject(py),
        );
    }

    fn on_idle(&mut self, restart_window: u64) {
        self.call(
            |own| &own.on_idle,
            None,
            |py| (restart_window,).into_pyobject(py),
        );
    }

    fn on_timer(&mut self, now: Instant) {
        self.stance.next_timer = None;
        self.call(
            |own| &own.on_timer,
            Some(now),
            |py| (now.as_nanos(),).into_pyobject(py),
        );
    }

    fn next_timer(&self) -> Option<Instant> {
        self.stance.next_timer
    }

    fn repairs_in_slow_start(&self) -> bool {
        self.repairs_in_slow_start
    }

    fn is_scalable(&self) -> bool {
        self.is_scalable
    }

    fn cwnd(&self) -> u64 {
        self.stance.cwnd
    }

    fn ssthresh(&self) -> Option<u64> {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.stance.pacing_rate
    }

    fn send_quantum(&self) -> u64 {
        self.stance.send_quantum
    }
}
