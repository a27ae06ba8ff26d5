//! Index of the chunks of a dataset: a B-tree of version 1.

use super::Writer;
use std::io;

/// Address of the index of a dataset without chunks.
pub(super) const BTREE_NONE: u64 = u64::MAX;
/// Number of entries of a node, twice the default rank for chunks.
const ENTRIES: usize = 64;

/// Writes the index of chunks that divide the first dimension; `chunk` is their shape. Returns its address; `None` without chunks.
pub(super) fn write_index(to: &mut Writer, chunks: &[u64], chunk: &[u64], n_bytes: u32) -> io::Result<Option<u64>> {
    let key = |i: usize| {
        let mut key = [n_bytes.to_le_bytes(), [0; 4]].concat();
        key.extend_from_slice(&(i as u64 * chunk[0]).to_le_bytes());
        key.resize(8 + 8 * (chunk.len() + 1), 0);
        key
    };
    // Entries of a level: number of the first chunk, and address.
    let mut entries: Vec<(usize, u64)> = chunks.iter().copied().enumerate().collect();
    for level in 0_u8.. {
        if entries.len() < 2 && (level > 0 || entries.is_empty()) {
            break;
        }
        let n_node = 24 + ENTRIES * 8 + (ENTRIES + 1) * key(0).len();
        let n_nodes = entries.len().div_ceil(ENTRIES);
        let begin = to.end;
        let address = |i: usize| begin + (i * n_node.next_multiple_of(8)) as u64;
        let mut parents = vec![];
        for (i, part) in entries.chunks(ENTRIES).enumerate() {
            let mut node = [&b"TREE\x01"[..], &[level], &(part.len() as u16).to_le_bytes()].concat();
            let left = i.checked_sub(1).map_or(BTREE_NONE, address);
            let right = if i + 1 < n_nodes { address(i + 1) } else { BTREE_NONE };
            node.extend_from_slice(&left.to_le_bytes());
            node.extend_from_slice(&right.to_le_bytes());
            for (first, child) in part {
                node.extend_from_slice(&key(*first));
                node.extend_from_slice(&child.to_le_bytes());
            }
            let next = entries.get((i + 1) * ENTRIES).map_or(chunks.len(), |(first, _)| *first);
            node.extend_from_slice(&key(next));
            node.resize(n_node, 0);
            parents.push((part[0].0, to.append(&node)?));
        }
        entries = parents;
    }
    Ok(entries.first().map(|(_, address)| *address))
}
