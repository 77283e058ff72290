//! JSON that preserves the order of fields, because a command's first field is its name.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Boolean(bool),
    Integer(i64),
    Real(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The field with this name, if the value is an object that has it.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let Self::Object(fields) = self else {
            return None;
        };
        fields.iter().find(|(each, _)| each == name).map(|(_, value)| value)
    }

    /// Whether a projection with this value includes the field.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Boolean(value) => *value,
            Self::Integer(value) => *value != 0,
            Self::Real(value) => *value != 0.0,
            Self::Null => false,
            // An expression that computes the field.
            Self::Text(_) | Self::List(_) | Self::Object(_) => true,
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value of JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Boolean(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        i64::try_from(value).map(Json::Integer).map_err(|_| {
            E::custom(format_args!(
                "{value} is too large: the largest integer is {}",
                i64::MAX
            ))
        })
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Real(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Json, A::Error> {
        let mut object: Vec<(String, Json)> = Vec::new();
        while let Some((name, value)) = fields.next_entry::<String, Json>()? {
            if object.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
            }
            if name.contains('\0') {
                return Err(A::Error::custom("a field's name contains a NUL character"));
            }
            object.push((name, value));
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order() {
        let read: Json = serde_json::from_str(r#"{"z": 1, "a": [null, true, 1.5, "t"], "m": {}}"#).unwrap();
        let list = Json::List(vec![
            Json::Null,
            Json::Boolean(true),
            Json::Real(1.5),
            Json::Text("t".into()),
        ]);
        let fields = vec![
            ("z".into(), Json::Integer(1)),
            ("a".into(), list),
            ("m".into(), Json::Object(Vec::new())),
        ];
        assert_eq!(read, Json::Object(fields));
    }

    #[test]
    fn values_that_bson_cannot_represent_are_refused() {
        for text in [r#"{"a": 1, "a": 2}"#, r#"{"a\u0000": 1}"#, "18446744073709551615", "{"] {
            assert!(serde_json::from_str::<Json>(text).is_err(), "{text}");
        }
    }
}
