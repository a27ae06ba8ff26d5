//! Tables as CSV in memory.

/// Formats records as CSV, each on a line; cells with commas, quotes or line breaks are quoted.
pub fn csv_text<R: IntoIterator<Item: AsRef<[u8]>>>(records: impl IntoIterator<Item = R>) -> String {
    // Rows of different lengths are not an error, so that writing to memory cannot fail.
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(vec![]);
    for record in records {
        let is_written = writer.write_record(record).is_ok();
        debug_assert!(is_written, "writing to memory does not fail");
    }
    writer.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_if_they_need_it() {
        assert_eq!(csv_text([vec!["step", "a, b"], vec!["1", "say \"x\""]]), "step,\"a, b\"\n1,\"say \"\"x\"\"\"\n");
        assert_eq!(csv_text(Vec::<Vec<String>>::new()), "");
    }
}
