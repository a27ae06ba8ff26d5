//! Files named in a query.

use crate::query::{Query, parse};

/// Returns the files of all `file = …` tests in a query; empty for text that is not a query.
pub fn files_of_query(text: &str) -> Vec<String> {
    let Ok(query) = parse(text) else { return vec![] };
    let mut files = vec![];
    let mut open = vec![&query];
    while let Some(query) = open.pop() {
        match query {
            Query::Test(column, _, values) if column.text.eq_ignore_ascii_case("file") => {
                files.extend(values.iter().map(|value| value.text.clone()));
            }
            Query::All | Query::Set(_) | Query::Test(..) => {}
            Query::Not(of) | Query::Choose { of, .. } | Query::Linked { of, .. } => open.push(of),
            Query::And(parts) | Query::Or(parts) => open.extend(parts),
        }
    }
    files
}
