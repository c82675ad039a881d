//! Interface of a network device for the loop, so that the loop can also run between two sockets.

use std::io;
use std::os::fd::AsFd;

/// One end of a path: whole IPv4 packets out and in. Reading and writing never block; the
/// descriptor is readable when there is a packet to read.
pub trait Port: AsFd {
    /// Reads the next packet and returns its length; `None` if there is none. A packet longer than
    /// `buffer` is cut.
    ///
    /// # Errors
    /// If nothing can be read any more.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Sends a packet to the other side; returns `false` if there was no room for it, and it is
    /// lost.
    ///
    /// # Errors
    /// If this packet cannot be written.
    fn write(&mut self, packet: &[u8]) -> io::Result<bool>;
}

impl Port for crate::device::Device {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        crate::device::Device::read(self, buffer)
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        crate::device::Device::write(self, packet)
    }
}

impl<P: Port> Port for &mut P {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        P::read(self, buffer)
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        P::write(self, packet)
    }
}
