//! Reads MySQL's `EXPLAIN ANALYZE` (reference manual, "Obtaining Information with EXPLAIN ANALYZE").

use dbdyno_engine::estimates::Estimate;

/// A step and its inputs.
#[derive(Debug, Default)]
struct Step {
    text: String,
    /// Estimated and actual rows per execution.
    expected: Option<f64>,
    found: Option<f64>,
    executions: Option<f64>,
    below: Vec<Step>,
}

/// Steps that read all input before they return the first row.
const READ_ALL: [&str; 8] = [
    "Sort",
    "Hash",
    "Materialize",
    "Temporary table",
    "Aggregate",
    "Union materialize",
    "Intersect materialize",
    "Except materialize",
];

/// Reads the output: one step per line, indented more than its parent.
pub fn read(told: &str) -> Vec<Estimate> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for line in told.lines() {
        match (line.trim_start().strip_prefix("-> "), lines.last_mut()) {
            (Some(step), _) => lines.push((line.len() - line.trim_start().len(), step.to_owned())),
            // A string in a condition may span several lines.
            (None, Some((_, before))) => before.push_str(line),
            (None, None) => {}
        }
    }
    let mut lines = lines.into_iter().peekable();
    let mut all = Vec::new();
    while let Some((indent, line)) = lines.next() {
        let root = tree(indent, &line, &mut lines);
        walk(&root, 0, false, &mut all);
    }
    all
}

type Lines = std::iter::Peekable<std::vec::IntoIter<(usize, String)>>;

/// Builds a step from its line and the lines below it.
fn tree(indent: usize, line: &str, lines: &mut Lines) -> Step {
    let mut step = parse(line);
    while let Some((further, line)) = lines.next_if(|(further, _)| *further > indent) {
        step.below.push(tree(further, &line, lines));
    }
    step
}

/// Reads `Filter: (a = 1)  (cost=1.5 rows=9) (actual time=0.1..0.2 rows=10 loops=1)`.
fn parse(line: &str) -> Step {
    let told = [
        line.rfind("  (cost="),
        line.rfind("  (actual "),
        line.rfind("  (never executed"),
    ];
    let end = told.into_iter().flatten().min().unwrap_or(line.len());
    let (text, numbers) = line.split_at(end);
    let (expected, actual) = numbers.split_once("(actual ").unwrap_or((numbers, ""));
    Step {
        text: text.trim_end().to_owned(),
        expected: number(expected, "rows="),
        found: number(actual, "rows="),
        executions: number(actual, "loops="),
        below: Vec::new(),
    }
}

fn number(text: &str, name: &str) -> Option<f64> {
    let (_, behind) = text.split_once(name)?;
    behind.split([' ', ')']).next()?.parse().ok()
}

/// Reads a step and its descendants. `early`: the step may be stopped before it has returned all rows.
fn walk(step: &Step, depth: u32, early: bool, all: &mut Vec<Estimate>) {
    let text = step.text.as_str();
    if let (Some(expected), Some(found), Some(executions)) = (step.expected, step.found, step.executions)
        && is_told(text)
    {
        // The filter on a table's rows is a separate step above the scan.
        let read = match &step.below[..] {
            [only] if text.starts_with("Filter:") => only.text.as_str(),
            _ => text,
        };
        Estimate {
            step: text.to_owned(),
            table: table(read).map(str::to_owned),
            depth,
            expected,
            found,
            executions,
            at_least: early,
        }
        .add_to(all);
    }
    // The number of executions of a recursive part doesn't determine its total rows.
    if text.starts_with("Repeat until convergence") {
        return;
    }
    for (place, below) in step.below.iter().enumerate() {
        walk(below, depth + 1, ends_early(step, place, early), all);
    }
}

/// Whether a step may stop fetching rows from an input early.
fn ends_early(step: &Step, place: usize, early: bool) -> bool {
    let text = step.text.as_str();
    // A subquery in a condition may be stopped after one row.
    if step.below[place].text.starts_with("Select #") || text.starts_with("Limit table size") {
        return true;
    }
    if READ_ALL.iter().any(|name| text.starts_with(name)) {
        return false;
    }
    if let Some(most) = limit(text) {
        return early || step.found.is_none_or(|found| found >= most);
    }
    let stops_at_first = ["semijoin", "antijoin", "FirstMatch", "LooseScan"]
        .iter()
        .any(|word| text.contains(word));
    if text.starts_with("Nested loop") {
        return early || place > 0 && stops_at_first;
    }
    // If the hash table is empty, the other input isn't read.
    let empty =
        |each: &Step| each.text == "Hash" && each.below.iter().all(|below| below.found.unwrap_or_default() < 1.0);
    early || text.contains("hash") && step.below.iter().any(empty)
}

/// The row count of a limit: `Limit: 5 row(s)`, `Limit/Offset: 5/10 row(s)`.
fn limit(text: &str) -> Option<f64> {
    let told = text
        .strip_prefix("Limit")?
        .trim_start_matches("/Offset")
        .strip_prefix(": ")?;
    told.split(['/', ' ']).next()?.parse().ok()
}

/// Whether a step determines its row count, instead of passing rows on, limiting them or producing constants.
fn is_told(text: &str) -> bool {
    let name = text.split('(').next().unwrap_or_default();
    let groups_or_joins = name.starts_with("Group aggregate") || !name.contains(':') && name.contains("join");
    table(text).is_some() || name.starts_with("Filter:") || groups_or_joins
}

/// The table that a step reads: `Index lookup on o using by_kind (kind = 0)`.
fn table(text: &str) -> Option<&str> {
    let (how, behind) = text.split_once(" on ")?;
    let reads = how.ends_with("scan") || how.ends_with("lookup") || how.ends_with("search");
    let name = behind.split_whitespace().next()?;
    (reads && !how.contains(':') && !name.starts_with('<')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOIN: &str = "\
-> Aggregate: count(0)  (cost=904 rows=1) (actual time=0.854..0.855 rows=1 loops=1)
    -> Nested loop inner join  (cost=882 rows=97.1) (actual time=0.852..0.852 rows=0 loops=1)
        -> Filter: (c.city = 'c3')  (cost=202 rows=200) (actual time=0.0318..0.434 rows=20 loops=1)
            -> Table scan on c  (cost=202 rows=2000) (actual time=0.0269..0.33 rows=2e+3 loops=1)
        -> Filter: ((o.kind = 0) and (o.state = 'a
  b'))  (cost=2.43 rows=0.486) (actual time=0.0207..0.0207 rows=0 loops=20)
            -> Index lookup on o using by_customer (customer = c.id)  (cost=2.43 rows=9.71) (actual time=0.0191..0.0198 rows=10 loops=20)
";

    fn told(text: &str) -> Vec<(String, Option<String>, f64, f64)> {
        read(text)
            .into_iter()
            .map(|each| (each.step, each.table, each.expected, each.found))
            .collect()
    }

    #[test]
    fn a_join_is_read() {
        let all = read(JOIN);
        let steps: Vec<_> = all
            .iter()
            .map(|each| (each.table.as_deref(), each.depth, each.expected, each.found))
            .collect();
        assert_eq!(
            steps,
            [
                (None, 1, 97.1, 0.0),
                (Some("c"), 2, 200.0, 20.0),
                (Some("c"), 3, 2000.0, 2000.0),
                (Some("o"), 2, 0.486, 0.0),
                (Some("o"), 3, 9.71, 10.0),
            ]
        );
        assert_eq!(all[4].executions, 20.0);
    }

    #[test]
    fn steps_below_a_limit_count_if_they_are_read_completely() {
        let limited = |found: u32, between: &str| {
            format!(
                "-> Limit: 4 row(s)  (cost=1 rows=4) (actual time=1..1 rows={found} loops=1)\n{between}\
                 \x20       -> Table scan on t  (cost=2 rows=9000) (actual time=1..1 rows=8 loops=1)\n"
            )
        };
        assert_eq!(told(&limited(4, "")), []);
        assert_eq!(told(&limited(3, "")).len(), 1);
        let sort = "    -> Sort: t.a, limit input to 4 row(s) per chunk  (cost=2 rows=9000) (actual time=1..1 rows=4 loops=1)\n";
        assert_eq!(told(&limited(4, sort)).len(), 1);
    }

    #[test]
    fn steps_that_may_stop_early_or_never_ran_are_left_out() {
        let semi = "\
-> Nested loop semijoin  (cost=1 rows=10) (actual time=1..1 rows=10 loops=1)
    -> Table scan on a  (cost=1 rows=10) (actual time=1..1 rows=10 loops=1)
    -> Index lookup on b using i (x = a.x)  (cost=1 rows=500) (actual time=1..1 rows=1 loops=10)
";
        assert_eq!(told(semi).len(), 2);
        assert_eq!(told(&semi.replace("semijoin", "inner join")).len(), 3);
        let never = "-> Table scan on a  (cost=1 rows=10) (never executed)\n";
        assert_eq!(told(never), []);
        let hashed = |rows: u32| {
            format!(
                "-> Inner hash join (a.x = b.x)  (cost=1 rows=10) (actual time=1..1 rows=0 loops=1)\n    \
                 -> Table scan on a  (cost=1 rows=9000) (actual time=1..1 rows=0 loops=1)\n    \
                 -> Hash\n        -> Table scan on b  (cost=1 rows=10) (actual time=1..1 rows={rows} loops=1)\n"
            )
        };
        assert_eq!(told(&hashed(0)).len(), 2);
        assert_eq!(told(&hashed(1)).len(), 3);
    }

    #[test]
    fn any_output_can_be_read() {
        for text in ["", "->", "-> ", "x\n-> y on  (cost=", "-> a\n        -> b\n  -> c\n"] {
            assert_eq!(read(text), []);
        }
    }
}
