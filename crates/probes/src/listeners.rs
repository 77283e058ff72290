//! The process that listens on a socket of this machine.

use procfs::net::{TcpState, UnixState, tcp, tcp6, unix};
use procfs::process::{FDTarget, all_processes};
use std::path::Path;

/// The process that listens on a TCP port of this machine, if `names` contains its name. `None` if it belongs to another
/// user.
pub fn tcp_listener(port: u16, names: &[&str]) -> Option<u32> {
    let entries = tcp().into_iter().chain(tcp6()).flatten();
    let inodes: Vec<u64> = entries
        .filter(|entry| entry.state == TcpState::Listen && entry.local_address.port() == port)
        .map(|entry| entry.inode)
        .collect();
    holder(&inodes, names)
}

/// The same for a Unix socket.
pub fn unix_listener(path: &Path, names: &[&str]) -> Option<u32> {
    let entries = unix().ok()?.into_iter();
    let inodes: Vec<u64> = entries
        .filter(|entry| entry.path.as_deref() == Some(path) && entry.state == UnixState::UNCONNECTED)
        .map(|entry| entry.inode)
        .collect();
    holder(&inodes, names)
}

/// The oldest process with a name in `names` that holds a socket in `inodes`. A server's children may hold it, too.
fn holder(inodes: &[u64], names: &[&str]) -> Option<u32> {
    if inodes.is_empty() {
        return None;
    }
    let holders = all_processes().ok()?.flatten().filter_map(|process| {
        let stat = process.stat().ok()?;
        if !names.contains(&stat.comm.as_str()) {
            return None;
        }
        let holds = process
            .fd()
            .ok()?
            .flatten()
            .any(|each| matches!(each.target, FDTarget::Socket(inode) if inodes.contains(&inode)));
        holds.then_some((stat.starttime, process.pid))
    });
    holders.min().and_then(|(_, pid)| u32::try_from(pid).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    fn own_name() -> String {
        procfs::process::Process::myself().unwrap().stat().unwrap().comm
    }

    #[test]
    fn listeners_are_known_by_port_or_path() {
        let (name, pid) = (own_name(), std::process::id());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(tcp_listener(port, &[&name]), Some(pid));
        assert_eq!(tcp_listener(port, &["another"]), None);
        drop(listener);
        assert_eq!(tcp_listener(port, &[&name]), None);

        let path = std::env::temp_dir().join(format!("dbdyno-listener-{pid}"));
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(unix_listener(&path, &[&name]), Some(pid));
        std::fs::remove_file(&path).unwrap();
        drop(listener);
        assert_eq!(unix_listener(&path, &[&name]), None);
    }
}
