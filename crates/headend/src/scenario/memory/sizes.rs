//! What parts of a run take, as measured from the engine to the report.

/// Bytes of a row of a table, from the engine to the report, with all copies held at the same time.
pub(super) const FLOW_ROW: f64 = 360.0;
pub(super) const QUEUE_ROW: f64 = 420.0;
pub(super) const CONNECTION_ROW: f64 = 320.0;
pub(super) const SAMPLE_ROW: f64 = 330.0;
pub(super) const HISTOGRAM_ROW: f64 = 400.0;
/// Rows of the histogram of a busy flow direction or queue.
pub(super) const HISTOGRAM_ROWS: f64 = 120.0;
/// Octaves of values in which the delays of a busy flow direction or queue lie, and the bytes of
/// the counts of one.
pub(super) const OCTAVES: f64 = 6.0;
pub(super) const OCTAVE: f64 = 8192.0;

/// Bytes of a packet that waits, with the growth of what holds it.
pub(super) const PACKET: f64 = 120.0;
/// Bytes of a TCP segment that is outstanding: on the scoreboard, on its way, and out of order at
/// the receiver.
pub(super) const SEGMENT: f64 = 200.0;
/// Bytes of a TCP connection, of a remote host with its routes, of a flow, of a modem or station.
pub(super) const CONNECTION: f64 = 6_000.0;
pub(super) const PEER: f64 = 1_000.0;
pub(super) const FLOW: f64 = 4_000.0;
pub(super) const CUSTOMER: f64 = 25_000.0;
/// Bytes of a packet that is replayed and of a delivery opportunity, with their texts in results.
pub(super) const REPLAYED: f64 = 100.0;
pub(super) const OPPORTUNITY: f64 = 150.0;
/// Captured packets that wait to be written: their bytes when they are written, and the packets
/// that one step of a run may add to them, with all copies.
pub(super) const CAPTURED: f64 = 100e6;
pub(super) const CAPTURED_AT_ONCE: f64 = 40_000.0;

/// Seconds of what is sent that may come to a queue at once.
pub(super) const TOGETHER: f64 = 0.1;
