//! TLS: which certificates are trusted, and why one is rejected.

use crate::server::{Tls, TlsMode};
use dbdyno_engine::Failure;
use dbdyno_protocol::plan::document::FailureKind;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Cached certificates by target (a worker has only one), because each new connection needs them.
static READ: Mutex<Vec<(Tls, Vec<String>, TlsConnector)>> = Mutex::new(Vec::new());

/// Whether to request encryption from a server.
pub fn is_wanted(tls: Option<&Tls>) -> bool {
    tls.is_some_and(|tls| tls.mode != TlsMode::Disable)
}

/// Handles a server without TLS: an error, unless encryption is only preferred.
pub fn without(tls: Option<&Tls>) -> Result<(), Failure> {
    match tls.map(|tls| tls.mode) {
        None | Some(TlsMode::Disable | TlsMode::Prefer) => Ok(()),
        Some(TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull) => {
            Err(refused("the server does not support TLS, which is required"))
        }
    }
}

/// Encrypts a connection to a host. `protocols`: protocols to negotiate, in order of preference.
pub async fn begin(
    stream: TcpStream,
    tls: &Tls,
    host: &str,
    protocols: &[&str],
) -> Result<TlsStream<TcpStream>, Failure> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| refused(format!("`{host}` is not a valid host name for a certificate")))?;
    connector(tls, protocols)?
        .connect(name, stream)
        .await
        .map_err(|error| refused(reason(&error, tls, host)))
}

fn connector(tls: &Tls, protocols: &[&str]) -> Result<TlsConnector, Failure> {
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((.., connector)) = read.iter().find(|(known, of, _)| known == tls && of == protocols) {
        return Ok(connector.clone());
    }
    let mut config = config(tls)?;
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let connector = TlsConnector::from(Arc::new(config));
    let protocols = protocols.iter().map(|name| (*name).to_owned()).collect();
    read.push((tls.clone(), protocols, connector.clone()));
    Ok(connector)
}

fn config(tls: &Tls) -> Result<ClientConfig, Failure> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let wrong = |error: &dyn std::fmt::Display| refused(format!("TLS cannot be set up: {error}"));
    let (mut trusted, mut certificates) = (None, Vec::new());
    if matches!(tls.mode, TlsMode::VerifyCa | TlsMode::VerifyFull) {
        certificates = roots(tls)?;
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(certificates.iter().cloned());
        trusted = Some(
            WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone())
                .build()
                .map_err(|error| wrong(&error))?,
        );
    }
    let verifier = Verifier {
        trusted,
        certificates,
        named: tls.mode == TlsMode::VerifyFull,
        provider: provider.clone(),
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    // Without session resumption, a connection costs as much as with the servers' own clients, which don't resume
    // either.
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// The trusted certificates.
fn roots(tls: &Tls) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let Some(file) = &tls.roots else {
        let found = rustls_native_certs::load_native_certs().certs;
        if found.is_empty() {
            return Err(refused(
                "this system has no CA certificates: specify a certificate file",
            ));
        }
        return Ok(found);
    };
    let wrong = |error: rustls::pki_types::pem::Error| refused(format!("the certificates in {file}: {error}"));
    let found: Vec<_> = CertificateDer::pem_file_iter(file)
        .map_err(wrong)?
        .collect::<Result<_, _>>()
        .map_err(wrong)?;
    if found.is_empty() {
        return Err(refused(format!("{file} contains no certificate")));
    }
    Ok(found)
}

/// Verifies a server's certificate according to the mode.
#[derive(Debug)]
struct Verifier {
    /// Verifies the signature chain; `None` if the mode requires no verification.
    trusted: Option<Arc<WebPkiServerVerifier>>,
    /// The trusted certificates.
    certificates: Vec<CertificateDer<'static>>,
    /// Whether the certificate must match the host name.
    named: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trusted) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        match trusted.verify_server_cert(certificate, between, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.named => Ok(ServerCertVerified::assertion()),
            // A server whose certificate is its own CA, as in many self-made setups. Its validity dates have been
            // checked by then; the only problem is that a CA certificate is used for a server.
            Err(Error::InvalidCertificate(CertificateError::Other(_))) if self.certificates.contains(certificate) => {
                if self.named {
                    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Why a connection could not be encrypted.
fn reason(error: &io::Error, tls: &Tls, host: &str) -> String {
    let trusted = || tls.roots.as_deref().unwrap_or("the system's certificates");
    let Some(error) = error.get_ref().and_then(|error| error.downcast_ref::<Error>()) else {
        return format!("the server did not begin TLS: {}", error.to_string().to_lowercase());
    };
    let Error::InvalidCertificate(wrong) = error else {
        return format!("TLS failed: {error}");
    };
    match wrong {
        CertificateError::NotValidForNameContext { presented, .. } if !presented.is_empty() => {
            let names: Vec<String> = presented.iter().map(|name| plain_name(name)).collect();
            format!(
                "the server's certificate is not for `{host}`, but for {}",
                names.join(", ")
            )
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("the server's certificate is not for `{host}`: it has no such subjectAltName")
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            format!("the certificate of `{host}` is not signed by any CA in {}", trusted())
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the certificate of `{host}` has expired")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("the certificate of `{host}` is not valid yet")
        }
        // rustls has no error kind for webpki's: a self-signed certificate is marked as a CA's.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => format!(
            "the certificate of `{host}` is self-signed and not in {}; to trust it, specify its \
             file",
            trusted()
        ),
        other => format!("the certificate of `{host}` is not accepted: {other}"),
    }
}

/// `DnsName("db.example")` as `db.example`.
fn plain_name(name: &str) -> String {
    match name.split_once("(\"").and_then(|(_, rest)| rest.strip_suffix("\")")) {
        Some(plain) => plain.to_owned(),
        None => name.to_owned(),
    }
}

fn refused(why: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Connection, why)
}
