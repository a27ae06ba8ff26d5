//! Formats of weights and activations.

use crate::{
    gpu::{Buf, Slice},
    nn::{optimizer::cuda::Copy, storage::Storage},
    num::elements::{Bf16, Element, F16},
};

/// f32, f16 or bf16: where the weights of the model are.
pub trait ModelFormat: Storage + Element {
    /// Whether the weights are a rounded copy of the master weights.
    const HAS_COPY: bool;
    /// The weights that the layers use.
    fn weights<'a>(master: &'a Buf<f32>, copy: &'a Buf<Self>) -> &'a Slice<Self>;
    /// The copy, as the optimiser writes it.
    fn copy(copy: &mut Buf<Self>) -> Copy<'_>;
}

impl ModelFormat for f32 {
    const HAS_COPY: bool = false;
    fn weights<'a>(master: &'a Buf<f32>, _: &'a Buf<Self>) -> &'a Slice<Self> {
        master
    }
    fn copy(_: &mut Buf<Self>) -> Copy<'_> {
        Copy::None
    }
}

impl ModelFormat for F16 {
    const HAS_COPY: bool = true;
    fn weights<'a>(_: &'a Buf<f32>, copy: &'a Buf<Self>) -> &'a Slice<Self> {
        copy
    }
    fn copy(copy: &mut Buf<Self>) -> Copy<'_> {
        Copy::F16(copy)
    }
}

impl ModelFormat for Bf16 {
    const HAS_COPY: bool = true;
    fn weights<'a>(_: &'a Buf<f32>, copy: &'a Buf<Self>) -> &'a Slice<Self> {
        copy
    }
    fn copy(copy: &mut Buf<Self>) -> Copy<'_> {
        Copy::Bf16(copy)
    }
}
