//! Requests to a service: templates with parameters, and the values to take from the reply.

use crate::plan::error::PlanError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request, and the expected reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The method, in capital letters.
    pub method: String,
    /// The path, from its first `/`. Literal parts are already encoded; parameters are percent-encoded.
    pub path: Template,
    /// Fields of the query, in order; names are encoded as values are.
    #[serde(default)]
    pub query: Vec<Field>,
    /// Header fields, in order, in addition to those that the connection needs.
    #[serde(default)]
    pub headers: Vec<Field>,
    /// The body.
    #[serde(default)]
    pub body: Option<Body>,
    /// The statuses that are expected; none: 200 to 299.
    #[serde(default)]
    pub expect: Vec<u16>,
    /// The values to take from the reply, as the columns of a row; null if a value is missing.
    #[serde(default)]
    pub take: Vec<Take>,
}

/// A template: a string in parts.
pub type Template = Vec<Piece>;

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Piece {
    /// Text as it is.
    Text(String),
    /// The parameter with this number, from 0.
    Parameter(usize),
}

/// A name and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Template,
}

/// What a request carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// A string; parameters are inserted unchanged.
    Text {
        /// It.
        text: Template,
    },
    /// Fields of a form.
    Form {
        /// In order.
        fields: Vec<Field>,
    },
    /// JSON, in parts.
    Json {
        /// In order.
        pieces: Vec<JsonPiece>,
    },
}

/// A part of a JSON document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum JsonPiece {
    /// Text as it is.
    Text(String),
    /// The parameter with this number as a value of its kind.
    Value(usize),
    /// The parameter within a string.
    Within {
        /// Its number.
        within: usize,
    },
}

/// Something that is taken from a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case", deny_unknown_fields)]
pub enum Take {
    /// The status, an integer.
    Status,
    /// The value of a header field, the first of its name.
    Header {
        /// Its name; capital letters make no difference.
        name: String,
    },
    /// The value of a cookie that the reply sets.
    Cookie {
        /// Its name.
        name: String,
    },
    /// What a JSON pointer (RFC 6901) finds in the body: a value of its kind; an object or a list as its text.
    Json {
        /// The pointer; an empty one is the whole.
        pointer: String,
    },
    /// The match of the first group of a regular expression in the body, or the whole match if it has no group.
    Regex {
        /// The expression.
        pattern: String,
    },
    /// The whole body.
    Body,
}

impl Request {
    /// The number of parameters. The parts must name all numbers from 0 on.
    pub fn parameters(&self, place: &str) -> Result<usize, PlanError> {
        let mut named = Vec::new();
        self.each_parameter(&mut |number| named.push(number));
        named.sort_unstable();
        named.dedup();
        let all = named.iter().enumerate().all(|(at, number)| at == *number);
        if all {
            Ok(named.len())
        } else {
            Err(PlanError::invalid(
                place,
                "the parameters of a request are numbered from 0 on",
            ))
        }
    }

    fn each_parameter(&self, note: &mut impl FnMut(usize)) {
        let fields = self.query.iter().chain(&self.headers).map(|field| &field.value);
        for template in std::iter::once(&self.path).chain(fields) {
            of_template(template, note);
        }
        match &self.body {
            None => {}
            Some(Body::Text { text }) => of_template(text, note),
            Some(Body::Form { fields }) => fields.iter().for_each(|field| of_template(&field.value, note)),
            Some(Body::Json { pieces }) => {
                for piece in pieces {
                    match piece {
                        JsonPiece::Text(_) => {}
                        JsonPiece::Value(number) | JsonPiece::Within { within: number } => note(*number),
                    }
                }
            }
        }
    }
}

fn of_template(template: &Template, note: &mut impl FnMut(usize)) {
    for piece in template {
        if let Piece::Parameter(number) = piece {
            note(*number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(json: serde_json::Value) -> Request {
        serde_json::from_value(json).expect("a request")
    }

    #[test]
    fn a_request_is_read_from_json() {
        let read = request(serde_json::json!({
            "method": "POST", "path": ["/user/", 0], "query": [{"name": "q", "value": [1]}],
            "headers": [{"name": "cookie", "value": ["sid=", 2]}],
            "body": {"kind": "json", "pieces": ["{\"a\":", 0, ",\"b\":\"x", {"within": 3}, "\"}"]},
            "expect": [200], "take": [{"from": "json", "pointer": "/id"}, {"from": "status"}],
        }));
        assert_eq!(read.parameters("here").expect("a number"), 4);
        assert_eq!(read.path, [Piece::Text("/user/".into()), Piece::Parameter(0)]);
    }

    #[test]
    fn a_number_that_is_left_out_is_told() {
        let read = request(serde_json::json!({"method": "GET", "path": ["/", 1]}));
        assert!(read.parameters("here").is_err());
    }
}
