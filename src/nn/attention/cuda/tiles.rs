//! Tile shapes of the attention kernels, with threads and shared memory per block.

/// Tokens, threads and bytes of shared memory per block, for the kernels in `nn/attention_flash_kernels.cuh`.
pub type Tile = (usize, u32, u32);
/// Tiles of the forward pass. Shared memory holds queries, and two stages of 64 keys and values.
pub const FORWARD_64: Tile = (128, 128, 2 * 64 * (128 + 4 * 64));
pub const FORWARD_128: Tile = (128, 256, 2 * 128 * (128 + 4 * 64));
/// Tiles for gradients of queries. Shared memory holds queries and gradients of results, and two stages of 64 or 32 keys and
/// values.
pub const QUERIES_64: Tile = (64, 128, 2 * 64 * (2 * 64 + 4 * 64));
pub const QUERIES_128: Tile = (64, 128, 2 * 128 * (2 * 64 + 4 * 32));
/// Tiles for gradients of keys and values. Shared memory holds keys and values, and two stages of 64 or 32 queries, gradients
/// of results and two f32 each.
pub const KEYS_64: Tile = (64, 128, 2 * 64 * (2 * 64 + 4 * 64) + 4 * 4 * 64);
pub const KEYS_128: Tile = (64, 128, 2 * 128 * (2 * 64 + 4 * 32) + 4 * 4 * 32);

/// Additional bytes of the kernels in `nn/attention_hopper_kernels.cuh`, for alignment to 1024 bytes and for barriers.
const MORE: u32 = 1024 + 128;
/// Tiles of the forward pass. Shared memory holds queries, and two stages of keys and values.
pub const HOPPER_FORWARD_64: Tile = (128, 384, 2 * 64 * (128 + 4 * 128) + MORE);
pub const HOPPER_FORWARD_128: Tile = (128, 384, 2 * 128 * (128 + 4 * 128) + MORE);
/// Tiles for gradients of queries. Shared memory holds queries and gradients of results, and three stages of keys and values.
pub const HOPPER_QUERIES_64: Tile = (128, 384, 2 * 64 * (2 * 128 + 6 * 64) + MORE);
pub const HOPPER_QUERIES_128: Tile = (128, 384, 2 * 128 * (2 * 128 + 6 * 64) + MORE);
/// Tiles for gradients of keys and values. Shared memory holds keys and values, and three stages of queries, gradients of
/// results and two f32 each.
pub const HOPPER_KEYS_64: Tile = (128, 384, 2 * 64 * (2 * 128 + 6 * 64) + 4 * 6 * 64 + MORE);
pub const HOPPER_KEYS_128: Tile = (128, 384, 2 * 128 * (2 * 128 + 6 * 64) + 4 * 6 * 64 + MORE);
/// Tiles for all gradients in one kernel. Shared memory is aligned; it holds the contents of [`HOPPER_KEYS_64`], two buffers of
/// gradients of 128 × 64 logits, and the f32 sums of 64 queries.
pub const HOPPER_BACKWARD_64: Tile = (128, 384, HOPPER_KEYS_64.2 - 1024 + 4 * 128 * 64 + 4 * 64 * 64);
pub const HOPPER_BACKWARD_128: Tile = (128, 384, HOPPER_KEYS_128.2 - 1024 + 4 * 128 * 64 + 4 * 64 * 128);
/// Queries per tile of the f32 sums of their gradients.
pub const HOPPER_SUMS: usize = 64;
/// Keys per stage in the forward pass; keys and queries per stage in the backward pass.
pub const HOPPER_STAGES: (usize, usize) = (128, 64);

/// Tiles without tensor cores. Shared memory holds queries, keys, values and logits, for gradients also gradients of results,
/// in 64 rows of 68 floats each.
pub const NAIVE_FORWARD_64: Tile = (64, 256, 4 * 4 * 64 * 68);
pub const NAIVE_BACKWARD_64: Tile = (64, 256, 5 * 4 * 64 * 68);
