//! Checks the schema in the footer of a Parquet file before the decoder reads the footer.
//!
//! The decoder allocates as many children as a schema element claims, gigabytes for a damaged file, and a failed allocation
//! aborts the program. Therefore this module adds up the claims first; the decoder checks the rest of the footer.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
};

/// Maximum nesting; deeper nesting is treated as damage.
const DEPTH: u32 = 64;

/// Whether the schema's elements claim no more children than there are elements. Returns `true` for a footer that cannot be
/// parsed, because the decoder rejects it. Fails if the file cannot be read.
pub fn is_plausible(file: &mut File) -> io::Result<bool> {
    let len = file.metadata()?.len();
    let mut tail = [0; 8];
    if len < 12 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-8))?;
    file.read_exact(&mut tail)?;
    let footer = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if &tail[4..] != b"PAR1" || footer > len - 8 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-8 - footer as i64))?;
    let mut bytes = vec![0; footer as usize];
    file.read_exact(&mut bytes)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(Walk(&bytes).children_fit().unwrap_or(true))
}

/// Reader of Thrift's compact protocol, as far as needed to find the schema. Methods return `None` if the bytes cannot be
/// parsed.
struct Walk<'a>(&'a [u8]);

const BOOL: u8 = 2;
const I8: u8 = 3;
const I64: u8 = 6;
const F64: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

impl Walk<'_> {
    /// Returns whether the schema elements have at most as many children as there are elements; `None` if the metadata cannot
    /// be parsed. The list of schema elements is field 2 of the file's metadata, and field 5 of an element is its number of
    /// children.
    fn children_fit(&mut self) -> Option<bool> {
        let mut id = 0;
        loop {
            let kind = self.field(&mut id)?;
            if id == 2 && kind == LIST {
                break;
            }
            self.skip(kind, DEPTH)?;
        }
        let elements = self.list()?.1;
        let mut children = 0_u64;
        for _ in 0..elements {
            let mut id = 0;
            while let kind @ 1.. = self.field(&mut id)? {
                if id == 5 && (4..=I64).contains(&kind) {
                    let zigzag = self.varint()?;
                    children += if zigzag & 1 == 0 { zigzag >> 1 } else { u64::from(u32::MAX) };
                } else {
                    self.skip(kind, DEPTH)?;
                }
                if children > elements {
                    return Some(false);
                }
            }
        }
        Some(true)
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Reads the type of the next field, and updates `id` to the field's number; type 0 ends a struct. Returns `None` at the
    /// end of the bytes.
    fn field(&mut self, id: &mut u64) -> Option<u8> {
        let header = self.byte()?;
        let (delta, kind) = (header >> 4, header & 15);
        if kind != 0 {
            *id = if delta == 0 { self.varint()? >> 1 } else { id.checked_add(delta.into())? };
        }
        Some(kind)
    }

    /// Reads the type of a list's items and their number. Returns `None` at the end of the bytes.
    fn list(&mut self) -> Option<(u8, u64)> {
        let header = self.byte()?;
        let n = if header >> 4 == 15 { self.varint()? } else { u64::from(header >> 4) };
        Some((header & 15, n))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            1 | BOOL => {}
            I8 => _ = self.byte()?,
            4..=I64 => _ = self.varint()?,
            F64 => self.0 = self.0.get(8..)?,
            BINARY => {
                let n = usize::try_from(self.varint()?).ok()?;
                self.0 = self.0.get(n..)?;
            }
            LIST | SET => {
                let (kind, n) = self.list()?;
                (0..n).try_for_each(|_| self.item(kind, depth))?;
            }
            MAP => {
                let n = self.varint()?;
                let kinds = if n > 0 { self.byte()? } else { 0 };
                (0..n).try_for_each(|_| self.item(kinds >> 4, depth).and_then(|()| self.item(kinds & 15, depth)))?;
            }
            STRUCT => {
                let mut id = 0;
                while let kind @ 1.. = self.field(&mut id)? {
                    self.skip(kind, depth)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Skips an item of a list or a map. A Boolean item takes a byte, while a Boolean field takes none: without this
    /// distinction, a damaged count of Booleans would cause an endless loop. Returns `None` if the item is damaged or nested
    /// too deeply.
    fn item(&mut self, kind: u8, depth: u32) -> Option<()> {
        self.skip(if kind <= BOOL { I8 } else { kind }, depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns metadata with a version and a schema of elements with the name "a" and these numbers of children.
    fn metadata(children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x15, 2, 0x19, (children.len() as u8) << 4 | STRUCT];
        for n in children {
            bytes.extend([0x48, 1, b'a', 0x15, n << 1, 0]);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn children_are_counted() {
        for (children, fits) in [(&[2, 0, 0][..], true), (&[3, 0, 0], true), (&[4, 0, 0], false), (&[60], false)] {
            assert_eq!(Walk(&metadata(children)).children_fit(), Some(fits), "{children:?}");
        }
        let whole = metadata(&[2, 0, 0]);
        for cut in 0..whole.len() - 4 {
            assert_ne!(Walk(&whole[..cut]).children_fit(), Some(false), "cut at {cut}");
        }
    }

    #[test]
    fn endless_claims_end() {
        let many = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        for kinds in [0x00, 0x11, 0x12, 0x22, 0x33] {
            let mut map = vec![0x1b];
            map.extend(many);
            map.extend([kinds, 1, 2, 3]);
            assert_eq!(Walk(&map).children_fit(), None, "{kinds:#x}");
            let mut list = vec![0x19, 0xf0 | (kinds & 15)];
            list.extend(many);
            assert_eq!(Walk(&list).children_fit(), None, "{kinds:#x}");
            list[0] = 0x29; // the schema itself
            assert_eq!(Walk(&list).children_fit(), None, "{kinds:#x}");
        }
    }
}
