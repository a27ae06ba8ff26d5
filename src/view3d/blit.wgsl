// Copies the finished picture into the window with one triangle. egui's own pass has no depth buffer, so the
// points are drawn elsewhere first.

struct Corner {
    @builtin(position) clip: vec4<f32>,
    @location(0) uv: vec2<f32>,
}

@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var nearest: sampler;

@vertex
fn corner(@builtin(vertex_index) index: u32) -> Corner {
    let at = vec2<f32>(f32((index << 1u) & 2u), f32(index & 2u));
    var out: Corner;
    out.clip = vec4<f32>(at * 2.0 - 1.0, 0.0, 1.0);
    out.uv = vec2<f32>(at.x, 1.0 - at.y);
    return out;
}

@fragment
fn copy(in: Corner) -> @location(0) vec4<f32> {
    return textureSampleLevel(picture, nearest, in.uv, 0.0);
}
