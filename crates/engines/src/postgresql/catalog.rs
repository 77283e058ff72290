//! Reads the statements' tables from PostgreSQL's catalog, and finds the indexes used by a plan.

use super::PostgresqlEngine;
use super::session::PostgresqlSession;
use dbdyno_engine::Failure;
use dbdyno_engine::catalog::{Catalog, Collation, Column, ForeignKey, Key, View, named_views, names};
use dbdyno_protocol::plan::document::FailureKind;

/// The collation `c` of a column or index key: name, provider, locale, and whether it is deterministic. The default
/// collation is resolved to the database's. Columns that a version lacks are null.
const COLLATION: &str = "\
    case when c.oid = 100 then coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale', d.datcollate) \
    else c.collname end, \
    case when c.oid = 100 then coalesce(to_jsonb(d) ->> 'datlocprovider', 'c') \
    else coalesce(to_jsonb(c) ->> 'collprovider', 'c') end, \
    case when c.oid = 100 then d.datcollate else c.collcollate end, \
    case when c.oid is not null then coalesce(to_jsonb(c) ->> 'collisdeterministic', 'true') end";

/// The schema `s` of a table, null if it is in the search path.
const SCHEMA: &str = "case when not pg_table_is_visible(t.oid) then s.nspname end";

/// Tables with their columns.
const COLUMNS: &str = "\
    from pg_class t join pg_namespace s on s.oid = t.relnamespace \
    join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped \
    left join pg_collation c on c.oid = a.attcollation \
    join pg_database d on d.datname = current_database() \
    where t.relkind in ('r', 'p', 'm')";

/// The key columns of their indexes. Included columns have no operator class.
const KEYS: &str = "\
    from pg_index x join pg_class t on t.oid = x.indrelid join pg_class i on i.oid = x.indexrelid \
    join pg_namespace s on s.oid = t.relnamespace \
    join pg_am m on m.oid = i.relam cross join lateral generate_series(0, x.indnatts - 1) n \
    join pg_opclass o on o.oid = x.indclass[n] \
    left join pg_attribute a on a.attrelid = t.oid and a.attnum = x.indkey[n] and x.indkey[n] <> 0 \
    left join pg_collation c on c.oid = x.indcollation[n] \
    join pg_database d on d.datname = current_database() \
    where true";

const VIEWS: &str = "\
    select case when not pg_table_is_visible(t.oid) then s.nspname end, t.relname, pg_get_viewdef(t.oid) \
    from pg_class t join pg_namespace s on s.oid = t.relnamespace \
    where t.relkind = 'v'";

/// The foreign keys. Those of partitions are copies of their table's.
const FOREIGN_KEYS: &str = "\
    select case when not pg_table_is_visible(t.oid) then s.nspname end, t.relname, p.relname, \
    x.confdeltype, x.confupdtype, case when t.reltuples > 0 then t.reltuples::bigint end, exists (select from pg_index i \
    where i.indrelid = x.conrelid and i.indisvalid and i.indpred is null and x.conkey @> (i.indkey::int2[])\
    [0:cardinality(x.conkey) - 1] and x.conkey <@ (i.indkey::int2[])[0:cardinality(x.conkey) - 1]), x.oid, \
    a.attname, b.attname from pg_constraint x join pg_class t on t.oid = x.conrelid \
    join pg_namespace s on s.oid = t.relnamespace join pg_class p on p.oid = x.confrelid \
    cross join lateral generate_subscripts(x.conkey, 1) n \
    join pg_attribute a on a.attrelid = x.conrelid and a.attnum = x.conkey[n] \
    join pg_attribute b on b.attrelid = x.confrelid and b.attnum = x.confkey[n] \
    where x.contype = 'f' and coalesce(to_jsonb(x) ->> 'conparentid', '0') = '0' order by t.relname, x.oid, n";

/// A dollar-quote tag that no statement contains.
const QUOTE: &str = "$dbdyno_statements$";

type Row = Vec<Option<String>>;

/// Reads the catalog. Parts that the user cannot see are left out.
pub async fn catalog(engine: &PostgresqlEngine, session: &mut PostgresqlSession) -> Result<Catalog, Failure> {
    let mut catalog = Catalog::default();
    let size = rows(session, "select pg_database_size(current_database())").await?;
    catalog.data_bytes = size
        .into_iter()
        .flatten()
        .flatten()
        .next()
        .and_then(|text| text.parse().ok());
    let mut texts: Vec<String> = engine.statements.iter().map(|each| each.numbered.clone()).collect();
    loop {
        let sql = format!("{VIEWS} {} order by t.relname", asked(&texts));
        let mut views: Vec<View> = rows(session, &sql).await?.into_iter().filter_map(view).collect();
        views.retain(|each| !catalog.views.contains(each));
        let found = named_views(views, &mut texts);
        if found.is_empty() {
            break;
        }
        // Their definitions may name further views.
        catalog.views.extend(found);
    }
    let named = |table: &str| texts.iter().any(|each| names(each, table));
    let asked = asked(&texts);
    let sql = format!(
        "select {SCHEMA}, t.relname, a.attname, format_type(a.atttypid, a.atttypmod), \
         coalesce(to_jsonb(a) ->> 'attgenerated', ''), {COLLATION} {COLUMNS} {asked} order by t.relname, a.attnum"
    );
    for row in rows(session, &sql).await? {
        let [schema, Some(table), Some(name), Some(kind), Some(generated), ..] = &row[..] else {
            continue;
        };
        if named(table) {
            catalog.table_in(schema.as_deref(), table).columns.push(Column {
                name: name.clone(),
                kind: kind.clone(),
                collation: collation(&row[5..]),
                generated: !generated.is_empty(),
            });
        }
    }
    // As of the last ANALYZE or VACUUM. -1, or 0 before version 14, means never.
    let sql = format!(
        "select {SCHEMA}, t.relname, t.reltuples::bigint from pg_class t \
         join pg_namespace s on s.oid = t.relnamespace \
         where t.relkind in ('r', 'p', 'm') and t.reltuples > 0 {asked}"
    );
    for row in rows(session, &sql).await? {
        if let [schema, Some(table), Some(rows)] = &row[..]
            && let Some(known) = catalog
                .tables
                .iter_mut()
                .find(|each| each.name == *table && each.schema == *schema)
        {
            known.rows = rows.parse().ok();
        }
    }
    let sql = format!(
        "select {SCHEMA}, t.relname, i.relname, m.amname, x.indisvalid and x.indisready, x.indpred is not null, \
         x.indisunique, x.indisprimary, x.indoption[n] & 1, a.attname, o.opcname, {COLLATION} {KEYS} {asked} \
         order by t.relname, i.relname, n"
    );
    for row in rows(session, &sql).await? {
        let [
            schema,
            Some(table),
            Some(name),
            Some(method),
            Some(usable),
            Some(partial),
            Some(unique),
            Some(primary),
            descending,
            column,
            class,
            ..,
        ] = &row[..]
        else {
            continue;
        };
        if named(table) {
            let table = catalog.table_in(schema.as_deref(), table);
            if primary == "t" {
                table.primary_key.extend(column.clone());
            }
            let index = table.index(name, method);
            (index.usable, index.partial, index.unique) = (usable == "t", partial == "t", unique == "t");
            index.keys.push(Key {
                column: column.clone(),
                collation: collation(&row[11..]),
                operator_class: class.clone(),
                prefix: None,
                descending: descending.as_deref() == Some("1"),
            });
        }
    }
    let keys = foreign_keys(rows(session, FOREIGN_KEYS).await?);
    catalog.set_foreign_keys(keys, named);
    Ok(catalog)
}

/// The condition for the tables `t` that these texts name. A server can have many thousands of tables, so it only
/// returns these: those outside the search path only if the texts also contain the name of their schema `s`.
fn asked(texts: &[String]) -> String {
    let texts = texts.join(" ");
    format!(
        "and s.nspname not like 'pg\\_%' and s.nspname <> 'information_schema' \
         and strpos(lower({QUOTE}{texts}{QUOTE}), lower(t.relname)) > 0 \
         and (pg_table_is_visible(t.oid) or strpos(lower({QUOTE}{texts}{QUOTE}), lower(s.nspname)) > 0)"
    )
}

fn view(row: Row) -> Option<View> {
    match <[Option<String>; 3]>::try_from(row) {
        Ok([schema, Some(name), Some(definition)]) => Some(View {
            name,
            schema,
            definition,
        }),
        _ => None,
    }
}

fn foreign_keys(rows: Vec<Row>) -> Vec<ForeignKey> {
    let mut keys: Vec<(String, ForeignKey)> = Vec::new();
    for row in rows {
        let Ok(
            [
                schema,
                Some(table),
                Some(parent),
                Some(on_delete),
                Some(on_update),
                rows,
                Some(indexed),
                Some(number),
                Some(column),
                Some(referenced),
            ],
        ) = <[Option<String>; 10]>::try_from(row)
        else {
            continue;
        };
        if keys.last().is_none_or(|(id, _)| *id != number) {
            let key = ForeignKey {
                schema,
                table,
                parent,
                rows: rows.and_then(|rows| rows.parse().ok()),
                on_delete: action(&on_delete).to_owned(),
                on_update: action(&on_update).to_owned(),
                indexed: indexed == "t",
                ..ForeignKey::default()
            };
            keys.push((number, key));
        }
        if let Some((_, key)) = keys.last_mut() {
            key.columns.push(column);
            key.parent_columns.push(referenced);
        }
    }
    keys.into_iter().map(|(_, key)| key).collect()
}

/// The action of a foreign key from its code in `pg_constraint`.
fn action(code: &str) -> &'static str {
    match code {
        "c" => "cascade",
        "n" => "set null",
        "d" => "set default",
        "r" => "restrict",
        _ => "no action",
    }
}

/// Ignores errors of the query, but not a lost connection.
async fn rows(session: &mut PostgresqlSession, sql: &str) -> Result<Vec<Row>, Failure> {
    match session.query(sql).await {
        Err(failure) if failure.kind == FailureKind::Connection => Err(failure),
        answer => Ok(answer.unwrap_or_default()),
    }
}

/// A collation from its four columns.
fn collation(row: &[Option<String>]) -> Option<Collation> {
    let [Some(name), Some(provider), locale, exact] = row else {
        return None;
    };
    let (provider, by_bytes) = match provider.as_str() {
        // Among the C library's locales, the server orders by bytes in these two, but not in C.UTF-8.
        "c" => ("libc", matches!(locale.as_deref(), Some("C" | "POSIX"))),
        "i" => ("icu", false),
        "b" => ("builtin", true),
        other => (other, false),
    };
    Some(Collation {
        name: name.clone(),
        provider: Some(provider.to_owned()),
        by_bytes: Some(by_bytes),
        // A nondeterministic collation may or may not be case-sensitive.
        regards_case: (exact.as_deref() == Some("true")).then_some(true),
    })
}

/// The indexes that a plan uses for lookups: those followed by an index condition.
pub fn looked_up(plan: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut last: Option<String> = None;
    for line in plan {
        if line.trim_start().starts_with("Index Cond:") {
            found.extend(last.take());
        } else if let Some(name) = index_of(line) {
            last = Some(name);
        }
    }
    found
}

/// The index in a plan line: `Index Scan using i on t`, `Bitmap Index Scan on i`.
fn index_of(line: &str) -> Option<String> {
    let step = line.trim_start().trim_start_matches("->").trim_start();
    let name = match step.split_once("Bitmap Index Scan on ") {
        Some((_, name)) => name,
        None if step.contains("Scan") => step.split_once(" using ")?.1.rsplit_once(" on ")?.0,
        None => return None,
    };
    Some(name.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_found_in_plans() {
        let plan = |lines: &[&str]| looked_up(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
        assert!(plan(&["Seq Scan on t", "  Filter: (word ~~ 'a%'::text)"]).is_empty());
        assert!(plan(&["Index Only Scan using i on t", "  Filter: (word ~~ 'a%'::text)"]).is_empty());
        let scan = ["Index Scan using \"My i\" on t", "  Index Cond: (id = 1)"];
        assert_eq!(plan(&scan), ["My i"]);
        let bitmap = [
            "Bitmap Heap Scan on t",
            "  Filter: (word ~~ 'a%'::text)",
            "  ->  Bitmap Index Scan on i",
            "        Index Cond: ((word ~>=~ 'a'::text) AND (word ~<~ 'b'::text))",
        ];
        assert_eq!(plan(&bitmap), ["i"]);
    }
}
