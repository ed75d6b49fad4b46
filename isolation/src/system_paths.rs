//! The system's part of every cell's policy: what programs need to start at all, listed one by one.
//!
//! Found from the refused opens of sh, git, gcc, cargo, python and node. `/etc` is never granted whole (uid 0 without
//! capabilities still owns `/etc/shadow`), nor `/etc/ssl` (private keys), nor `/dev`. `/proc` is granted whole because
//! the paths of future processes cannot be listed; what that shows is named among the gaps. `/etc/gitconfig` is left
//! out, since it may hold credentials: whoever starts an agent sets `GIT_CONFIG_NOSYSTEM=1`, or git gives up on it.

use std::path::PathBuf;
use std::sync::OnceLock;

/// Trees and files that every cell may read and execute.
const READABLE: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/etc/alternatives",
    "/etc/ca-certificates/extracted",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/profile",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];

/// Devices that every cell may read and write, one by one.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The readable list without what this machine does not have.
pub(crate) fn readable() -> impl Iterator<Item = PathBuf> {
    existing(READABLE)
}

/// The device list without what this machine does not have.
pub(crate) fn devices() -> impl Iterator<Item = PathBuf> {
    existing(DEVICES)
}

fn existing(list: &'static [&'static str]) -> impl Iterator<Item = PathBuf> {
    list.iter().map(PathBuf::from).filter(|path| path.exists())
}

/// Where the system's part of the policy really lies on this machine: links resolved, sorted, each once.
///
/// Looked up once a process; the launcher does so before it forks, and its cells inherit the answer.
pub fn granted_system_paths() -> Vec<PathBuf> {
    static PATHS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let look = || {
        let mut paths: Vec<PathBuf> =
            readable().chain(devices()).filter_map(|path| path.canonicalize().ok()).collect();
        paths.sort();
        paths.dedup();
        paths
    };
    PATHS.get_or_init(look).clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn nothing_secret_is_granted_with_the_system() {
        let granted = granted_system_paths();
        for secret in
            ["/etc/shadow", "/etc/ssl/private/key.pem", "/root/.ssh", "/home", "/tmp", "/dev/sda", "/var"]
        {
            let below = granted.iter().find(|path| Path::new(secret).starts_with(path));
            assert_eq!(below, None, "{secret}");
        }
        assert!(granted.contains(&PathBuf::from("/usr")));
    }
}
