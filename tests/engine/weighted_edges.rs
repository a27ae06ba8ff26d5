//! Edge lists with weights and delays: what is read, and the sentence for each mistake. The entry points have populations of
//! 8 and 5 neurons and a time step of 0.1 ms.

use neuropil::data::{
    DataError,
    fuzz_entry::{weighted_csv, weighted_parquet},
    weighted_edges::WeightedEdges,
};
use parquet::{
    basic::Compression,
    data_type::{ByteArray, ByteArrayType, DoubleType, FloatType, Int32Type},
    file::{metadata::KeyValue, properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use std::sync::Arc;

/// Values of a column.
pub enum Values<'a> {
    Whole(&'a [i32]),
    Double(&'a [f64]),
    Single(&'a [f32]),
    Text(&'a [&'a str]),
}

/// Writes a Parquet file of named columns, with two row groups of equal rows.
pub fn parquet(columns: &[(&str, Values<'_>)], about: &[(&str, &str)]) -> Vec<u8> {
    let word = |values: &Values<'_>| match values {
        Values::Whole(_) => "int32",
        Values::Double(_) => "double",
        Values::Single(_) => "float",
        Values::Text(_) => "binary",
    };
    let fields: String = columns.iter().map(|(name, v)| format!("required {} {name};", word(v))).collect();
    let schema = Arc::new(parse_message_type(&format!("message edges {{ {fields} }}")).expect("a schema"));
    let about = about.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned())).collect();
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let properties = properties.set_key_value_metadata(Some(about)).build();
    let mut bytes = vec![];
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).expect("a writer");
    for _ in 0..2 {
        let mut group = writer.next_row_group().expect("a row group");
        for (_, values) in columns {
            let mut column = group.next_column().expect("a column").expect("as many as in the schema");
            match values {
                Values::Whole(v) => column.typed::<Int32Type>().write_batch(v, None, None),
                Values::Double(v) => column.typed::<DoubleType>().write_batch(v, None, None),
                Values::Single(v) => column.typed::<FloatType>().write_batch(v, None, None),
                Values::Text(v) => {
                    let v: Vec<ByteArray> = v.iter().map(|text| ByteArray::from(*text)).collect();
                    column.typed::<ByteArrayType>().write_batch(&v, None, None)
                }
            }
            .expect("written");
            column.close().expect("closed");
        }
        group.close().expect("closed");
    }
    writer.close().expect("closed");
    bytes
}

/// Lists presynaptic neuron, target, weight and delay in steps, in order.
fn listed(edges: &WeightedEdges) -> Vec<(u32, u32, f64, u32)> {
    let first = edges.delays.map_or(0, |(first, _)| first);
    let row = |pre: u32| {
        edges.range(pre).map(move |at| {
            let word = edges.words[at];
            (pre, word & ((1 << 26) - 1), edges.weight(at), first + (word >> 26))
        })
    };
    (0..8).flat_map(row).collect()
}

fn read(outcome: Result<Option<WeightedEdges>, DataError>) -> WeightedEdges {
    outcome.expect("readable").expect("weights or delays")
}

/// Returns the message from the ending of the file name on.
fn message(outcome: Result<Option<WeightedEdges>, DataError>) -> String {
    let text = outcome.expect_err("an error").to_string();
    let (_, end) = text.split_once(".csv").or_else(|| text.split_once(".parquet: ")).expect("a file name");
    end.to_owned()
}

#[test]
fn each_row_is_a_connection_with_its_weight_and_delay() {
    let text = b"pre,note,delay_ms,post,w\n2,a,1.5,1,-0.75\n0,b,0.1,4,2.5\n2,c,0.36,1,8\r\n0,,3,4,\" 1e-3 \"\n\n0,d,0.1,4,2.5\n";
    let edges = read(weighted_csv(text));
    let expected = [(0, 4, 2.5, 1), (0, 4, 2.5, 1), (0, 4, 1e-3, 30), (2, 1, 8.0, 4), (2, 1, -0.75, 15)];
    for (found, expected) in listed(&edges).iter().zip(expected) {
        assert!((found.2 - expected.2).abs() < 1e-8, "{found:?}");
        assert_eq!((found.0, found.1, found.3), (expected.0, expected.1, expected.3));
    }
    assert_eq!((edges.words.len(), edges.delays), (5, Some((1, 30))));
    assert_eq!(edges.notices, Vec::<String>::new());
}

/// Multiples of a power of two with up to 28 bits are exact. A group of rows is read after another one.
#[test]
fn parquet_holds_weights_exactly() {
    let w = [3.0 / 1024.0, -f64::from((1 << 27) + 1) / 1024.0];
    let columns = [("pre", Values::Whole(&[7, 0])), ("post", Values::Whole(&[0, 1])), ("w", Values::Double(&w))];
    let edges = read(weighted_parquet(&parquet(&columns, &[("w_exponent", "-10"), ("w_unit", "pA")])));
    assert_eq!(listed(&edges), [(0, 1, w[1], 0), (0, 1, w[1], 0), (7, 0, w[0], 0), (7, 0, w[0], 0)]);
    assert_eq!((edges.declared_exponent, edges.delays), (Some(-10), None));
    let delays = [("delay_ms", Values::Single(&[6.4, 0.1]))];
    let with_delays = read(weighted_parquet(&parquet(&columns.into_iter().chain(delays).collect::<Vec<_>>(), &[])));
    assert_eq!(listed(&with_delays).iter().map(|c| c.3).collect::<Vec<_>>(), [1, 1, 64, 64]);
    assert_eq!((with_delays.declared_exponent, with_delays.delays), (None, Some((1, 64))));
}

/// Files that were read as synapse counts are still read as such.
#[test]
fn whole_numbers_without_delays_are_counts() {
    let is_counts = |text: &str| weighted_csv(text.as_bytes()).expect("readable").is_none();
    assert!(is_counts("pre,post,w\n0,1,5\n0,2,-7\n") && is_counts("pre,post\n0,1\n"));
    assert!(!is_counts("pre,post,w\n0,1,5\n0,2,-7.0\n") && !is_counts("pre,post,w,delay_ms\n0,1,5,1\n"));
    let of = |w: Values<'_>| {
        weighted_parquet(&parquet(&[("pre", Values::Whole(&[0])), ("post", Values::Whole(&[1])), ("w", w)], &[]))
    };
    assert!(
        of(Values::Whole(&[5])).expect("readable").is_none() && of(Values::Double(&[5.0])).expect("readable").is_some()
    );
    let unsigned = "pre,post,Connectivity,Excitatory,delay_ms\n0,1,5,-1,2\n";
    assert_eq!(listed(&read(weighted_csv(unsigned.as_bytes()))), [(0, 1, -5.0, 20)]);
    let ones = read(weighted_csv(b"pre,post,delay_ms\n0,1,2\n"));
    assert_eq!(listed(&ones), [(0, 1, 1.0, 20)]);
    let no_unit = read(weighted_csv(b"pre,post,w,Delay\n0,1,2.5,7\n"));
    assert!(
        no_unit.notices[0].ends_with("the column \"Delay\" is not read; delays are read from a column \"delay_ms\".")
    );
}

#[test]
fn mistakes_are_named_with_file_and_row() {
    let cases = [
        ("pre,post,w\n0,1,abc\n", ":2: column \"w\": \"abc\" is not a number"),
        ("pre,post,w\n0,1,1.5\n0,1,nan\n", ":3: column \"w\": a weight is missing or NaN"),
        ("pre,post,w\n0,1,-inf\n", ":2: column \"w\": a weight of -inf overflows; weights are within ±1e9"),
        ("pre,post,w\n0,1,1e300\n", "overflows; weights are within ±1e9"),
        ("pre,post,w\n8,1,1.5\n", ":2: column \"pre\": index 8 is beyond the 8 presynaptic neurons (0 to 7)"),
        ("pre,post,w\n0,5,1.5\n", ":2: column \"post\": index 5 is beyond the 5 postsynaptic neurons (0 to 4)"),
        ("pre,post,w\n0,-1,1.5\n", ":2: column \"post\": negative index -1"),
        (
            "pre,post,w,delay_ms\n0,1,1,1\n0,1,1,-2\n",
            ":3: column \"delay_ms\": a delay of -2 ms is below the time step of 0.1 ms",
        ),
        ("pre,post,w,delay_ms\n0,1,1,0.05\n", "a delay of 0.05 ms is below the time step of 0.1 ms. Raise the delay"),
        ("pre,post,w,delay_ms\n0,1,1,\n", ":2: column \"delay_ms\": \"\" is not a number"),
        ("pre,post,w,delay_ms\n0,1,1,NaN\n", ":2: column \"delay_ms\": a delay is missing or NaN"),
        ("pre,post,w,delay_ms\n0,1,1,1000.5\n", "a delay of 1000.5 ms is not possible; delays are at most 1000 ms"),
        (
            "pre,post,w,delay_ms\n0,1,1,1\n0,1,1,7.4\n",
            ":3: column \"delay_ms\": a delay of 7.4 ms is 64 steps above the smallest one of 10 steps; the delays of a \
             projection span at most 64 steps",
        ),
        ("post,w,delay_ms\n0,1,1\n", ":1: no column \"pre\" or \"Presynaptic_Index\""),
        ("pre,post,w,delay_ms\n0,1,1\n", ":2: 3 of 4 columns"),
    ];
    for (text, expected) in cases {
        let said = message(weighted_csv(text.as_bytes()));
        assert!(said.contains(expected), "{text:?}: {said}");
    }
    let ends = || [("pre", Values::Whole(&[0, 3])), ("post", Values::Whole(&[1, 4]))];
    let cases = [
        (("w", Values::Double(&[1.0, f64::NAN])), "column \"w\", row group 0, row 1: a weight is missing or NaN"),
        (("w", Values::Text(&["a", "b"])), "column \"w\" has type BYTE_ARRAY; numbers expected"),
        (
            ("delay_ms", Values::Single(&[1.0, -1.0])),
            "column \"delay_ms\", row group 0, row 1: a delay of -1 ms is below",
        ),
        (
            ("delay_ms", Values::Whole(&[1, 9])),
            "row group 0, row 1: a delay of 9 ms is 80 steps above the smallest one",
        ),
        (("delay_ms", Values::Text(&["1", "2"])), "column \"delay_ms\" has type BYTE_ARRAY; numbers expected"),
    ];
    for (column, expected) in cases {
        let columns: Vec<_> = ends().into_iter().chain([column]).collect();
        let said = message(weighted_parquet(&parquet(&columns, &[])));
        assert!(said.contains(expected), "{said}");
    }
    let said = message(weighted_parquet(&parquet(&[("pre", Values::Whole(&[0]))], &[])));
    assert!(said.starts_with("no column \"post\""), "{said}");
}
