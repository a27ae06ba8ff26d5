//! Number formats of weights and activations.

use crate::{
    gpu::{Buf, GpuError, Slice, View},
    nn::{optimizer::cuda::Copy, storage::Storage},
    num::elements::{Bf16, Element, F16},
};

/// Number format in which layers compute: f32, f16 or bf16.
pub trait ModelFormat: Storage + Element {
    /// Whether the layers' weights are a rounded copy of the f32 master weights.
    const HAS_COPY: bool;
    /// Returns the weights that the layers read.
    fn weights<'a>(master: &'a Buf<f32>, copy: &'a Buf<Self>) -> &'a Slice<Self>;
    /// Returns a tensor of this format as the target of rounding; [`Copy::None`] for f32.
    fn copy(copy: &mut Slice<Self>) -> Copy<'_>;
    /// Returns the memory in which a tensor is computed in f32: `own` for f32, otherwise `room`, from which
    /// [`keep`](Self::keep) rounds the result.
    fn wide<'a>(own: &'a mut Slice<Self>, room: &'a mut Slice<f32>) -> &'a mut Slice<f32>;
    /// Converts f32 values to this format. For f32, returns `x`; otherwise rounds `x` with `round` to the beginning of
    /// `room`. Fails if a launch fails.
    fn rounded<'a>(
        x: &'a Slice<f32>,
        room: &'a mut Slice<Self>,
        round: impl FnOnce(&Slice<f32>, Copy<'_>) -> Result<(), GpuError>,
    ) -> Result<View<'a, Self>, GpuError>;

    /// Rounds a result in `room` to its tensor. Does nothing for f32. Fails if a launch fails.
    fn keep(
        own: &mut Slice<Self>,
        room: &Slice<f32>,
        round: impl FnOnce(&Slice<f32>, Copy<'_>) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        if Self::HAS_COPY { round(room, Self::copy(own)) } else { Ok(()) }
    }
}

impl ModelFormat for f32 {
    const HAS_COPY: bool = false;
    fn weights<'a>(master: &'a Buf<f32>, _: &'a Buf<Self>) -> &'a Slice<Self> {
        master
    }
    fn copy(_: &mut Slice<Self>) -> Copy<'_> {
        Copy::None
    }
    fn wide<'a>(own: &'a mut Slice<Self>, _: &'a mut Slice<f32>) -> &'a mut Slice<f32> {
        own
    }
    fn rounded<'a>(
        x: &'a Slice<f32>,
        _: &'a mut Slice<Self>,
        _: impl FnOnce(&Slice<f32>, Copy<'_>) -> Result<(), GpuError>,
    ) -> Result<View<'a, Self>, GpuError> {
        x.part(0..x.len())
    }
}

macro_rules! halves {
    ($($T:ident),*) => { $(
        impl ModelFormat for $T {
            const HAS_COPY: bool = true;
            fn weights<'a>(_: &'a Buf<f32>, copy: &'a Buf<Self>) -> &'a Slice<Self> {
                copy
            }
            fn copy(copy: &mut Slice<Self>) -> Copy<'_> {
                Copy::$T(copy)
            }
            fn wide<'a>(_: &'a mut Slice<Self>, room: &'a mut Slice<f32>) -> &'a mut Slice<f32> {
                room
            }
            fn rounded<'a>(
                x: &'a Slice<f32>,
                room: &'a mut Slice<Self>,
                round: impl FnOnce(&Slice<f32>, Copy<'_>) -> Result<(), GpuError>,
            ) -> Result<View<'a, Self>, GpuError> {
                round(x, Self::copy(&mut *room.part_mut(0..x.len())?))?;
                room.part(0..x.len())
            }
        }
    )* };
}
halves!(F16, Bf16);
