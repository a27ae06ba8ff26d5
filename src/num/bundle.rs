//! Files that a build script compressed into the program.

/// Files, one after another, as a zstd frame.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// The zstd frame.
    pub packed: &'static [u8],
    /// Length of the uncompressed files, bytes.
    pub len: usize,
}

impl Bundle {
    /// Decompresses the files.
    pub fn bytes(&self) -> Vec<u8> {
        zstd::bulk::decompress(self.packed, self.len).expect("the build script compressed it")
    }

    /// Decompresses files that are texts.
    pub fn text(&self) -> String {
        String::from_utf8(self.bytes()).expect("PTX and sources are UTF-8")
    }
}
