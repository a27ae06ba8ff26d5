//! Labelled images: a table with a class and pixels per row.

use super::{DataError, ProgressFn, data_table::DataTable, messages};
use std::path::Path;

/// Name of the column of the classes.
const LABEL: &str = "label";

/// Images of a file.
#[derive(Debug, Default)]
pub struct LabelledImages {
    /// Class of each image: index in [`LabelledImages::classes`].
    pub labels: Vec<u32>,
    /// Names of the classes, sorted; numbers by value.
    pub classes: Vec<String>,
    /// Number of pixels of an image.
    pub pixels: usize,
    /// Values of the pixels, at least 0: `[images × pixels]`.
    pub values: Vec<f64>,
}

/// Reads the images of a table. Fails if the file is not a table, has no column `label`, no pixels or no rows, or if a pixel is not a
/// number of at least 0; errors name line and column.
pub fn read(path: &Path, watch: &ProgressFn) -> Result<LabelledImages, DataError> {
    let table = DataTable::read(path, |_, _| true, watch)?;
    let Some(label) = table.find(&[LABEL]) else {
        let what = messages::no_column(&[LABEL], &table.names);
        return Err(DataError::format(path, format!("{what}. The first line is a header: {LABEL} and the pixels")));
    };
    let texts: Vec<String> = table.texts(label)?.iter().map(|text| text.trim().to_owned()).collect();
    let pixels: Vec<usize> = (0..table.columns.len()).filter(|i| *i != label).collect();
    if texts.is_empty() || pixels.is_empty() {
        let what = "it has no images: at least one row with a label and one pixel is needed";
        return Err(DataError::format(path, what));
    }
    if let Some(row) = texts.iter().position(String::is_empty) {
        return Err(table.error(row, label, "the class is empty"));
    }
    let mut values = vec![0.0; texts.len() * pixels.len()];
    for (at, column) in pixels.iter().enumerate() {
        for (row, value) in table.reals(*column)?.into_iter().enumerate() {
            if !(value.is_finite() && value >= 0.0) {
                return Err(table.error(row, *column, "a pixel is a finite number of at least 0"));
            }
            values[row * pixels.len() + at] = value;
        }
    }
    let classes = sorted(&texts);
    let index = |text: &String| classes.iter().position(|class| class == text).unwrap_or(0) as u32;
    Ok(LabelledImages { labels: texts.iter().map(index).collect(), pixels: pixels.len(), values, classes })
}

/// Returns the distinct texts, sorted: numbers first, by value.
fn sorted(texts: &[String]) -> Vec<String> {
    let mut classes = texts.to_vec();
    classes.sort();
    classes.dedup();
    classes.sort_by(|a, b| {
        let number = |text: &String| text.parse::<f64>().unwrap_or(f64::INFINITY);
        number(a).total_cmp(&number(b))
    });
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    fn of(name: &str, text: &str) -> Result<LabelledImages, String> {
        let folder = TempFolder::new("images");
        let path = folder.join(name);
        std::fs::write(&path, text).expect("written");
        read(&path, &|_, _| true).map_err(|error| error.to_string())
    }

    #[test]
    fn classes_are_sorted_and_pixels_in_the_order_of_columns() {
        let set = of("a.csv", "p0,label,p1\n0,10,255\n128,9,51\n").expect("images");
        assert_eq!((set.classes, set.labels, set.pixels), (vec!["9".to_owned(), "10".to_owned()], vec![1, 0], 2));
        assert_eq!(set.values, [0.0, 255.0, 128.0, 51.0]);
    }

    #[test]
    fn errors_name_line_and_column() {
        let error = |text: &str| of("b.csv", text).expect_err("an error");
        let text = error("label,p0,p1\n1,0,3\n2,x,3\n");
        assert!(text.contains("b.csv:3: column \"p0\""), "{text}");
        let text = error("label,p0,p1\n1,0,-3\n");
        assert!(text.contains("b.csv:2: column \"p1\""), "{text}");
        assert!(error("p0,p1\n1,2\n").contains("no column \"label\""));
        assert!(error("label,p0\n").contains("no images"));
        assert!(error("label,p0\n,1\n").contains("b.csv:2: column \"label\""));
    }
}
