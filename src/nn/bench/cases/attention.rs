//! Benchmark cases of attention: the variant that is chosen on Hopper, the variant of mma.sync, and the variant without tensor
//! cores.

use super::*;
use crate::{
    gpu::Pass,
    nn::{
        attention::{
            Attention, AttentionDropout, Gradients, Inputs, Lengths,
            cuda::{CudaAttention, Variant},
        },
        dropout::{Dropout, cuda::DropoutStep},
    },
};

/// Kernels that are not measured: those of other head sizes, and of probability maps.
#[cfg(test)]
pub const LEFT_OUT: &[&str] = &[
    "attention_forward_256",
    "attention_queries_backward_256",
    "attention_keys_backward_256",
    "attention_decode_256",
    "attention_map",
];

/// Returns the cases. Kernel names are those of compute capability 9.0; other devices run the kernels of mma.sync in the first
/// four cases.
pub fn cases() -> Vec<Case> {
    let case = |name, kernels, work, prepare| Case { name, kernels, work, prepare };
    vec![
        case("attention-causal-16x1024x12x64", &["hopper_forward_64"], forward(&gpt2()), |gpu| {
            run_forward(gpu, gpt2(), None)
        }),
        case(
            "attention-causal-backward-16x1024x12x64",
            &["attention_dots", "hopper_queries_backward_64", "hopper_keys_backward_64"],
            backward(&gpt2()),
            |gpu| run_backward(gpu, gpt2(), None),
        ),
        case("attention-2x8192x16x128", &["hopper_forward_128"], forward(&long()), |gpu| {
            run_forward(gpu, long(), None)
        }),
        case(
            "attention-backward-2x8192x16x128",
            &["attention_dots", "hopper_queries_backward_128", "hopper_keys_backward_128"],
            backward(&long()),
            |gpu| run_backward(gpu, long(), None),
        ),
        case("attention-mma-causal-16x1024x12x64", &["flash_forward_64"], forward(&gpt2()), |gpu| {
            run_forward(gpu, gpt2(), Some(Variant::Flash))
        }),
        case(
            "attention-mma-causal-backward-16x1024x12x64",
            &["attention_dots", "flash_queries_backward_64", "flash_keys_backward_64"],
            backward(&gpt2()),
            |gpu| run_backward(gpu, gpt2(), Some(Variant::Flash)),
        ),
        case("attention-mma-2x8192x16x128", &["flash_forward_128"], forward(&long()), |gpu| {
            run_forward(gpu, long(), Some(Variant::Flash))
        }),
        case(
            "attention-mma-backward-2x8192x16x128",
            &["attention_dots", "flash_queries_backward_128", "flash_keys_backward_128"],
            backward(&long()),
            |gpu| run_backward(gpu, long(), Some(Variant::Flash)),
        ),
        case("attention-atomics-backward-2x8192x16x128", &BY_ATOMICS_128, backward(&long()), |gpu| {
            run_backward_by_atomics(gpu, long())
        }),
        case("attention-atomics-causal-backward-16x1024x12x64", &BY_ATOMICS_64, backward(&gpt2()), |gpu| {
            run_backward_by_atomics(gpu, gpt2())
        }),
        case("attention-dropout-causal-16x1024x12x64", &["hopper_forward_64"], forward(&gpt2()), |gpu| {
            run_forward(gpu, dropping(), None)
        }),
        case(
            "attention-dropout-causal-backward-16x1024x12x64",
            &["attention_dots", "hopper_queries_backward_64", "hopper_keys_backward_64"],
            backward(&gpt2()),
            |gpu| run_backward(gpu, dropping(), None),
        ),
        case("attention-mma-dropout-causal-16x1024x12x64", &["flash_forward_64"], forward(&gpt2()), |gpu| {
            run_forward(gpu, dropping(), Some(Variant::Flash))
        }),
        case(
            "attention-mma-dropout-causal-backward-16x1024x12x64",
            &["attention_dots", "flash_queries_backward_64", "flash_keys_backward_64"],
            backward(&gpt2()),
            |gpu| run_backward(gpu, dropping(), Some(Variant::Flash)),
        ),
        case("attention-naive-causal-16x1024x12x64", &["attention_forward_64"], forward(&gpt2()), |gpu| {
            run_forward(gpu, gpt2(), Some(Variant::Naive))
        }),
        case(
            "attention-naive-causal-backward-16x1024x12x64",
            &["attention_dots", "attention_queries_backward_64", "attention_keys_backward_64"],
            backward(&gpt2()),
            |gpu| run_backward(gpu, gpt2(), Some(Variant::Naive)),
        ),
        case("attention-4x4096x12x64", &["hopper_forward_64"], forward(&square()), |gpu| {
            run_forward(gpu, square(), None)
        }),
        case("attention-causal-4x4096x12x64", &["hopper_forward_64"], forward(&square().causal()), |gpu| {
            run_forward(gpu, square().causal(), None)
        }),
        case("attention-packed-even-16384x12x64", &["hopper_forward_64"], packed(&EVEN), |gpu| run_packed(gpu, &EVEN)),
        case("attention-packed-mixed-16384x12x64", &["hopper_forward_64"], packed(&MIXED), |gpu| {
            run_packed(gpu, &MIXED)
        }),
        Case {
            name: "attention-decode-64x4096x12x64",
            kernels: &["attention_decode_128", "attention_join"],
            // All keys and values are read once.
            work: Work::bytes(2 * 64 * 4096 * C * H),
            prepare: decode,
        },
    ]
}

/// Returns the attention of GPT-2 with 124 million parameters.
fn gpt2() -> Attention {
    Attention::packed_qkv(N / T, T, HEADS, HEADS, C / HEADS).causal()
}

/// Returns the attention of [`gpt2`] with dropout of probabilities.
fn dropping() -> Attention {
    let drop = Dropout { p: 0.1, seed: 1, layer_site: 0x8001, offset: 0 };
    Attention { dropout: Some(AttentionDropout { drop, step: 0, first_token: 0, keys: T }), ..gpt2() }
}

/// Returns an attention with sizes for comparison with FlashAttention.
fn long() -> Attention {
    Attention::packed_qkv(2, 8192, 16, 16, 128)
}

/// Returns an attention with sizes for comparison with a causal mask, which skips half of the tiles.
fn square() -> Attention {
    Attention::packed_qkv(4, 4096, HEADS, HEADS, C / HEADS)
}

/// Returns the work of a forward pass: two products; a causal mask skips half of them.
fn forward(op: &Attention) -> Work {
    let (tokens, width) = (op.batch * op.q_len, op.heads * op.head_dim);
    let all = 4.0 * (tokens * op.k_len) as f64 * width as f64;
    Work { bytes: (4 * tokens * width * H) as f64, tensor_ops: if op.causal { all / 2.0 } else { all } }
}

/// Returns the work of a backward pass: five products.
fn backward(op: &Attention) -> Work {
    let forward = forward(op);
    Work { bytes: 2.0 * forward.bytes, tensor_ops: 2.5 * forward.tensor_ops }
}

/// Kernels of a backward pass that adds the gradients of queries by atomics.
const BY_ATOMICS_64: [&str; 3] = ["attention_dots", "hopper_backward_64", "hopper_finish_queries_64"];
const BY_ATOMICS_128: [&str; 3] = ["attention_dots", "hopper_backward_128", "hopper_finish_queries_128"];

struct Buffers {
    cuda: CudaAttention,
    qkv: Buf<Bf16>,
    o: Buf<Bf16>,
    lse: Buf<f32>,
    step: Option<Buf<DropoutStep>>,
    arena: Arena,
}

impl Buffers {
    fn new(gpu: &Arc<Gpu>, op: &Attention, fast_nondeterministic: bool) -> Result<Self, String> {
        let (tokens, width) = (op.batch * op.q_len, op.heads * op.head_dim);
        let cuda = CudaAttention::new(gpu).with_fast_nondeterministic(fast_nondeterministic);
        let arena = Arena::new(gpu, "workspace of the benchmark", cuda.scratch_bytes(op)).map_err(text)?;
        let qkv = numbers(gpu, tokens * (op.heads + 2 * op.kv_heads) * op.head_dim)?;
        let step = op.dropout.map(|of| copy(gpu, &[DropoutStep::of_attention(&of)])).transpose()?;
        Ok(Self { cuda, qkv, o: zeros(gpu, tokens * width)?, lse: zeros(gpu, op.lse_len())?, step, arena })
    }
}

fn run_forward(gpu: &Arc<Gpu>, op: Attention, variant: Option<Variant>) -> Result<Launch, String> {
    let Buffers { cuda, qkv, mut o, mut lse, step, mut arena } = Buffers::new(gpu, &op, false)?;
    Ok(Box::new(move |pass| {
        let inputs = Inputs::packed(&*qkv).dropout(step.as_deref());
        cuda.forward(pass, &op, &inputs, &mut o, &mut lse, variant, &arena.frame()).map(drop).map_err(text)
    }))
}

fn run_backward(gpu: &Arc<Gpu>, op: Attention, variant: Option<Variant>) -> Result<Launch, String> {
    backward_of(gpu, op, variant, Buffers::new(gpu, &op, false)?)
}

fn run_backward_by_atomics(gpu: &Arc<Gpu>, op: Attention) -> Result<Launch, String> {
    backward_of(gpu, op, Some(Variant::Hopper), Buffers::new(gpu, &op, true)?)
}

fn backward_of(gpu: &Arc<Gpu>, op: Attention, variant: Option<Variant>, buffers: Buffers) -> Result<Launch, String> {
    let Buffers { cuda, qkv, mut o, mut lse, step, mut arena } = buffers;
    let (d_o, mut dqkv) = (numbers(gpu, o.len())?, zeros::<Bf16>(gpu, qkv.len())?);
    let inputs = Inputs::packed(&*qkv).dropout(step.as_deref());
    let first = cuda.forward(&mut Pass::default(), &op, &inputs, &mut o, &mut lse, variant, &arena.frame());
    first.map_err(text)?;
    Ok(Box::new(move |pass| {
        let (inputs, gradients) = (Inputs::packed(&*qkv).dropout(step.as_deref()), Gradients::Packed(&mut *dqkv));
        let frame = arena.frame();
        let call = cuda.backward(pass, &op, &inputs, (&o, &lse), &d_o, gradients, None, variant, &frame);
        call.map(drop).map_err(text)
    }))
}

/// Lengths and counts of packed sequences. Both cases have the same number of tokens; `MIXED` has 4.6 times as many pairs.
const EVEN: [(usize, usize); 1] = [(1024, 16)];
const MIXED: [(usize, usize); 4] = [(8192, 1), (2048, 2), (512, 4), (128, 16)];

/// Returns the work of causal attention within packed sequences. If both cases reach the same rate, time is proportional to the
/// sum of the squared lengths.
fn packed(sequences: &[(usize, usize)]) -> Work {
    let of = |(len, n): &(usize, usize)| {
        let one = forward(&Attention::packed_qkv(1, *len, HEADS, HEADS, C / HEADS).causal());
        (one.bytes * *n as f64, one.tensor_ops * *n as f64)
    };
    let (bytes, tensor_ops) = sequences.iter().map(of).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    Work { bytes, tensor_ops }
}

fn run_packed(gpu: &Arc<Gpu>, sequences: &[(usize, usize)]) -> Result<Launch, String> {
    let lens = sequences.iter().flat_map(|(len, n)| std::iter::repeat_n(*len, *n));
    let mut starts = vec![0_i32];
    starts.extend(lens.scan(0, |end, len| {
        *end += len as i32;
        Some(*end)
    }));
    let (batch, tokens) = (starts.len() - 1, starts[starts.len() - 1] as usize);
    let longest = sequences.iter().map(|(len, _)| *len).max().unwrap_or(0);
    let op = Attention::packed_qkv(batch, longest, HEADS, HEADS, C / HEADS).causal().lengths(Lengths::Packed);
    let (cuda, qkv, starts) = (CudaAttention::new(gpu), numbers(gpu, tokens * 3 * C)?, copy(gpu, &starts)?);
    let (mut o, mut lse) = (zeros::<Bf16>(gpu, tokens * C)?, zeros(gpu, op.lse_len())?);
    let mut arena = Arena::new(gpu, "workspace of the benchmark", cuda.scratch_bytes(&op)).map_err(text)?;
    Ok(Box::new(move |pass| {
        let inputs = Inputs::packed(&*qkv).lengths(Some(&*starts), None);
        cuda.forward(pass, &op, &inputs, &mut o, &mut lse, None, &arena.frame()).map(drop).map_err(text)
    }))
}

/// Launches attention of one new token in each of 64 sequences with a full KV cache.
fn decode(gpu: &Arc<Gpu>) -> Result<Launch, String> {
    let op = Attention::cached(64, 1, 4096, HEADS, HEADS, C / HEADS);
    let cuda = CudaAttention::new(gpu);
    let (q, k, v) =
        (numbers(gpu, op.batch * 3 * C)?, numbers(gpu, op.batch * 4096 * C)?, numbers(gpu, op.batch * 4096 * C)?);
    let (mut o, mut lse) = (zeros::<Bf16>(gpu, op.batch * C)?, zeros(gpu, op.lse_len())?);
    let lengths = copy(gpu, &vec![4096_i32; op.batch])?;
    let mut arena = Arena::new(gpu, "workspace of the benchmark", cuda.scratch_bytes(&op)).map_err(text)?;
    Ok(Box::new(move |pass| {
        let inputs = Inputs::new(&*q, &*k, &*v).lengths(None, Some(&*lengths));
        cuda.forward(pass, &op, &inputs, &mut o, &mut lse, None, &arena.frame()).map(drop).map_err(text)
    }))
}
