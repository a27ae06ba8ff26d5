//! Writes a table of named columns as Apache Parquet.

use parquet::{
    basic::Compression,
    data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::Result,
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use std::{io, sync::Arc};

/// Values of a column, one per row.
#[derive(Clone, Debug, PartialEq)]
pub enum TableColumn {
    /// Texts in UTF-8.
    Text(Vec<String>),
    /// Whole numbers without a sign.
    Integer(Vec<u64>),
    /// Numbers; `None` for a missing value.
    Real(Vec<Option<f64>>),
}

/// Formats a table of columns of equal length as Parquet. Equal columns give equal bytes.
///
/// # Errors
/// Fails if a name is not one of a Parquet schema.
pub fn table_as_parquet(columns: &[(&str, TableColumn)]) -> io::Result<Vec<u8>> {
    format(columns).map_err(io::Error::other)
}

fn format(columns: &[(&str, TableColumn)]) -> Result<Vec<u8>> {
    let field = |(name, column): &(&str, TableColumn)| match column {
        TableColumn::Text(_) => format!("required binary {name} (UTF8);"),
        TableColumn::Integer(_) => format!("required int64 {name} (INTEGER(64, false));"),
        TableColumn::Real(_) => format!("optional double {name};"),
    };
    let fields: Vec<String> = columns.iter().map(field).collect();
    let schema = Arc::new(parse_message_type(&format!("message results {{ {} }}", fields.join(" ")))?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut bytes = vec![];
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (_, column) in columns {
        let Some(mut target) = group.next_column()? else { break };
        match column {
            TableColumn::Text(texts) => {
                let texts: Vec<ByteArray> = texts.iter().map(|text| ByteArray::from(text.as_str())).collect();
                target.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
            }
            TableColumn::Integer(numbers) => {
                let numbers: Vec<i64> = numbers.iter().map(|n| n.cast_signed()).collect();
                target.typed::<Int64Type>().write_batch(&numbers, None, None)?;
            }
            TableColumn::Real(numbers) => {
                let levels: Vec<i16> = numbers.iter().map(|x| i16::from(x.is_some())).collect();
                let numbers: Vec<f64> = numbers.iter().flatten().copied().collect();
                target.typed::<DoubleType>().write_batch(&numbers, Some(&levels), None)?;
            }
        }
        target.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};

    #[test]
    fn missing_values_are_read_back() {
        let columns = [
            ("name", TableColumn::Text(vec!["a".into(), "b, c".into()])),
            ("seed", TableColumn::Integer(vec![3, 9])),
            ("value", TableColumn::Real(vec![None, Some(0.5)])),
        ];
        let bytes = table_as_parquet(&columns).expect("a file");
        assert_eq!(table_as_parquet(&columns).expect("a file"), bytes);
        let temp = TempFolder::new("columns");
        let path = temp.join("table.parquet");
        std::fs::write(&path, bytes).expect("a file");
        let file = SerializedFileReader::new(std::fs::File::open(&path).expect("a file")).expect("a reader");
        let rows: Vec<String> =
            file.get_row_iter(None).expect("rows").map(|row| row.expect("a row").to_string()).collect();
        assert_eq!(rows, ["{name: \"a\", seed: 3, value: null}", "{name: \"b, c\", seed: 9, value: 0.5}"]);
    }
}
