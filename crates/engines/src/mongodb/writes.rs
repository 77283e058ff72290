//! Determines which commands write, by their names, because the server has no read-only transactions.

use super::json::Json;
use dbdyno_engine::writes::Writes;

/// Commands that only read, with any fields, except aggregations with stages that write.
const READING: [&str; 25] = [
    "aggregate",
    "buildInfo",
    "buildinfo",
    "collStats",
    "connectionStatus",
    "count",
    "dataSize",
    "dbHash",
    "dbStats",
    "distinct",
    "explain",
    "find",
    "getMore",
    "getParameter",
    "hello",
    "hostInfo",
    "isMaster",
    "ismaster",
    "listCollections",
    "listCommands",
    "listDatabases",
    "listIndexes",
    "ping",
    "serverStatus",
    "whatsmyuri",
];

/// Aggregation stages that write.
const WRITING_STAGES: [&str; 2] = ["$out", "$merge"];

/// Commands that name another database.
const ELSEWHERE: [&str; 6] = [
    "clone",
    "cloneCollection",
    "copydb",
    "copydbgetnonce",
    "renameCollection",
    "shutdown",
];

/// Whether a command writes.
pub fn writes(command: &str) -> Writes {
    let Some((json, name)) = named(command) else {
        return Writes::Unknown("not a command".into());
    };
    if !READING.contains(&name.as_str()) {
        return Writes::Yes(format!("`{name}` is not a known read-only command"));
    }
    match find(&json, &|field, _| WRITING_STAGES.contains(&field)) {
        Some(stage) => Writes::Yes(format!("`{stage}` writes the results")),
        None => Writes::No,
    }
}

/// What a command accesses outside its own database, if anything.
pub fn find_external_access(command: &str, own: &[String]) -> Option<String> {
    let (json, name) = named(command)?;
    if ELSEWHERE.contains(&name.as_str()) {
        return Some(format!("`{name}` accesses something outside its own database"));
    }
    let elsewhere = |field: &str, value: &Json| {
        let of = match field {
            "$out" | "out" => value.get("db"),
            "$merge" => value.get("into").and_then(|into| into.get("db")),
            _ => None,
        };
        matches!(of, Some(Json::Text(database)) if !own.contains(database))
            || matches!(of, Some(other) if !matches!(other, Json::Text(_)))
    };
    find(&json, &elsewhere).map(|field| format!("`{field}` names another database"))
}

fn named(command: &str) -> Option<(Json, String)> {
    let json: Json = serde_json::from_str(command).ok()?;
    let Json::Object(fields) = &json else { return None };
    let name = fields.first()?.0.clone();
    Some((json, name))
}

/// The first field, at any depth, for which the condition holds.
fn find<'a>(json: &'a Json, is: &impl Fn(&str, &Json) -> bool) -> Option<&'a str> {
    match json {
        Json::Object(fields) => fields.iter().find_map(|(name, value)| {
            if is(name, value) {
                return Some(name.as_str());
            }
            find(value, is)
        }),
        Json::List(values) => values.iter().find_map(|value| find(value, is)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_commands_are_recognized_by_name_and_stage() {
        for (command, reads) in [
            (r#"{"find": "t", "filter": {"_id": "?"}}"#, true),
            (r#"{"count": "t"}"#, true),
            (
                r#"{"aggregate": "t", "pipeline": [{"$match": {}}], "cursor": {}}"#,
                true,
            ),
            (
                r#"{"aggregate": "t", "pipeline": [{"$match": {}}, {"$out": "u"}], "cursor": {}}"#,
                false,
            ),
            (
                r#"{"aggregate": "t", "pipeline": [{"$merge": {"into": "u"}}], "cursor": {}}"#,
                false,
            ),
            (r#"{"explain": {"aggregate": "t", "pipeline": [{"$out": "u"}]}}"#, false),
            (r#"{"findAndModify": "t", "remove": true}"#, false),
            (r#"{"insert": "t", "documents": [{}]}"#, false),
            (r#"{"mapReduce": "t", "out": "u"}"#, false),
            (r#"{"createIndexes": "t"}"#, false),
            (r#"{"noSuchCommand": 1}"#, false),
            ("[]", false),
        ] {
            assert_eq!(writes(command) == Writes::No, reads, "{command}");
        }
    }

    #[test]
    fn writes_to_another_database_are_reported() {
        let own = ["dbdyno_trial".to_owned()];
        for (command, elsewhere) in [
            (r#"{"insert": "t", "documents": [{}]}"#, false),
            (r#"{"aggregate": "t", "pipeline": [{"$out": "u"}]}"#, false),
            (
                r#"{"aggregate": "t", "pipeline": [{"$out": {"db": "app", "coll": "u"}}]}"#,
                true,
            ),
            (
                r#"{"aggregate": "t", "pipeline": [{"$out": {"db": "dbdyno_trial", "coll": "u"}}]}"#,
                false,
            ),
            (
                r#"{"aggregate": "t", "pipeline": [{"$merge": {"into": {"db": "app", "coll": "u"}}}]}"#,
                true,
            ),
            (r#"{"renameCollection": "app.users", "to": "app.u"}"#, true),
        ] {
            assert_eq!(find_external_access(command, &own).is_some(), elsewhere, "{command}");
        }
    }
}
