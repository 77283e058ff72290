//! SCRAM-SHA-256 (RFC 5802, RFC 7677): both sides prove that they know the password.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use std::io::Read as _;

/// Maximum iteration count that a server may request; it takes some seconds here.
const MOST_ROUNDS: u32 = 10_000_000;

/// An authentication in progress.
pub struct Scram {
    password: String,
    nonce: String,
    /// The first message without its header.
    first: String,
    /// The expected signature in the server's last message.
    signature: Vec<u8>,
}

impl Scram {
    /// Begins with a random nonce.
    pub fn new(user: &str, password: &str) -> Result<Self, String> {
        let mut random = [0; 18];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut random))
            .map_err(|error| format!("cannot read random numbers: {error}"))?;
        Self::with_nonce(user, password, STANDARD.encode(random))
    }

    fn with_nonce(user: &str, password: &str, nonce: String) -> Result<Self, String> {
        let password = stringprep::saslprep(password)
            .map_err(|_| "the password contains a prohibited character")?
            .into_owned();
        let user = user.replace('=', "=3D").replace(',', "=2C");
        let first = format!("n={user},r={nonce}");
        Ok(Self {
            password,
            nonce,
            first,
            signature: Vec::new(),
        })
    }

    /// The client's first message.
    pub fn first(&self) -> String {
        format!("n,,{}", self.first)
    }

    /// The client's response to the server's first message.
    pub fn answer(&mut self, server_first: &[u8]) -> Result<String, String> {
        let server_first = std::str::from_utf8(server_first).map_err(|_| unreadable())?;
        let nonce = part(server_first, "r=").ok_or_else(unreadable)?;
        let salt = part(server_first, "s=").and_then(|salt| STANDARD.decode(salt).ok());
        let rounds = part(server_first, "i=").and_then(|rounds| rounds.parse().ok());
        let (Some(salt), Some(rounds)) = (salt, rounds) else {
            return Err(unreadable());
        };
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() || rounds == 0 || rounds > MOST_ROUNDS {
            return Err(unreadable());
        }
        let salted = salted(self.password.as_bytes(), &salt, rounds)?;
        let without_proof = format!("c=biws,r={nonce}");
        let signed = format!("{},{server_first},{without_proof}", self.first);
        let client_key = hmac(&salted, &[b"Client Key"])?;
        let stored_key = Sha256::digest(&client_key);
        let mut proof = hmac(&stored_key, &[signed.as_bytes()])?;
        proof.iter_mut().zip(&client_key).for_each(|(byte, key)| *byte ^= key);
        self.signature = hmac(&hmac(&salted, &[b"Server Key"])?, &[signed.as_bytes()])?;
        Ok(format!("{without_proof},p={}", STANDARD.encode(proof)))
    }

    /// Verifies the server's last message.
    pub fn check(&self, server_last: &[u8]) -> Result<(), String> {
        let signature = std::str::from_utf8(server_last)
            .ok()
            .and_then(|last| part(last, "v="))
            .and_then(|signature| STANDARD.decode(signature).ok());
        if signature.as_ref() == Some(&self.signature) {
            Ok(())
        } else {
            Err("the server failed to prove that it knows the password".into())
        }
    }
}

fn part<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    message.split(',').find_map(|part| part.strip_prefix(name))
}

fn unreadable() -> String {
    "the server sent an invalid SCRAM-SHA-256 message".into()
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> Result<Vec<u8>, String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(|error| error.to_string())?;
    parts.iter().for_each(|part| mac.update(part));
    Ok(mac.finalize().into_bytes().to_vec())
}

/// PBKDF2 with one block; SCRAM's function `Hi`.
fn salted(password: &[u8], salt: &[u8], rounds: u32) -> Result<Vec<u8>, String> {
    let mut last = hmac(password, &[salt, &[0, 0, 0, 1]])?;
    let mut sum = last.clone();
    for _ in 1..rounds {
        last = hmac(password, &[&last])?;
        sum.iter_mut().zip(&last).for_each(|(sum, byte)| *sum ^= byte);
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example exchange in section 3 of RFC 7677.
    #[test]
    fn the_example_of_the_rfc_is_reproduced() {
        let mut scram = Scram::with_nonce("user", "pencil", "rOprNGfwEbeRWgbNEkqO".into()).unwrap();
        assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let first = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert_eq!(
            scram.answer(first).unwrap(),
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        scram.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").unwrap();
        assert!(scram.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=").is_err());
        assert!(scram.check(b"e=other-error").is_err());
    }

    #[test]
    fn a_nonce_that_is_not_ours_is_refused() {
        let mut scram = Scram::new("a,b=c", "x").unwrap();
        assert!(scram.first().starts_with("n,,n=a=2Cb=3Dc,r="));
        for first in [
            &b"r=abc,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"[..],
            b"",
            b"\xff",
            b"r=,s=,i=0",
        ] {
            assert!(scram.answer(first).is_err());
        }
        assert_ne!(Scram::new("a", "x").unwrap().nonce, Scram::new("a", "x").unwrap().nonce);
    }
}
