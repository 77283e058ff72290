//! Opens a connection.

use super::failure;
use super::target::SqlserverTarget;
use crate::server::TlsMode;
use dbdyno_engine::Failure;
use dbdyno_engine::time_limits::logged_in;
use dbdyno_protocol::plan::document::FailureKind;
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt as _};

/// The driver's connection.
pub type Connection = Client<Compat<TcpStream>>;

/// Connects and logs in.
pub async fn begin(target: &SqlserverTarget) -> Result<Connection, Failure> {
    let begun = async {
        let config = config(target)?;
        let stream = TcpStream::connect((target.host.as_str(), target.port))
            .await
            .map_err(|error| failure(error.into()))?;
        stream.set_nodelay(true).map_err(|error| failure(error.into()))?;
        let mut connection = Client::connect(config, stream.compat_write()).await.map_err(failure)?;
        for (name, value) in &target.session {
            set(&mut connection, name, value).await?;
        }
        Ok(connection)
    };
    logged_in(begun)
        .await
        .map_err(|failure: Failure| failure.explained(|message| format!("connecting to {}: {message}", target.place())))
}

fn config(target: &SqlserverTarget) -> Result<Config, Failure> {
    let mut config = Config::new();
    config.host(&target.host);
    config.port(target.port);
    config.database(&target.database);
    config.application_name("dbdyno");
    let password = target.password.as_deref().unwrap_or("");
    config.authentication(AuthMethod::sql_server(&target.user, password));
    let (mode, roots) = match &target.tls {
        Some(tls) => (tls.mode, tls.roots.as_deref()),
        None => (TlsMode::Disable, None),
    };
    config.encryption(match mode {
        TlsMode::Disable => EncryptionLevel::NotSupported,
        TlsMode::Prefer => EncryptionLevel::On,
        TlsMode::Require | TlsMode::VerifyFull => EncryptionLevel::Required,
        TlsMode::VerifyCa => {
            let problem = "verify-ca is not supported here: use verify-full";
            return Err(Failure::new(FailureKind::Connection, problem));
        }
    });
    match (mode, roots) {
        (TlsMode::VerifyFull, Some(file)) => config.trust_cert_ca(file),
        (TlsMode::VerifyFull, None) => {}
        _ => config.trust_cert(),
    }
    Ok(config)
}

/// Applies a session setting, such as `set lock_timeout 50`.
async fn set(connection: &mut Connection, name: &str, value: &str) -> Result<(), Failure> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | '-');
    if name.is_empty() || value.is_empty() || !name.chars().chain(value.chars()).all(is_word) {
        let problem = format!("`{name}={value}` is not a session setting; write it like `lock_timeout=50`");
        return Err(Failure::new(FailureKind::Other, problem));
    }
    // Within a statement, two dashes would begin a comment.
    let sql = format!("set {name} {}", value.replace("--", "-"));
    let set = async { connection.simple_query(sql).await?.into_results().await };
    set.await
        .map(drop)
        .map_err(|error| failure(error).explained(|message| format!("setting `{name}`: {message}")))
}
