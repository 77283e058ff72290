//! Opens a connection: greeting, capabilities, TLS, and authentication.

use super::wire::{Wire, error, garbled, ok};
use crate::server::net::{Connection, FULL, LONGEST};
use crate::server::tls;
use crate::server::{ServerTarget, Tls};
use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use bytes::BufMut as _;
use dbdyno_engine::Failure;
use dbdyno_engine::time_limits::logged_in;
use dbdyno_protocol::plan::document::FailureKind;
use mysql_common::auth::plugins::{caching_sha2_password::scramble_sha256, mysql_native_password::scramble_native};
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, HandshakePacket, HandshakeResponse, SslRequest};
use mysql_common::proto::{MyDeserialize as _, MySerialize as _};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject as _;
use std::collections::HashMap;
use std::fmt::Display;

/// The character set and collation of the connection, `utf8mb4_general_ci`, also used in the handshake response.
const UTF8MB4: u8 = 45;

/// A connection that is ready for statements.
pub struct Begun {
    /// The connection.
    pub wire: Wire,
    /// The status flags of the server's first OK packet.
    pub status: u16,
}

/// Connects and logs in. `extra_capabilities`: in addition to those that every session has.
pub async fn begin(target: &ServerTarget, extra_capabilities: CapabilityFlags) -> Result<Begun, Failure> {
    let begun = async {
        let connection = if target.host.starts_with('/') {
            Connection::unix(&target.host).await?
        } else {
            Connection::tcp(&target.host, target.port).await?
        };
        log_in(Wire::new(connection), target, extra_capabilities).await
    };
    logged_in(begun).await.map_err(|failure| {
        failure.explained(|message| {
            let advice = if message.ends_with("(1040)") { FULL } else { "" };
            format!("connecting to {}: {message}{advice}", target.place())
        })
    })
}

async fn log_in(mut wire: Wire, target: &ServerTarget, extra_capabilities: CapabilityFlags) -> Result<Begun, Failure> {
    let place = wire.packet().await?;
    let body = wire.body(&place);
    if body.first() == Some(&0xff) {
        return Err(error(body));
    }
    let greeting = HandshakePacket::deserialize((), &mut ParseBuf(body)).map_err(|_| garbled())?;
    let there = greeting.capabilities();
    let needed = CapabilityFlags::CLIENT_PROTOCOL_41 | CapabilityFlags::CLIENT_SECURE_CONNECTION;
    if !there.contains(needed | CapabilityFlags::CLIENT_PLUGIN_AUTH) {
        let version = greeting.server_version_str();
        let message = format!("the server's version {version} is too old; 5.5.7 or later is required");
        return Err(Failure::new(FailureKind::Connection, message));
    }
    let mut password = Password {
        password: target.password.as_deref().unwrap_or("").as_bytes(),
        nonce: greeting.nonce(),
        plugin: match greeting.auth_plugin() {
            // If the server prefers another plugin, it requests it later with a new nonce.
            Some(AuthPlugin::CachingSha2Password) => AuthPlugin::CachingSha2Password,
            _ => AuthPlugin::MysqlNativePassword,
        },
    };
    let wanted = needed
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        // Set in the response below anyway, but MariaDB uses the flags of the TLS request.
        | CapabilityFlags::CLIENT_CONNECT_WITH_DB
        | CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_LONG_FLAG
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_FOUND_ROWS
        | CapabilityFlags::CLIENT_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
        | CapabilityFlags::CLIENT_DEPRECATE_EOF
        | CapabilityFlags::CLIENT_CONNECT_ATTRS
        | extra_capabilities;
    let mut capabilities = wanted & there;
    let attributes = there
        .contains(CapabilityFlags::CLIENT_CONNECT_ATTRS)
        .then(|| HashMap::from([("program_name".to_owned(), "dbdyno".to_owned())]));
    if let Some(tls) = target
        .tls
        .as_ref()
        .filter(|tls| !wire.connection.is_unix() && tls::is_wanted(Some(tls)))
    {
        if there.contains(CapabilityFlags::CLIENT_SSL) {
            capabilities |= CapabilityFlags::CLIENT_SSL;
            encrypt(&mut wire, tls, &target.host, capabilities).await?;
        } else {
            tls::without(Some(tls))?;
        }
    }
    let response = HandshakeResponse::new(
        Some(password.answer()?),
        // utf8mb4 exists since this version.
        (5, 5, 3),
        Some(target.user.as_bytes()),
        Some(target.database.as_bytes()),
        Some(password.plugin.clone()),
        capabilities,
        attributes,
        LONGEST as u32,
    );
    let mut payload = Vec::new();
    response.serialize(&mut payload);
    wire.deprecates_eof = capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF);
    reply(&mut wire, &payload).await?;
    loop {
        let place = wire.packet().await?;
        let body = wire.body(&place);
        let answer = match body {
            [0x00, ..] => {
                let status = ok(body)?.status;
                wire.longest = LONGEST;
                return Ok(Begun { wire, status });
            }
            [0xff, ..] => {
                let failure = error(body);
                if let Some(plugin) = password.unknown() {
                    return Err(failure.explained(|message| {
                        format!(
                            "{message}; it asked for the plugin `{plugin}`, as MySQL also does of users that it does \
                             not have, and dbdyno knows mysql_native_password and caching_sha2_password only"
                        )
                    }));
                }
                // MariaDB reports the same error if it only requires an encrypted connection.
                let bare = there.contains(CapabilityFlags::CLIENT_SSL) && !wire.connection.is_private();
                return Err(if bare && failure.message.ends_with("(1045, 28000)") {
                    failure.explained(|message| format!("{message}; it may require TLS, which was not used"))
                } else {
                    failure
                });
            }
            [0xfe, switch @ ..] => {
                password.switch(switch)?;
                password.answer()?
            }
            [0x01, more @ ..] => match password.more(more, wire.connection.is_private())? {
                Some(answer) => answer,
                None => continue,
            },
            _ => return Err(garbled()),
        };
        reply(&mut wire, &answer).await?;
    }
}

/// Requests TLS and performs the TLS handshake.
async fn encrypt(wire: &mut Wire, tls: &Tls, host: &str, capabilities: CapabilityFlags) -> Result<(), Failure> {
    let request = SslRequest::new(capabilities, LONGEST as u32, UTF8MB4);
    let mut payload = Vec::new();
    request.serialize(&mut payload);
    reply(wire, &payload).await?;
    wire.connection.encrypt(tls, host).await
}

async fn reply(wire: &mut Wire, payload: &[u8]) -> Result<(), Failure> {
    let start = wire.go_on();
    wire.connection.out.put_slice(payload);
    wire.end(start);
    wire.connection.flush().await
}

/// A password, and the data needed to prove it.
struct Password<'a> {
    password: &'a [u8],
    nonce: Vec<u8>,
    plugin: AuthPlugin<'static>,
}

impl Password<'_> {
    /// The proof that we know the password; empty without a password.
    fn answer(&self) -> Result<Vec<u8>, Failure> {
        let answer = match &self.plugin {
            AuthPlugin::MysqlNativePassword => scramble_native(&self.nonce, self.password).map(Vec::from),
            AuthPlugin::CachingSha2Password => {
                let nonce = self.nonce.first_chunk().ok_or_else(garbled)?;
                scramble_sha256(nonce, self.password).map(Vec::from)
            }
            // An empty password: the server's error is more helpful than the plugin's name.
            _ => Some(vec![0]),
        };
        Ok(answer.unwrap_or_default())
    }

    /// The plugin that the server requested, if it isn't supported.
    fn unknown(&self) -> Option<String> {
        match &self.plugin {
            AuthPlugin::MysqlNativePassword | AuthPlugin::CachingSha2Password => None,
            other => Some(String::from_utf8_lossy(other.as_bytes()).into_owned()),
        }
    }

    /// Handles the server's request for another plugin: its name, and a new nonce.
    fn switch(&mut self, switch: &[u8]) -> Result<(), Failure> {
        if switch.is_empty() {
            return Err(impossible(
                "the server requires the old password format from before version 4.1",
            ));
        }
        let end = switch.iter().position(|byte| *byte == 0).ok_or_else(garbled)?;
        self.plugin = AuthPlugin::from_bytes(&switch[..end]).into_owned();
        let nonce = &switch[end + 1..];
        self.nonce = nonce.strip_suffix(&[0]).unwrap_or(nonce).to_vec();
        Ok(())
    }

    /// Handles a message of `caching_sha2_password`: either the server knows the password's hash, or it needs the
    /// password.
    fn more(&self, more: &[u8], is_private: bool) -> Result<Option<Vec<u8>>, Failure> {
        if !matches!(self.plugin, AuthPlugin::CachingSha2Password) {
            return Err(garbled());
        }
        let mut password = self.password.to_vec();
        password.push(0);
        match more {
            [0x03] => Ok(None),
            // A Unix socket or TLS protects the password. Otherwise encrypt it with the server's public key, which we
            // request first.
            [0x04] if is_private => Ok(Some(password)),
            [0x04] => Ok(Some(vec![0x02])),
            key if !key.starts_with(b"-----BEGIN PUBLIC KEY-----") => Err(garbled()),
            key => {
                for (byte, mask) in password.iter_mut().zip(self.nonce.iter().cycle()) {
                    *byte ^= mask;
                }
                encrypt_for(key, &password)
                    .map(Some)
                    .ok_or_else(|| impossible("the server sent a public key that is not an RSA key"))
            }
        }
    }
}

/// Encrypts a password with a server's RSA key (PEM). `None` if the key is invalid.
fn encrypt_for(key: &[u8], password: &[u8]) -> Option<Vec<u8>> {
    let key = SubjectPublicKeyInfoDer::from_pem_slice(key).ok()?;
    let key = OaepPublicEncryptingKey::new(PublicEncryptingKey::from_der(&key).ok()?).ok()?;
    let mut room = vec![0; key.ciphertext_size()];
    let encrypted = key.encrypt(&OAEP_SHA1_MGF1SHA1, password, &mut room, None).ok()?;
    Some(encrypted.to_vec())
}

fn impossible(why: impl Display) -> Failure {
    Failure::new(FailureKind::Connection, why.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::script::{NONCE, Script, any_packets, framed, greeting, ok};
    use super::*;
    use crate::server::net::block_on;
    use proptest::prelude::*;

    const ALL: u32 = u32::MAX;

    const KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
                       MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA0p/F3FxEcPUj0ebexWR5\n\
                       dQXGc7wJgomIjd4G20hDuIF4jktb7/6zQwGANpryChDYmm9LplLJFP4Fm8I208+8\n\
                       7gpceTy6gf3r5Hvfl0VM1BGcit61uFERLo/yQmmKCFdCbS5aHddANVs2g3zMnoiX\n\
                       VUmXlDpfL/z6UpME8B/I4CBZ3du83G3yJMPOWNSDYFVrKF+8zbtlEiDfVfELNlMT\n\
                       8PkG15lDeHk8dR9cfHXgsliXHOGNRr/hA1OIrc2SzdJ4d9oV43ZZoJ8Fhza3WTPi\n\
                       Y5AXK9Iu7YvCZjyfd/mDb3t3UlB+VxxoEF3h2Pe5mcvyt6KB3pnaTNJ4BMf+z8Fv\n\
                       1wIDAQAB\n\
                       -----END PUBLIC KEY-----\n";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn any_server_input_is_a_login_or_a_failure(
            (at, byte) in (0_usize..80, any::<u8>()), plugin in 0_usize..3, mut packets in any_packets(), whole: bool,
        ) {
            let plugins = ["mysql_native_password", "caching_sha2_password", "other"];
            let mut first = greeting(plugins[plugin], ALL & !(CapabilityFlags::CLIENT_SSL.bits()));
            if !whole && at < first.len() {
                first[at] = byte;
            }
            packets.insert(0, first);
            let target: ServerTarget = serde_json::from_value(serde_json::json!({
                "host": "/s", "port": 1, "user": "u", "password": "p", "database": "d",
            })).unwrap();
            block_on(async {
                let wire = Wire::new(Connection::that_sent(&framed(0, &packets)));
                let _ = log_in(wire, &target, CapabilityFlags::empty()).await;
                Ok(())
            }).unwrap();
        }

        #[test]
        fn a_modified_key_is_used_or_refused(at in 27_usize..440, byte: u8, cut in 0_usize..440) {
            let password = Password {
                password: b"secret", nonce: NONCE.to_vec(), plugin: AuthPlugin::CachingSha2Password,
            };
            let mut key = KEY.as_bytes().to_vec();
            key[at] = byte;
            let _ = password.more(&key, false);
            key.truncate(cut.max(27));
            let _ = password.more(&key, false);
        }
    }

    /// Logs in to a server that sends the given answers. Returns the result and the packets that the server received.
    fn log_in_at(plugin: &str, answers: &[&[u8]], password: &str) -> (Result<(), Failure>, Vec<Vec<u8>>) {
        let answers = answers.iter().map(|answer| vec![answer.to_vec()]).collect();
        let script = Script::new(plugin, ALL, answers);
        let target = script.target(password);
        let begun = block_on(begin(&target, CapabilityFlags::empty())).map(drop);
        (begun, script.heard())
    }

    fn holds(packet: &[u8], part: &[u8]) -> bool {
        packet.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn a_cached_password_is_proven_by_its_hash() {
        let (begun, heard) = log_in_at("caching_sha2_password", &[&[1, 3]], "secret");
        // The server accepts the hash, but its OK packet is missing.
        assert!(begun.unwrap_err().message.contains("closed the connection"));
        let hash = scramble_sha256(NONCE, b"secret").unwrap();
        assert!(holds(&heard[0], b"me\0\x20") && holds(&heard[0], &hash));
        assert!(holds(&heard[0], b"caching_sha2_password\0") && !holds(&heard[0], b"secret"));
    }

    #[test]
    fn an_uncached_password_is_sent_in_plain_text_over_a_socket() {
        let (begun, heard) = log_in_at("caching_sha2_password", &[&[1, 4], &ok()], "secret");
        begun.unwrap();
        assert_eq!(heard[1], b"secret\0");
    }

    #[test]
    fn without_a_socket_the_password_is_encrypted_with_the_servers_key() {
        let password = Password {
            password: b"secret",
            nonce: NONCE.to_vec(),
            plugin: AuthPlugin::CachingSha2Password,
        };
        assert_eq!(password.more(&[4], false).unwrap(), Some(vec![2]));
        let sent = password.more(KEY.as_bytes(), false).unwrap().unwrap();
        assert_eq!(sent.len(), 256);
        assert!(password.more(b"no key", false).is_err());
    }

    #[test]
    fn a_requested_plugin_switch_is_followed() {
        let switch = b"\xfemysql_native_password\0ABCDEFGHIJKLMNOPQRST\0";
        let (begun, heard) = log_in_at("caching_sha2_password", &[switch, &ok()], "secret");
        begun.unwrap();
        assert_eq!(heard[1], scramble_native(b"ABCDEFGHIJKLMNOPQRST", b"secret").unwrap());
        let (begun, heard) = log_in_at("caching_sha2_password", &[switch, &ok()], "");
        begun.unwrap();
        assert!(heard[1].is_empty());
    }

    #[test]
    fn unsupported_logins_are_reported() {
        for (answer, words) in [
            (&b"\xfe"[..], "before version 4.1"),
            (
                b"\xff\x15\x04#28000Access denied for user 'me'",
                "Access denied for user 'me' (1045, 28000)",
            ),
            (b"\x07", "an invalid MySQL packet"),
        ] {
            let (begun, _) = log_in_at("mysql_native_password", &[answer], "secret");
            let failure = begun.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Connection);
            assert!(failure.message.contains(words), "{failure}");
        }
    }

    #[test]
    fn an_unknown_plugin_gets_no_password_and_the_servers_error_is_reported() {
        let denied = b"\xff\x15\x04#28000Access denied for user 'me'";
        let (begun, heard) = log_in_at(
            "caching_sha2_password",
            &[b"\xfesha256_password\0salt", denied],
            "secret",
        );
        let failure = begun.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Connection);
        assert!(
            failure.message.contains("Access denied for user 'me' (1045, 28000)"),
            "{failure}"
        );
        assert!(
            failure.message.contains("asked for the plugin `sha256_password`"),
            "{failure}"
        );
        assert_eq!(heard[1], [0]);
    }

    #[test]
    fn an_old_server_is_reported() {
        let script = Script::new("", CapabilityFlags::CLIENT_PROTOCOL_41.bits(), Vec::new());
        let begun = block_on(begin(&script.target(""), CapabilityFlags::empty()));
        let failure = begun.map(drop).unwrap_err();
        assert!(failure.message.contains("8.4.0-test is too old"), "{failure}");
    }
}
