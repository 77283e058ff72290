//! Provide requests with database connections: from a pool, or a new one per request.

use crate::connection::{Connection, Database};
use crate::options::Options;
use crate::refusal::{Reason, Refusal};
use deadpool::managed::{Manager, Metrics, Object, Pool, PoolError, RecycleResult, TimeoutType};
use deadpool::{Runtime, managed};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Opens the connections of a pool, and counts them.
#[derive(Debug)]
pub struct Opening {
    database: Database,
    opened: Arc<AtomicU64>,
}

impl Manager for Opening {
    type Type = Connection;
    type Error = sqlx::Error;

    async fn create(&self) -> Result<Connection, sqlx::Error> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.database.connect().await
    }

    /// Failed connections have left the pool, so don't spend a round trip per request on checking the others.
    async fn recycle(&self, _: &mut Connection, _: &Metrics) -> RecycleResult<sqlx::Error> {
        Ok(())
    }
}

/// Provides requests with connections.
pub enum Source {
    /// Pooled connections.
    Kept(Pool<Opening>),
    /// A new connection for each request.
    Each(Opening),
}

/// A connection in use by a request.
pub enum Lent {
    /// It returns to the pool.
    Kept(Object<Opening>),
    /// It is closed.
    Own(Connection),
}

/// The pool can't be created.
pub type BuildError = managed::BuildError;

impl Source {
    /// Create the source without opening connections.
    pub fn new(database: Database, options: &Options) -> Result<Self, BuildError> {
        let opening = Opening {
            database,
            opened: Arc::default(),
        };
        if !options.keeps() {
            return Ok(Self::Each(opening));
        }
        let pool = Pool::builder(opening)
            .max_size(options.pool as usize)
            .wait_timeout(Some(options.wait()))
            .runtime(Runtime::Tokio1)
            .build()?;
        Ok(Self::Kept(pool))
    }

    /// The number of connections opened, including failed attempts.
    pub fn opened(&self) -> u64 {
        let opening = match self {
            Self::Kept(pool) => pool.manager(),
            Self::Each(opening) => opening,
        };
        opening.opened.load(Ordering::Relaxed)
    }

    /// Get a connection.
    pub async fn lend(&self) -> Result<Lent, Refusal> {
        match self {
            Self::Each(opening) => Ok(Lent::Own(opening.create().await?)),
            Self::Kept(pool) => match pool.get().await {
                Ok(object) => Ok(Lent::Kept(object)),
                Err(PoolError::Backend(error)) => Err(error.into()),
                Err(PoolError::Timeout(TimeoutType::Wait)) => {
                    let most = pool.status().max_size;
                    let message = format!("all {most} kept connections were in use for too long");
                    Err(Refusal::new(Reason::PoolExhausted, message))
                }
                Err(error) => Err(Refusal::new(Reason::DatabaseError, error.to_string())),
            },
        }
    }
}

impl Lent {
    /// The connection.
    pub fn connection(&mut self) -> &mut Connection {
        match self {
            Self::Kept(object) => object,
            Self::Own(connection) => connection,
        }
    }

    /// Return the connection. `whole`: no operation on it failed.
    pub async fn give_back(self, whole: bool) {
        match self {
            Self::Kept(object) if whole => drop(object),
            Self::Kept(object) => drop(Object::take(object)),
            // The request has been served, so an error on closing doesn't matter.
            Self::Own(connection) if whole => drop(connection.close().await),
            Self::Own(connection) => drop(connection),
        }
    }
}
