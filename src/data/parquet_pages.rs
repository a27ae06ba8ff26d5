//! Checks the pages of a Parquet file before the decoder reads them.

use parquet::{
    column::page::{Page, PageMetadata, PageReader},
    errors::{ParquetError, Result},
};

/// Reader of the pages of a column. A dictionary that claims more values than it has bytes is an error, because the decoder
/// allocates as many values as are claimed before it reads them, gigabytes for a damaged file.
pub struct CheckedPages(pub Box<dyn PageReader>);

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.0.get_next_page()?;
        if let Some(Page::DictionaryPage { buf, num_values, .. }) = &page
            && *num_values as usize > buf.len()
        {
            let n_bytes = buf.len();
            return Err(ParquetError::General(format!("a dictionary of {num_values} values in {n_bytes} bytes")));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.0.at_record_boundary()
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::Encoding;

    struct One(Option<Page>);

    impl PageReader for One {
        fn get_next_page(&mut self) -> Result<Option<Page>> {
            Ok(self.0.take())
        }
        fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
            Ok(None)
        }
        fn skip_next_page(&mut self) -> Result<()> {
            Ok(())
        }
        fn at_record_boundary(&mut self) -> Result<bool> {
            Ok(true)
        }
    }

    impl Iterator for One {
        type Item = Result<Page>;
        fn next(&mut self) -> Option<Self::Item> {
            self.get_next_page().transpose()
        }
    }

    #[test]
    fn a_dictionary_cannot_claim_more_than_it_has() {
        for (num_values, whole) in [(2, true), (16, true), (17, false), (1_149_860_644, false)] {
            let page = Page::DictionaryPage {
                buf: vec![0; 16].into(),
                num_values,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            let read = CheckedPages(Box::new(One(Some(page)))).get_next_page();
            assert_eq!(read.is_ok(), whole, "{num_values}");
        }
    }
}
