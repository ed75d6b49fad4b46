//! What a waiting caller's registers point at: strings, addresses, flags. Nothing here may be trusted for a decision,
//! since another thread may rewrite it; it is what the record says was asked for.

use std::ffi::OsString;
use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

const LONGEST_PATH: usize = 4096;
const PAGE: u64 = 4096;

/// The memory of one waiting process.
pub(super) struct Memory(File);

impl Memory {
    pub(super) fn of(pid: u32) -> Option<Self> {
        File::open(format!("/proc/{pid}/mem")).ok().map(Self)
    }

    fn bytes(&self, address: u64, buffer: &mut [u8]) -> Option<usize> {
        self.0.read_at(buffer, address).ok().filter(|count| *count > 0)
    }

    /// A null-terminated path; at most as long as the kernel takes one.
    pub(super) fn path(&self, address: u64) -> Option<PathBuf> {
        let mut path = Vec::new();
        while path.len() < LONGEST_PATH {
            let at = address.checked_add(path.len() as u64)?;
            // One page at a time: the next one may not exist.
            let mut page = [0u8; PAGE as usize];
            let room = (PAGE - at % PAGE) as usize;
            let count = self.bytes(at, &mut page[..room])?;
            match page[..count].iter().position(|byte| *byte == 0) {
                Some(end) => {
                    path.extend_from_slice(&page[..end]);
                    return Some(PathBuf::from(OsString::from_vec(path)));
                }
                None => path.extend_from_slice(&page[..count]),
            }
        }
        // Too long for the kernel as well: it will answer ENAMETOOLONG.
        Some(PathBuf::from(OsString::from_vec(path)))
    }

    /// A 64-bit word.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let mut word = [0u8; 8];
        (self.bytes(address, &mut word)? == 8).then(|| u64::from_ne_bytes(word))
    }

    /// A socket address of `length` bytes.
    pub(super) fn address(&self, address: u64, length: u64) -> Option<Addressed> {
        let mut raw = [0u8; 128];
        let length = usize::try_from(length).ok()?.min(raw.len());
        let count = self.bytes(address, &mut raw[..length])?;
        parse_address(&raw[..count])
    }
}

/// What a socket address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Addressed {
    /// A unix socket in the file system.
    Path(PathBuf),
    /// An abstract unix socket.
    Abstract(String),
    /// An internet address.
    Internet(SocketAddr),
    /// Another family, or nothing at all.
    Other(u16),
}

fn parse_address(raw: &[u8]) -> Option<Addressed> {
    let family = u16::from_ne_bytes([*raw.first()?, *raw.get(1)?]);
    let port = || Some(u16::from_be_bytes([*raw.get(2)?, *raw.get(3)?]));
    match i32::from(family) {
        libc::AF_UNIX => Some(unix_address(&raw[2..])),
        libc::AF_INET => {
            let octets: [u8; 4] = raw.get(4..8)?.try_into().ok()?;
            Some(Addressed::Internet((Ipv4Addr::from(octets), port()?).into()))
        }
        libc::AF_INET6 => {
            let octets: [u8; 16] = raw.get(8..24)?.try_into().ok()?;
            Some(Addressed::Internet((Ipv6Addr::from(octets), port()?).into()))
        }
        _ => Some(Addressed::Other(family)),
    }
}

fn unix_address(name: &[u8]) -> Addressed {
    match name.first() {
        None => Addressed::Other(libc::AF_UNIX as u16),
        Some(0) => Addressed::Abstract(format!("@{}", String::from_utf8_lossy(&name[1..]))),
        Some(_) => {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            Addressed::Path(PathBuf::from(OsString::from_vec(name[..end].to_vec())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_is_read_as_a_supervisor_reads_it() {
        let memory = Memory::of(std::process::id()).unwrap();
        let text = c"/work space/\xff";
        let path = memory.path(text.as_ptr() as u64).unwrap();
        assert_eq!(path.as_os_str().as_encoded_bytes(), text.to_bytes());
        assert_eq!(memory.path(8), None, "nothing is mapped there");
        let word = 0x0102_0304_0506_0708u64;
        assert_eq!(memory.word(std::ptr::from_ref(&word) as u64), Some(word));
    }

    #[test]
    fn addresses_of_each_family() {
        let mut unix = vec![1, 0];
        unix.extend(b"/run/docker.sock\0junk");
        assert_eq!(parse_address(&unix), Some(Addressed::Path("/run/docker.sock".into())));
        assert_eq!(parse_address(b"\x01\x00\x00name"), Some(Addressed::Abstract("@name".into())));
        let inet = [2, 0, 0x1f, 0x90, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let expected: SocketAddr = "127.0.0.1:8080".parse().unwrap();
        assert_eq!(parse_address(&inet), Some(Addressed::Internet(expected)));
        assert_eq!(parse_address(&[16, 0]), Some(Addressed::Other(16)));
        assert_eq!(parse_address(&[2]), None);
        assert_eq!(parse_address(&inet[..6]), None);
    }
}
