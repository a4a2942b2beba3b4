//! The queue of a service flow whose buffer and AQM a modem's file gives.
//!
//! The discipline stays the scenario's, as no file can say it, with three exceptions: a file whose
//! AQM encodings turn AQM on gets DOCSIS-PIE with their target or the default one, a drop-tail
//! queue gets the sizes of Buffer Control, and so does a DOCSIS-PIE queue whose AQM is disabled.
//! The parameters of the discipline stay, too, except for the buffer and the target.
//!
//! Bounds without a target (TLVs 35.1 and 35.3) bound the buffer that there is anyway: that of the
//! scenario's queue or, where the file puts another in its place, that of the modem's generation.

use serde_json::{Map, Value, json};

use crate::aqm::docsis_pie;
use crate::qdisc::QueueConfig;
use crate::scenario::cable::modem::modem_file::{Buffer, LatencyControl};
use crate::scenario::document::overrides::is_inside;
use crate::scenario::document::{Document, Place};
use crate::scenario::error::Origin;
use crate::scenario::queue::Queue;
use crate::time::Duration;
use crate::units::{ByteCount, Limit, Rate};

/// A queue, and the settings that a file gives it.
#[derive(Debug)]
pub(super) struct FileQueue {
    /// The path of its key.
    pub(super) path: String,
    /// The queue if the key is not there.
    pub(super) base: Value,
    /// The buffer that the modem has where nobody sets it.
    pub(super) unsaid: Option<Limit>,
    /// The sustained rate, if there is one.
    pub(super) rate: Option<Rate>,
    pub(super) buffer: Option<(Size, Place)>,
    pub(super) law: Option<(LatencyControl, Place)>,
    /// Its AQM is disabled: the queue is a buffer, whatever AQM the file gives.
    pub(super) is_aqm_disabled: bool,
    /// An override writes the queue.
    pub(super) is_set: bool,
    /// An override names the file.
    pub(super) is_override: bool,
}

/// How a file gives a buffer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Size {
    /// Least, target and most.
    Control(Buffer),
    /// A time at the faster of the sustained and the peak rate (TLV 68). The bytes are missing
    /// without a rate.
    Default {
        span: Duration,
        bytes: Option<ByteCount>,
        /// It is not the time at the sustained rate.
        is_in_bytes: bool,
    },
}

/// What a file has changed of a queue, as ends of sentences that begin with the path of its key.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) replaced: Vec<String>,
    pub(super) beside: Vec<String>,
    pub(super) notes: Vec<String>,
}

const DROP_TAIL: &str = "drop_tail";
pub(super) const BUFFER_CONTROL: &str = "buffer_control";
const DOCSIS_PIE: &str = "docsis_pie";

impl Document {
    /// Gives a queue the buffer and the AQM of a file.
    pub(super) fn fill_queue(&mut self, queue: &FileQueue) -> Outcome {
        let mut outcome = Outcome::default();
        let own = self.at(&queue.path).cloned();
        let Some((kind, table)) = split(own.as_ref().unwrap_or(&queue.base)) else {
            return outcome;
        };
        let Some(known) = QueueConfig::named(&kind) else {
            return outcome;
        };
        let is_own = own.is_some();
        let is_written = (own.as_ref()).is_some_and(|own| !self.is_default_queue(queue, own));
        let is_text = is_own && !queue.is_override;
        let keeps_kind = is_text || queue.is_set;
        let mut wanted = kind.clone();
        let mut place = None;
        if let Some((_, of_law)) = &queue.law
            && kind != DOCSIS_PIE
            && !queue.is_aqm_disabled
        {
            if keeps_kind {
                outcome.beside.push(format!(" ({kind}, not {DOCSIS_PIE})"));
            } else {
                DOCSIS_PIE.clone_into(&mut wanted);
                place = Some(of_law.clone());
            }
        }
        let buffer = queue.choose_size(&kind, &table, &wanted);
        if let (Some((Size::Control(bounds), _)), None) = (&queue.buffer, &buffer)
            && is_written
        {
            outcome.notes.push(format!(
                ": its buffer is within the bounds of the file ({}), and stays",
                bounds.show_bounds()
            ));
        }
        if let Some((Size::Control(_), of_buffer)) = &buffer
            && (wanted == DROP_TAIL || wanted == DOCSIS_PIE && queue.is_aqm_disabled)
            && !keeps_kind
        {
            BUFFER_CONTROL.clone_into(&mut wanted);
            place = Some(of_buffer.clone());
        }
        if wanted == kind {
            let of_file = || buffer.as_ref().map(|(_, place)| place.clone());
            let place = match own {
                Some(_) => self.places.get(&queue.path).cloned(),
                None => of_file().or_else(|| queue.law.as_ref().map(|(_, place)| place.clone())),
            };
            if !own.as_ref().is_some_and(Value::is_object) {
                self.set(&queue.path, json!({ &kind: table }), place);
            }
        } else {
            if own.is_some() {
                let limit = table
                    .get("limit")
                    .map_or(String::new(), |limit| format!(" of {}", show(limit)));
                let target = match &buffer {
                    Some((
                        Size::Control(Buffer {
                            target: Some(size), ..
                        }),
                        _,
                    )) if wanted == BUFFER_CONTROL => {
                        format!(" of {size}")
                    }
                    _ => String::new(),
                };
                let off = if queue.is_aqm_disabled {
                    ", AQM off"
                } else {
                    ""
                };
                outcome
                    .replaced
                    .push(format!(" ({kind}{limit} → {wanted}{target}{off})"));
            }
            self.set(&queue.path, json!({ &wanted: {} }), place);
        }
        let has_limit = wanted != kind || known.written_limit().is_some();
        for (key, value, place) in parameters(
            queue,
            buffer.as_ref(),
            &kind,
            &wanted,
            has_limit,
            &mut outcome,
        ) {
            self.set_parameter(
                queue,
                &format!("{wanted}.{key}"),
                value,
                place,
                is_text,
                &mut outcome,
            );
        }
        if !is_written {
            // The file has replaced only a default, or a queue of the modem's line.
            outcome.replaced.clear();
        }
        outcome
    }

    /// Whether a queue equals its default, and no line of the text sets it.
    fn is_default_queue(&self, queue: &FileQueue, own: &Value) -> bool {
        let is_of_text = |(path, place): (&String, &Place)| {
            (*path == queue.path || is_inside(path, &queue.path))
                && matches!(place.value, Origin::Text { .. })
        };
        let read = |value: &Value| serde_json::from_value::<Queue>(value.clone()).ok();
        let from = self.places.range(queue.path.clone()..);
        let mut alike = from.take_while(|(path, _)| path.starts_with(&queue.path));
        !alike.any(is_of_text) && read(own).is_some_and(|own| read(&queue.base) == Some(own))
    }

    /// Sets or removes a parameter of a queue, unless another value takes precedence.
    fn set_parameter(
        &mut self,
        queue: &FileQueue,
        key: &str,
        value: Option<Value>,
        place: Place,
        is_text: bool,
        outcome: &mut Outcome,
    ) {
        let path = format!("{}.{key}", queue.path);
        let found = self.at(&path).cloned();
        if found == value {
            return;
        }
        if let Some(found) = &found {
            if self.is_set_whole(&path) {
                return;
            }
            let shown = value.as_ref().map_or("none".to_owned(), show);
            if is_text {
                if value.is_some() {
                    outcome
                        .beside
                        .push(format!(".{key} ({}, not {shown})", show(found)));
                }
                return;
            }
            outcome
                .replaced
                .push(format!(".{key} ({} → {shown})", show(found)));
        }
        match value {
            Some(value) => self.set(&path, value, Some(place)),
            None => self.remove(&path),
        }
    }
}

impl FileQueue {
    /// How large the file makes the buffer of `wanted`, which is `kind` with the parameters `table`
    /// or stands in its place; nothing where the buffer stays as it is. A size within bounds alone
    /// is the one nearest to that of the queue as it would be without the file.
    fn choose_size(
        &self,
        kind: &str,
        table: &Map<String, Value>,
        wanted: &str,
    ) -> Option<(Size, Place)> {
        let (size, place) = self.buffer.as_ref()?;
        let Size::Control(bounds @ Buffer { target: None, .. }) = *size else {
            return Some((*size, place.clone()));
        };
        let own = self.rate.and_then(|rate| {
            let bytes = if wanted == kind {
                let written = serde_json::from_value::<Queue>(json!({ kind: table })).ok()?;
                written.0.limit_bytes(rate)
            } else {
                self.unsaid?.bytes_at(rate)
            };
            bytes.map(ByteCount)
        });
        let Some(own) = own else {
            return Some((*size, place.clone()));
        };
        let target = bounds.bound(own);
        (target != own).then(|| {
            let buffer = Buffer {
                target: Some(target),
                ..bounds
            };
            (Size::Control(buffer), place.clone())
        })
    }
}

/// The parameters of a discipline that a file sets, and, without a value, those that it removes:
/// those of `kind`, which stands in the place of the discipline `before`.
fn parameters(
    queue: &FileQueue,
    buffer: Option<&(Size, Place)>,
    before: &str,
    kind: &str,
    has_limit: bool,
    outcome: &mut Outcome,
) -> Vec<(&'static str, Option<Value>, Place)> {
    let mut found = Vec::new();
    if let Some((law, place)) = &queue.law
        && kind == DOCSIS_PIE
    {
        let default = docsis_pie::Config::default();
        let target = law.target.unwrap_or(default.target);
        found.push(("target", Some(json!(target)), place.clone()));
        if let (None, Some(limit)) = (buffer, queue.unsaid)
            && kind != before
            && limit != default.limit
        {
            found.push(("limit", Some(json!(limit)), place.clone()));
        }
    }
    match buffer {
        None => {}
        Some((Size::Control(buffer), place)) if kind == BUFFER_CONTROL => {
            for (key, size) in [
                ("minimum", buffer.minimum),
                ("target", buffer.target),
                ("maximum", buffer.maximum),
            ] {
                found.push((key, size.map(|size| json!(size)), place.clone()));
            }
        }
        Some((
            Size::Default {
                bytes: Some(size), ..
            },
            place,
        )) if kind == BUFFER_CONTROL => {
            found.push(("target", Some(json!(size)), place.clone()));
        }
        Some(_) if !has_limit || kind == BUFFER_CONTROL => {
            outcome.notes.push(format!(
                ": {kind} keeps its own buffer, not that of the file"
            ));
        }
        Some((
            Size::Default {
                span,
                bytes,
                is_in_bytes,
            },
            place,
        )) => {
            let in_bytes = bytes.filter(|_| *is_in_bytes).map(Limit::Bytes);
            let limit = in_bytes.unwrap_or(Limit::Time(*span));
            found.push(("limit", Some(json!(limit)), place.clone()));
        }
        Some((Size::Control(buffer), place)) => match within(*buffer) {
            Some(size) => found.push(("limit", Some(json!(Limit::Bytes(size))), place.clone())),
            None => outcome.notes.push(format!(
                ": the file gives no target buffer, so that {kind} keeps the scenario's"
            )),
        },
    }
    found
}

/// The target, within the bounds.
fn within(buffer: Buffer) -> Option<ByteCount> {
    buffer.target.map(|target| buffer.bound(target))
}

/// The name of a queue as it is written, and its parameters.
pub(super) fn split(queue: &Value) -> Option<(String, Map<String, Value>)> {
    match queue {
        Value::String(kind) => Some((kind.clone(), Map::new())),
        Value::Object(table) => {
            let (kind, parameters) = table.iter().next()?;
            Some((kind.clone(), parameters.as_object()?.clone()))
        }
        _ => None,
    }
}

/// A value of the scenario in a sentence.
pub(super) fn show(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(table) if table.len() > 1 => format!("a table of {} keys", table.len()),
        other => other.to_string(),
    }
}
