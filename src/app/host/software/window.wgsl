// The window's triangles, as plainly as possible. A software renderer takes both sides of every branch, for every
// pixel: egui's own shader, with its ways to filter, costs it ten times as much.

struct Locals {
    // Of the window, in points.
    size: vec2<f32>,
}

struct Corner {
    @builtin(position) clip: vec4<f32>,
    @location(0) uv: vec2<f32>,
    @location(1) color: vec4<f32>,
}

@group(0) @binding(0) var<uniform> locals: Locals;
@group(1) @binding(0) var picture: texture_2d<f32>;
@group(1) @binding(1) var picture_sampler: sampler;

@vertex
fn corner(@location(0) at: vec2<f32>, @location(1) uv: vec2<f32>, @location(2) color: vec4<f32>) -> Corner {
    var out: Corner;
    out.clip = vec4<f32>(2.0 * at.x / locals.size.x - 1.0, 1.0 - 2.0 * at.y / locals.size.y, 0.0, 1.0);
    out.uv = uv;
    out.color = color;
    return out;
}

@fragment
fn textured(in: Corner) -> @location(0) vec4<f32> {
    return in.color * textureSample(picture, picture_sampler, in.uv);
}

@fragment
fn solid(in: Corner) -> @location(0) vec4<f32> {
    return in.color;
}
