//! For tests: a server that sends scripted answers.

use crate::server::ServerTarget;
use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;

/// A server for one connection.
pub struct Script {
    directory: tempfile::TempDir,
    server: JoinHandle<Vec<Vec<u8>>>,
}

impl Script {
    /// Sends a greeting, and then answers each received packet with the given packets.
    pub fn new(plugin: &str, capabilities: u32, answers: Vec<Vec<Vec<u8>>>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("socket")).unwrap();
        let greeting = greeting(plugin, capabilities);
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut heard = Vec::new();
            send(&mut stream, 0, &[greeting]);
            for answer in answers {
                let Some((number, payload)) = receive(&mut stream) else {
                    break;
                };
                heard.push(payload);
                send(&mut stream, number.wrapping_add(1), &answer);
            }
            heard
        });
        Self { directory, server }
    }

    /// The target to connect to.
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

    /// The packets it received, once the connection is closed.
    pub fn heard(self) -> Vec<Vec<u8>> {
        self.server.join().unwrap()
    }
}

/// An OK packet outside a transaction.
pub fn ok() -> Vec<u8> {
    vec![0, 0, 0, 2, 0, 0, 0]
}

/// The nonce of the greeting.
pub const NONCE: &[u8; 20] = b"abcdefghijklmnopqrst";

/// The greeting of a server with these capabilities.
pub fn greeting(plugin: &str, capabilities: u32) -> Vec<u8> {
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

/// Packets with headers, numbered from `number` on.
pub fn framed(number: u8, packets: &[Vec<u8>]) -> Vec<u8> {
    let heads = (0_u32..).zip(packets).map(|(at, packet)| {
        let head = packet.len() as u32 | u32::from(number.wrapping_add(at as u8)) << 24;
        [&head.to_le_bytes()[..], packet].concat()
    });
    heads.collect::<Vec<_>>().concat()
}

fn send(stream: &mut UnixStream, number: u8, packets: &[Vec<u8>]) {
    stream.write_all(&framed(number, packets)).unwrap();
}

/// Packets with a valid first byte and random contents.
pub fn any_packets() -> impl proptest::strategy::Strategy<Value = Vec<Vec<u8>>> {
    use proptest::prelude::*;
    let first = prop_oneof![
        Just(0x00),
        Just(0x01),
        Just(0x02),
        Just(0xfb),
        Just(0xfe),
        Just(0xff),
        any::<u8>()
    ];
    let rest = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40),
        // Small numbers, so that lengths and counts are sometimes valid.
        proptest::collection::vec(0_u8..6, 0..40),
        // A column's definition.
        proptest::collection::vec(any::<u8>(), 13).prop_map(|mut end| {
            end[0] = 0x0c;
            end
        }),
    ];
    let packet = (first, rest).prop_map(|(first, rest)| [&[first][..], &rest].concat());
    proptest::collection::vec(packet, 0..8)
}

fn receive(stream: &mut UnixStream) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).ok()?;
    let mut payload = vec![0; usize::from(head[0]) | usize::from(head[1]) << 8];
    stream.read_exact(&mut payload).ok()?;
    Some((head[3], payload))
}
