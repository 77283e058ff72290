//! For tests: a server that says what it was told to say, whatever it hears.

use crate::server::ServerTarget;
use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;

/// A server of one connection.
pub struct Script {
    directory: tempfile::TempDir,
    server: JoinHandle<Vec<Vec<u8>>>,
}

impl Script {
    /// A server that greets, and then answers each packet it gets with some of its own.
    pub fn new(plugin: &str, capabilities: u32, answers: Vec<Vec<Vec<u8>>>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("socket")).unwrap();
        let greeting = greeting(plugin, capabilities);
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut heard = Vec::new();
            say(&mut stream, 0, &[greeting]);
            for answer in answers {
                let Some((number, payload)) = hear(&mut stream) else {
                    break;
                };
                heard.push(payload);
                say(&mut stream, number.wrapping_add(1), &answer);
            }
            heard
        });
        Self { directory, server }
    }

    /// Where it is.
    pub fn target(&self, password: &str) -> ServerTarget {
        ServerTarget {
            host: self.directory.path().join("socket").to_str().unwrap().to_owned(),
            port: 0,
            user: "me".into(),
            password: Some(password.into()),
            database: "d".into(),
            read_only: false,
            session: Vec::new(),
            tls: None,
            process: None,
        }
    }

    /// What it heard, when the connection is over.
    pub fn heard(self) -> Vec<Vec<u8>> {
        self.server.join().unwrap()
    }
}

/// An OK packet of a session outside of a transaction.
pub fn ok() -> Vec<u8> {
    vec![0, 0, 0, 2, 0, 0, 0]
}

/// The nonce of the greeting.
pub const NONCE: &[u8; 20] = b"abcdefghijklmnopqrst";

fn greeting(plugin: &str, capabilities: u32) -> Vec<u8> {
    let mut packet = b"\x0a8.4.0-test\0".to_vec();
    packet.extend_from_slice(&7u32.to_le_bytes());
    packet.extend_from_slice(&NONCE[..8]);
    packet.push(0);
    packet.extend_from_slice(&capabilities.to_le_bytes()[..2]);
    packet.extend_from_slice(&[45, 2, 0]);
    packet.extend_from_slice(&capabilities.to_le_bytes()[2..]);
    packet.push(21);
    packet.extend_from_slice(&[0; 10]);
    packet.extend_from_slice(&NONCE[8..]);
    packet.push(0);
    packet.extend_from_slice(plugin.as_bytes());
    packet.push(0);
    packet
}

fn say(stream: &mut UnixStream, mut number: u8, packets: &[Vec<u8>]) {
    for packet in packets {
        let head = packet.len() as u32 | u32::from(number) << 24;
        stream.write_all(&head.to_le_bytes()).unwrap();
        stream.write_all(packet).unwrap();
        number = number.wrapping_add(1);
    }
}

fn hear(stream: &mut UnixStream) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).ok()?;
    let mut payload = vec![0; usize::from(head[0]) | usize::from(head[1]) << 8];
    stream.read_exact(&mut payload).ok()?;
    Some((head[3], payload))
}
