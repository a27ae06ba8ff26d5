//! NumPy archives: zip files that hold one `.npy` file per array, stored or deflated.

use npyz::{
    NpyFile, Serialize, WriteOptions, WriterBuilder as _,
    npz::{array_name_from_file_name, file_name_from_array_name},
    write_options::WithWriter,
};
use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Seek, Write},
    path::Path,
};
use zip::{ZipArchive, ZipWriter, read::ZipFile, result::ZipError, write::SimpleFileOptions};

/// NumPy archive to read.
pub struct NpzArchive<R: Read + Seek> {
    zip: ZipArchive<R>,
}

impl NpzArchive<BufReader<File>> {
    /// Opens an archive. Fails if the file cannot be read or is no zip file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::new(BufReader::new(File::open(path)?))
    }
}

impl<R: Read + Seek> NpzArchive<R> {
    /// Reads the directory of an archive. Fails if it is no zip file.
    pub fn new(reader: R) -> io::Result<Self> {
        Ok(Self { zip: ZipArchive::new(reader)? })
    }

    /// Returns the names of all arrays; other entries and those with unreadable names are omitted.
    pub fn array_names(&self) -> impl Iterator<Item = String> {
        let array = |name: &str| array_name_from_file_name(name).map(str::to_owned);
        self.zip.file_names().filter_map(move |name| array(&name.ok()?))
    }

    /// Returns the `.npy` file of an array; `None` without such an array. Fails if the entry is damaged.
    pub fn entry(&mut self, name: &str) -> io::Result<Option<ZipFile<'_, R>>> {
        match self.zip.by_name(&file_name_from_array_name(name)) {
            Ok(file) => Ok(Some(file)),
            Err(ZipError::FileNotFound) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Returns an array; `None` without such an array. Fails if the entry or the header of the array is damaged.
    pub fn by_name(&mut self, name: &str) -> io::Result<Option<NpyFile<ZipFile<'_, R>>>> {
        self.entry(name)?.map(NpyFile::new).transpose()
    }
}

/// NumPy archive to write.
pub struct NpzWriter<W: Write + Seek> {
    zip: ZipWriter<W>,
}

impl NpzWriter<BufWriter<File>> {
    /// Creates the file of an archive, in place of an existing one.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self::new(BufWriter::new(File::create(path)?)))
    }
}

/// Builder of the header of an array, which takes its type and shape.
pub type ArrayBuilder<'w, T, W> = WithWriter<&'w mut ZipWriter<W>, WriteOptions<T>>;

impl<W: Write + Seek> NpzWriter<W> {
    /// Begins an archive.
    pub fn new(writer: W) -> Self {
        Self { zip: ZipWriter::new(writer) }
    }

    /// Begins the entry of an array. Fails if the archive cannot be written or has an array of this name.
    pub fn array<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        options: SimpleFileOptions,
    ) -> io::Result<ArrayBuilder<'_, T, W>> {
        self.zip.start_file(file_name_from_array_name(name), options)?;
        Ok(WriteOptions::new().writer(&mut self.zip))
    }

    /// Writes the directory of the archive, and returns the writer.
    pub fn finish(self) -> io::Result<W> {
        Ok(self.zip.finish()?)
    }
}
