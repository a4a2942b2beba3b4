//! A TUN: the interface of a real host, whose frames the loop reads and writes.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use rustix::io::Errno;

use crate::error::{Error, describe};
use crate::system;

/// The file through which the kernel hands out TUNs.
pub(crate) const DEVICE: &str = "/dev/net/tun";
/// What the interface of a real host is called.
pub(crate) const NAME: &str = "headend";

/// The interface of a real host.
#[derive(Debug)]
pub(crate) struct Tun(File);

impl Tun {
    /// A new interface in the network namespace of the calling thread, not yet configured.
    pub(crate) fn open() -> Result<Self, Error> {
        let device = open_device()?;
        system::become_tun(&device, NAME)
            .map_err(|error| Error::of("make a TUN interface", &error))?;
        Ok(Self(device))
    }

    /// Reads the next frame into `buffer`. Without one the error is `Errno::AGAIN`.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> rustix::io::Result<usize> {
        rustix::io::read(&self.0, buffer)
    }

    /// Gives a frame to the host. False if the kernel had no room for it or refused it.
    pub(crate) fn write(&self, frame: &[u8]) -> io::Result<bool> {
        match rustix::io::write(&self.0, frame) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::INVAL | Errno::IO) => {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Opens the device of all TUNs, or says what is missing.
pub(crate) fn open_device() -> Result<File, Error> {
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(DEVICE);
    opened.map_err(|error| {
        // A device file whose driver is not loaded gives one of the two numbers.
        let has_no_driver = matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ENXIO));
        Error::new(match error.kind() {
            _ if has_no_driver => {
                format!("{DEVICE} has no driver: load the kernel's module (`sudo modprobe tun`)")
            }
            io::ErrorKind::NotFound => format!(
                "{DEVICE} is missing: load the kernel's module (`sudo modprobe tun`), or let the \
                 container have the device (`--device {DEVICE}`)"
            ),
            io::ErrorKind::PermissionDenied => format!(
                "{DEVICE} may not be opened by this user: allow it (`sudo chmod 0666 {DEVICE}`) or \
                 run as root"
            ),
            _ => format!("cannot open {DEVICE}: {}", describe(&error)),
        })
    })
}
