//! A recording: the arrivals of a run as a file, written by a thread of its own.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

use headend::clock::{RealHost, RealHostId};
use headend::scenario::Scenario;
use headend::time::Instant;
use headend::wire::recording::{self, Digest, End, Ends, Writer};

use crate::error::Error;

/// Bytes that are handed to the thread together.
const PIECE: usize = 1 << 16;
/// Pieces that wait for the disk, at most: 128 MiB. Then the loop waits too, and is late.
const MOST_PIECES: usize = 1 << 11;

/// Writes arrivals to a file.
pub(crate) struct Recorder {
    path: PathBuf,
    writer: Writer,
    pieces: SyncSender<Vec<u8>>,
    /// Gives the file, and the checksum of what was written to it.
    thread: JoinHandle<io::Result<(File, Digest)>>,
}

impl Recorder {
    /// Makes the file of a recording, with the scenario and the real hosts in their order.
    pub(crate) fn create(
        path: &Path,
        scenario: &Scenario,
        seed: u64,
        hosts: &[RealHost],
        snaplen: u32,
    ) -> Result<Self, Error> {
        let mut file = File::create(path).map_err(|error| cannot_write(path, &error))?;
        let (pieces, received) = mpsc::sync_channel::<Vec<u8>>(MOST_PIECES);
        let write = move || {
            let mut blocks = Digest::START;
            for piece in received {
                file.write_all(&piece)?;
                recording::checksum(&mut blocks, &piece);
            }
            Ok((file, blocks))
        };
        let thread = thread::Builder::new().name("recorder".to_owned());
        let thread = thread.spawn(write);
        let thread = thread.map_err(|error| Error::of("start a thread", &error))?;
        let names = hosts.iter().map(|host| host.name.as_str());
        let mut recorder = Self {
            path: path.to_owned(),
            writer: Writer::new(seed, &scenario.to_json(), names, snaplen),
            pieces,
            thread,
        };
        recorder.pass_on();
        Ok(recorder)
    }

    pub(crate) fn record(&mut self, at: Instant, from: RealHostId, bytes: &[u8]) {
        self.writer.arrival(at, from.0, bytes);
        if self.writer.bytes() >= PIECE {
            self.pass_on();
        }
    }

    /// Hands what was recorded so far to the thread, so that little is lost if the run is killed.
    pub(crate) fn pass_on(&mut self) {
        if self.writer.bytes() > 0 {
            // Without a receiver the thread has failed: `finish` says why.
            let _ = self.pieces.send(self.writer.take());
        }
    }

    /// Completes the file: the run ended at `end`, and its frames so.
    pub(crate) fn finish(mut self, end: Instant, frames: Ends) -> Result<(), Error> {
        self.pass_on();
        drop(self.pieces);
        let written = self.thread.join();
        let written =
            written.map_err(|_| Error::new("internal error: the recorder's thread has failed"))?;
        let completed = written.and_then(|(mut file, blocks)| {
            self.writer.end(&End {
                end_ns: end.as_nanos(),
                frames,
                blocks,
            });
            file.write_all(&self.writer.take())?;
            file.flush()
        });
        completed.map_err(|error| cannot_write(&self.path, &error))
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    Error::of(&format!("write the recording {}", path.display()), error)
}
