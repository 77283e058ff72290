//! What a worker connects to.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A system as the worker sees it: an object whose `engine` is the name of an engine. What else is in it the engine knows,
/// which reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Target(pub Map<String, Value>);

/// The name of the definition that the engines give.
pub const DEFINITION: &str = "Target";

impl JsonSchema for Target {
    fn schema_name() -> Cow<'static, str> {
        DEFINITION.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "properties": {"engine": {"type": "string"}}, "required": ["engine"]})
    }
}
