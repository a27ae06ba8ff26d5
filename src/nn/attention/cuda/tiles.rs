//! Tiles of the kernels of attention: what a block computes at once, and what of it is in shared memory.

/// Tokens of a block, its threads and bytes of shared memory; of the kernels in `nn/attention_flash_kernels.cuh`.
pub type Tile = (usize, u32, u32);
/// Forward: queries, and two stages of 64 keys and values.
pub const FORWARD_64: Tile = (128, 128, 2 * 64 * (128 + 4 * 64));
pub const FORWARD_128: Tile = (128, 256, 2 * 128 * (128 + 4 * 64));
/// Queries and gradients of results, and two stages of 64 or 32 keys and values.
pub const QUERIES_64: Tile = (64, 128, 2 * 64 * (2 * 64 + 4 * 64));
pub const QUERIES_128: Tile = (64, 128, 2 * 128 * (2 * 64 + 4 * 32));
/// Keys and values, and two stages of 64 or 32 queries, gradients of results and two f32 each.
pub const KEYS_64: Tile = (64, 128, 2 * 64 * (2 * 64 + 4 * 64) + 4 * 4 * 64);
pub const KEYS_128: Tile = (64, 128, 2 * 128 * (2 * 64 + 4 * 32) + 4 * 4 * 32);

/// The same of the kernels in `nn/attention_hopper_kernels.cuh`, which begin at a multiple of 1024 bytes and end with barriers.
const MORE: u32 = 1024 + 128;
/// Forward: queries, and two stages of keys and values.
pub const HOPPER_FORWARD_64: Tile = (128, 384, 2 * 64 * (128 + 4 * 128) + MORE);
pub const HOPPER_FORWARD_128: Tile = (128, 384, 2 * 128 * (128 + 4 * 128) + MORE);
/// Queries and gradients of results, and three stages of keys and values.
pub const HOPPER_QUERIES_64: Tile = (128, 384, 2 * 64 * (2 * 128 + 6 * 64) + MORE);
pub const HOPPER_QUERIES_128: Tile = (128, 384, 2 * 128 * (2 * 128 + 6 * 64) + MORE);
/// Keys and values, and three stages of queries, gradients of results and two f32 each.
pub const HOPPER_KEYS_64: Tile = (128, 384, 2 * 64 * (2 * 128 + 6 * 64) + 4 * 6 * 64 + MORE);
pub const HOPPER_KEYS_128: Tile = (128, 384, 2 * 128 * (2 * 128 + 6 * 64) + 4 * 6 * 64 + MORE);
/// The same with two buffers of gradients of 128 x 64 logits and the f32 sums of 64 queries; the memory is aligned as declared.
pub const HOPPER_BACKWARD_64: Tile = (128, 384, HOPPER_KEYS_64.2 - 1024 + 4 * 128 * 64 + 4 * 64 * 64);
pub const HOPPER_BACKWARD_128: Tile = (128, 384, HOPPER_KEYS_128.2 - 1024 + 4 * 128 * 64 + 4 * 64 * 128);
/// Queries whose sums are a tile.
pub const HOPPER_SUMS: usize = 64;
/// Keys of a stage forward; keys and queries of one backward.
pub const HOPPER_STAGES: (usize, usize) = (128, 64);

/// Without tensor cores: queries, keys, values and logits, with gradients of results, 64 rows of 68 floats each.
pub const NAIVE_FORWARD_64: Tile = (64, 256, 4 * 4 * 64 * 68);
pub const NAIVE_BACKWARD_64: Tile = (64, 256, 5 * 4 * 64 * 68);
