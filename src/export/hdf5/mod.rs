//! Writes HDF5 files without a library: groups, attributes, and datasets that grow row by row and keep one chunk in memory each.
//! Several datasets grow at a time, and are read back while they grow. `HDF5 File Format Specification Version 3.0` describes the structures: superblock of version
//! 2, object headers of version 2 with links as messages, chunks found by a version 1 B-tree, without filters. HDF5 reads them since
//! version 1.8.
//!
//! The crate `hdf5-pure` reads files, but appends only to one-dimensional datasets and synchronises the disk with each chunk, so it
//! does not serve here.

mod checksum;
mod chunks;
mod read_back;
mod types;

use checksum::lookup3;
use chunks::{BTREE_NONE, write_index};
use std::{
    fs::File,
    io::{self, BufWriter, Seek as _, SeekFrom, Write as _},
    marker::PhantomData,
};
use types::dataspace;
pub(super) use types::{Attribute, Datatype, Number};

/// Approximate size of a chunk, bytes.
const CHUNK: usize = 1 << 19;
/// Size of the superblock, bytes.
const SUPERBLOCK: u64 = 48;
/// Address that stands for none.
const NONE: [u8; 8] = [0xff; 8];

/// Number of texts in a heap.
const PER_HEAP: usize = 1024;
/// Smallest size of a heap, bytes.
const MIN_HEAP: usize = 4096;

/// Returns the bytes of a text in a heap. An empty text is a NUL, because readers in C receive no pointer for no bytes.
fn stored(text: &str) -> &[u8] {
    if text.is_empty() { b"\0" } else { text.as_bytes() }
}

/// Returns a global heap with the texts, by their number from 1.
fn heap(texts: &[String]) -> Vec<u8> {
    let mut objects = vec![];
    let object = |to: &mut Vec<u8>, index: u16, n_bytes: u64| {
        to.extend_from_slice(&index.to_le_bytes());
        to.extend_from_slice(&u16::from(index > 0).to_le_bytes());
        to.extend_from_slice(&[0; 4]);
        to.extend_from_slice(&n_bytes.to_le_bytes());
    };
    for (index, text) in (1..).zip(texts) {
        object(&mut objects, index, stored(text).len() as u64);
        objects.extend_from_slice(stored(text));
        objects.resize(objects.len().next_multiple_of(8), 0);
    }
    let n_bytes = (16 + objects.len() + 16).max(MIN_HEAP);
    // Object 0 is the free space at the end, with its own head.
    let free = n_bytes - 16 - objects.len();
    object(&mut objects, 0, free as u64);
    let mut heap = [&b"GCOL\x01\0\0\0"[..], &(n_bytes as u64).to_le_bytes(), &objects].concat();
    heap.resize(n_bytes, 0);
    heap
}

/// Types of messages in object headers.
mod message {
    pub const DATASPACE: u8 = 0x01;
    pub const LINK_INFO: u8 = 0x02;
    pub const DATATYPE: u8 = 0x03;
    pub const FILL_VALUE: u8 = 0x05;
    pub const LINK: u8 = 0x06;
    pub const LAYOUT: u8 = 0x08;
    pub const GROUP_INFO: u8 = 0x0a;
    pub const ATTRIBUTE: u8 = 0x0c;
    pub const REFERENCE_COUNT: u8 = 0x16;
}

/// Address of a group or a dataset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object(u64);

/// Names of groups and datasets with their addresses.
pub(super) type Links = Vec<(String, Object)>;

/// File that is being written: datasets first, then the groups that contain them.
pub(super) struct Writer {
    file: BufWriter<File>,
    /// End of the file.
    end: u64,
}

impl Writer {
    /// Begins a file. Fails if it cannot be written.
    pub fn new(file: File) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 17, file);
        file.write_all(&[0; SUPERBLOCK as usize])?;
        Ok(Self { file, end: SUPERBLOCK })
    }

    /// Writes bytes at the end and returns their address.
    fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let address = self.end;
        self.file.write_all(bytes)?;
        // Structures begin at multiples of 8.
        let padding = bytes.len().next_multiple_of(8) - bytes.len();
        self.file.write_all(&[0; 8][..padding])?;
        self.end += (bytes.len() + padding) as u64;
        Ok(address)
    }

    /// Adds a row to a dataset. Fails if a chunk cannot be written.
    pub fn push<T: Number>(&mut self, dataset: &mut Dataset<T>, row: &[T]) -> io::Result<()> {
        row.iter().for_each(|value| value.put(&mut dataset.bytes));
        dataset.n += 1;
        if dataset.n.is_multiple_of(dataset.per_chunk) {
            dataset.chunks.push(self.append(&dataset.bytes)?);
            dataset.bytes.clear();
        }
        Ok(())
    }

    /// Ends a dataset. Fails if the file cannot be written.
    pub fn close<T: Number>(&mut self, mut dataset: Dataset<T>, attributes: &[Attribute]) -> io::Result<Object> {
        // A dataset that is shorter than a chunk has a chunk of its length.
        let per_chunk = dataset.n.clamp(1, dataset.per_chunk);
        let row_bytes = dataset.row.iter().product::<u64>() * u64::from(T::datatype().n_bytes);
        if !dataset.bytes.is_empty() {
            dataset.bytes.resize((per_chunk * row_bytes) as usize, 0);
            dataset.chunks.push(self.append(&dataset.bytes)?);
        }
        let chunk: Vec<u64> = [&[per_chunk], &dataset.row[..]].concat();
        let n_bytes = (per_chunk * row_bytes) as u32;
        let index = write_index(self, &dataset.chunks, &chunk, n_bytes)?;
        let mut layout = vec![3, 2, chunk.len() as u8 + 1];
        layout.extend_from_slice(&index.unwrap_or(BTREE_NONE).to_le_bytes());
        chunk.iter().for_each(|n| layout.extend_from_slice(&(*n as u32).to_le_bytes()));
        layout.extend_from_slice(&T::datatype().n_bytes.to_le_bytes());
        let shape = [&[dataset.n], &dataset.row[..]].concat();
        self.dataset(&T::datatype(), &shape, layout, (attributes, dataset.n_links))
    }

    /// Writes a one-dimensional dataset of numbers. Fails if the file cannot be written.
    pub fn numbers<T: Number>(
        &mut self,
        values: impl IntoIterator<Item = T>,
        attributes: &[Attribute],
    ) -> io::Result<Object> {
        let mut dataset = Dataset::new(&[]);
        values.into_iter().try_for_each(|value| self.push(&mut dataset, &[value]))?;
        self.close(dataset, attributes)
    }

    /// Writes a one-dimensional dataset of texts of variable length. Fails if the file cannot be written.
    pub fn texts(&mut self, texts: &[String]) -> io::Result<Object> {
        let mut references = vec![];
        for part in texts.chunks(PER_HEAP) {
            let heap = self.append(&heap(part))?;
            for (i, text) in part.iter().enumerate() {
                references.extend_from_slice(&(stored(text).len() as u32).to_le_bytes());
                references.extend_from_slice(&heap.to_le_bytes());
                references.extend_from_slice(&(i as u32 + 1).to_le_bytes());
            }
        }
        let address = if references.is_empty() { NONE } else { self.append(&references)?.to_le_bytes() };
        let layout = [&[3, 1], &address[..], &(references.len() as u64).to_le_bytes()].concat();
        self.dataset(&Datatype::long_text(), &[texts.len() as u64], layout, (&[], 1))
    }

    fn dataset(
        &mut self,
        datatype: &Datatype,
        shape: &[u64],
        layout: Vec<u8>,
        (attributes, n_links): (&[Attribute], u32),
    ) -> io::Result<Object> {
        // Version 3, space allocated as it grows, filled only with a value that is set, and none is.
        let fill = vec![3, 0x0b];
        let mut messages = vec![
            (message::DATASPACE, dataspace(shape)),
            (message::DATATYPE, datatype.message.clone()),
            (message::FILL_VALUE, fill),
            (message::LAYOUT, layout),
        ];
        messages.extend(attributes.iter().map(|of| (message::ATTRIBUTE, of.message())));
        if n_links > 1 {
            messages.push((message::REFERENCE_COUNT, [&[0], &n_links.to_le_bytes()[..]].concat()));
        }
        self.object(&messages)
    }

    /// Writes a group. Fails if the file cannot be written.
    pub fn group(&mut self, links: &[(String, Object)], attributes: &[Attribute]) -> io::Result<Object> {
        let info = [&[0, 0], &NONE[..], &NONE].concat();
        let mut messages = vec![(message::LINK_INFO, info), (message::GROUP_INFO, vec![0, 0])];
        for (name, Object(address)) in links {
            // Version 1, with a character set (1: UTF-8) and a length of the name of two bytes.
            let length = (name.len() as u16).to_le_bytes();
            let link = [&[1, 0x11, 1, length[0], length[1]], name.as_bytes(), &address.to_le_bytes()].concat();
            messages.push((message::LINK, link));
        }
        messages.extend(attributes.iter().map(|of| (message::ATTRIBUTE, of.message())));
        self.object(&messages)
    }

    /// Writes an object header of version 2.
    fn object(&mut self, messages: &[(u8, Vec<u8>)]) -> io::Result<Object> {
        let mut body = vec![];
        for (kind, content) in messages {
            body.push(*kind);
            let length = u16::try_from(content.len()).map_err(io::Error::other)?;
            body.extend_from_slice(&length.to_le_bytes());
            body.push(0);
            body.extend_from_slice(content);
        }
        // The size of the messages has four bytes (flags 2).
        let mut header = [&b"OHDR\x02\x02"[..], &(body.len() as u32).to_le_bytes(), &body].concat();
        header.extend_from_slice(&lookup3(&header).to_le_bytes());
        self.append(&header).map(Object)
    }

    /// Writes the superblock, which names the root group. Fails if the file cannot be written.
    pub fn finish(mut self, Object(root): Object) -> io::Result<()> {
        let mut block = b"\x89HDF\r\n\x1a\n\x02\x08\x08\x00".to_vec();
        block.extend_from_slice(&0_u64.to_le_bytes());
        block.extend_from_slice(&NONE);
        block.extend_from_slice(&self.end.to_le_bytes());
        block.extend_from_slice(&root.to_le_bytes());
        block.extend_from_slice(&lookup3(&block).to_le_bytes());
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&block)?;
        self.file.flush()
    }
}

/// Dataset that is being written.
pub(super) struct Dataset<T> {
    /// Shape of a row.
    row: Vec<u64>,
    /// Number of rows in a chunk.
    per_chunk: u64,
    /// Rows that are not written yet.
    bytes: Vec<u8>,
    /// Number of rows so far.
    n: u64,
    /// Addresses of the written chunks.
    chunks: Vec<u64>,
    /// Number of names that the dataset has in groups.
    n_links: u32,
    of: PhantomData<T>,
}

impl<T: Number> Dataset<T> {
    /// Begins a dataset with rows of the shape `row`; the first dimension grows.
    pub fn new(row: &[u64]) -> Self {
        let row_bytes = row.iter().product::<u64>().max(1) * u64::from(T::datatype().n_bytes);
        let per_chunk = (CHUNK as u64 / row_bytes).max(1);
        Self { row: row.to_vec(), per_chunk, bytes: vec![], n: 0, chunks: vec![], n_links: 1, of: PhantomData }
    }

    /// Sets the number of names that the dataset has in groups, 1 by default.
    pub fn linked(self, n_links: u32) -> Self {
        Self { n_links, ..self }
    }
}
