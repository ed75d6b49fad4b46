//! The text of the kernel's two Landlock records, and of the record of the system call that was refused.
//!
//! ```text
//! 1423 audit(1764540000.123:42): domain=1c9f9b274 blockers=fs.read_file path="/x" dev="vda" ino=7
//! 1424 audit(1764540000.123:42): domain=1c9f9b274 status=allocated mode=enforcing pid=4843 uid=0 exe="/x" comm="sh"
//! 1424 audit(1764540000.123:43): domain=1c9f9b274 status=deallocated denials=13
//! 1300 audit(1764540000.123:42): arch=c000003e syscall=257 success=no … pid=16238 … comm="ls" exe="/usr/bin/ls" key=(null)
//! ```
//! What belongs together has the same number behind the colon.
//!
//! A value that holds a quote, a space or a control character is written by the kernel as hex digits without quotes.

use std::path::PathBuf;

use crate::attempt::{Act, Attempt, Target};

/// Number of a denial's record.
pub(super) const ACCESS: u16 = 1423;
/// Number of a domain's record.
pub(super) const DOMAIN: u16 = 1424;
/// Number of a system call's record.
pub(super) const CALL: u16 = 1300;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// Something was refused.
    Denied {
        /// The domain that refused it.
        domain: u64,
        /// The number that its system call's record has as well.
        serial: u64,
        /// What was refused.
        attempt: Attempt,
    },
    /// A system call, whatever it was.
    Call {
        /// The number that records of it share.
        serial: u64,
        /// Name of the process.
        process: String,
    },
    /// A domain has its first refusal.
    Allocated {
        /// Which.
        domain: u64,
        /// The process that restricted itself.
        pid: Option<u32>,
    },
    /// A domain is gone.
    Deallocated {
        /// Which.
        domain: u64,
        /// How many refusals the kernel counted.
        denials: u64,
    },
}

/// `None` = not one of ours, or not as we know it.
pub fn parse(number: u16, text: &str) -> Option<Record> {
    let fields = Fields(text);
    if number == CALL {
        return Some(Record::Call { serial: serial(text)?, process: fields.value("comm")? });
    }
    let domain = u64::from_str_radix(fields.get("domain")?, 16).ok()?;
    match number {
        ACCESS => Some(Record::Denied { domain, serial: serial(text)?, attempt: denied(&fields)? }),
        DOMAIN => match fields.get("status")? {
            "allocated" => Some(Record::Allocated { domain, pid: fields.get("pid")?.parse().ok() }),
            "deallocated" => {
                Some(Record::Deallocated { domain, denials: fields.get("denials")?.parse().ok()? })
            }
            _ => None,
        },
        _ => None,
    }
}

/// The number behind the colon of the stamp.
fn serial(text: &str) -> Option<u64> {
    let stamp = text.split_once(')')?.0;
    stamp.rsplit_once(':')?.1.parse().ok()
}

fn denied(fields: &Fields<'_>) -> Option<Attempt> {
    let operation = fields.get("blockers")?.to_owned();
    let (act, target) = match operation.split(['.', ',']).next()? {
        "fs" => (fs_act(&operation), path(fields)),
        "net" => (Act::Connect, address(fields)),
        "scope" if operation.contains("abstract_unix_socket") => {
            let name = fields.value("path").map(|name| name.trim_start_matches('@').to_owned());
            (Act::Connect, Target::Address(format!("@{}", name.unwrap_or_default())))
        }
        "scope" | "ptrace" => (Act::Control, Target::Outsider(outsider(fields))),
        _ => (Act::Write, path(fields)),
    };
    Some(Attempt {
        act,
        operation,
        target,
        process: String::new(),
        denied: true,
        found: Some(true),
        count: 1,
    })
}

fn fs_act(blockers: &str) -> Act {
    let each = blockers.split(',');
    let act = |blocker: &str| match blocker {
        "fs.read_file" | "fs.read_dir" => Act::Read,
        "fs.execute" => Act::Execute,
        _ => Act::Write,
    };
    // The strongest of them.
    let acts: Vec<Act> = each.map(act).collect();
    [Act::Write, Act::Execute].into_iter().find(|strong| acts.contains(strong)).unwrap_or(Act::Read)
}

fn path(fields: &Fields<'_>) -> Target {
    match fields.value("path") {
        Some(path) if path.starts_with('/') => Target::Path(PathBuf::from(path)),
        Some(path) => Target::Address(path),
        // A change of the mount tree names what it would change by device and inode at best.
        None => Target::Outsider(format!("inode {} of {}", fields.text("ino"), fields.text("dev"))),
    }
}

fn address(fields: &Fields<'_>) -> Target {
    let host = fields.get("daddr").or_else(|| fields.get("saddr"));
    let port = fields.get("dest").or_else(|| fields.get("src")).unwrap_or("?");
    match host {
        Some(host) if host.contains(':') => Target::Address(format!("[{host}]:{port}")),
        Some(host) => Target::Address(format!("{host}:{port}")),
        None => Target::Address(format!("any:{port}")),
    }
}

fn outsider(fields: &Fields<'_>) -> String {
    let name = fields.value("ocomm").unwrap_or_default();
    format!("pid {} ({name})", fields.text("opid"))
}

/// `key=value` pairs after the stamp.
struct Fields<'a>(&'a str);

impl Fields<'_> {
    /// A plain value as it stands.
    fn get(&self, key: &str) -> Option<&str> {
        let mut rest = self.0;
        loop {
            let at = rest.find(key)?;
            let (before, after) = (&rest[..at], &rest[at + key.len()..]);
            let begins = before.is_empty() || before.ends_with(' ');
            match after.strip_prefix('=') {
                Some(value) if begins => return Some(value_of(value)),
                Some(_) | None => rest = after,
            }
        }
    }

    fn text(&self, key: &str) -> &str {
        self.get(key).unwrap_or("?")
    }

    /// A value that may be quoted, or written as hex digits.
    fn value(&self, key: &str) -> Option<String> {
        let raw = self.get(key)?;
        match raw.strip_prefix('"') {
            Some(quoted) => Some(quoted.trim_end_matches('"').to_owned()),
            None => Some(from_hex(raw).unwrap_or_else(|| raw.to_owned())),
        }
    }
}

fn value_of(value: &str) -> &str {
    let end = match value.strip_prefix('"') {
        Some(quoted) => quoted.find('"').map_or(value.len(), |end| end + 2),
        None => value.find([' ', '\0', '\n']).unwrap_or(value.len()),
    };
    &value[..end]
}

fn from_hex(digits: &str) -> Option<String> {
    if digits.is_empty() || !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    let bytes: Option<Vec<u8>> =
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect();
    // An abstract socket's name starts with a null byte.
    Some(String::from_utf8_lossy(&bytes?).replace('\0', "@"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(text: &str) -> Attempt {
        match parse(ACCESS, text) {
            Some(Record::Denied { attempt, domain: 0x1c9f9b274, serial: _ }) => attempt,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_call_has_the_number_of_its_refusal_and_names_the_process() {
        let call = r#"audit(1796099179.349:431629): arch=c000003e syscall=257 success=no exit=-13 a0=ffffff9c items=1 ppid=16236 pid=16238 auid=4294967295 uid=64000 tty=(none) comm="ls" exe="/usr/bin/ls" key=(null)"#;
        assert_eq!(parse(CALL, call), Some(Record::Call { serial: 431_629, process: "ls".to_owned() }));
        let refused = r#"audit(1796099179.349:431629): domain=1f56922ae blockers=fs.read_dir path="/verifier" dev="tmpfs" ino=25"#;
        assert!(matches!(parse(ACCESS, refused), Some(Record::Denied { serial: 431_629, .. })));
        let spaced = "audit(1.1:9): syscall=257 comm=6120220A exe=\"/x\"";
        assert_eq!(parse(CALL, spaced), Some(Record::Call { serial: 9, process: "a \"\n".to_owned() }));
    }

    #[test]
    fn denials_as_the_kernel_writes_them() {
        let file = attempt(
            r#"audit(1764540000.123:42): domain=1c9f9b274 blockers=fs.read_file path="/state/b/answer.txt" dev="vda" ino=10854623"#,
        );
        assert_eq!((file.act, file.target.text()), (Act::Read, "/state/b/answer.txt".to_owned()));
        assert_eq!(file.operation, "fs.read_file");
        let hex = attempt(
            "audit(1.1:1): domain=1c9f9b274 blockers=fs.make_reg,fs.refer path=2F6120220A dev=\"vda\" ino=2",
        );
        assert_eq!((hex.act, hex.target.path().unwrap().to_str()), (Act::Write, Some("/a \"\n")));
        let tcp = attempt("audit(1.1:1): domain=1c9f9b274 blockers=net.connect_tcp daddr=127.0.0.1 dest=9");
        assert_eq!((tcp.act, tcp.target.text()), (Act::Connect, "127.0.0.1:9".to_owned()));
        let six = attempt("audit(1.1:1): domain=1c9f9b274 blockers=net.connect_tcp daddr=::1 dest=80");
        assert_eq!(six.target.text(), "[::1]:80");
        let bind = attempt("audit(1.1:1): domain=1c9f9b274 blockers=net.bind_tcp src=4444");
        assert_eq!(bind.target.text(), "any:4444");
        let signal = attempt("audit(1.1:1): domain=1c9f9b274 blockers=scope.signal opid=1 ocomm=\"init\"");
        assert_eq!((signal.act, signal.target.text()), (Act::Control, "pid 1 (init)".to_owned()));
        let ptrace = attempt("audit(1.1:1): domain=1c9f9b274 blockers=ptrace opid=77 ocomm=\"bench\"");
        assert_eq!(ptrace.act, Act::Control);
        let socket =
            attempt("audit(1.1:1): domain=1c9f9b274 blockers=scope.abstract_unix_socket path=0068617264");
        assert_eq!((socket.act, socket.target.text()), (Act::Connect, "@hard".to_owned()));
    }

    #[test]
    fn domains_come_and_go() {
        let text = r#"audit(1.1:1): domain=1c9f9b274 status=allocated mode=enforcing pid=4843 uid=0 exe="/x" comm="cellrun""#;
        assert_eq!(parse(DOMAIN, text), Some(Record::Allocated { domain: 0x1c9f9b274, pid: Some(4843) }));
        let text = "audit(1.1:1): domain=1c9f9b274 status=deallocated denials=13";
        assert_eq!(parse(DOMAIN, text), Some(Record::Deallocated { domain: 0x1c9f9b274, denials: 13 }));
    }

    #[test]
    fn a_path_that_looks_like_fields_stays_a_path() {
        let tricky = attempt(
            r#"audit(1.1:1): domain=1c9f9b274 blockers=fs.read_file path="/a=b,domain=9" dev="vda" ino=1"#,
        );
        assert_eq!(tricky.target.text(), "/a=b,domain=9");
    }

    #[test]
    fn what_is_not_ours_is_passed_over() {
        for text in ["", "domain=", "domain=xyz blockers=fs.read_file", "audit(1.1:1): domain=1 status=new"] {
            assert_eq!(parse(DOMAIN, text), None, "{text}");
        }
        assert_eq!(parse(1300, "audit(1.1:1): domain=1 status=deallocated denials=1"), None);
    }
}
