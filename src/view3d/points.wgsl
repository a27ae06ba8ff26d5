// Points as round sprites of a size in pixels:
//   body  all of them: opaque discs with depth, coloured by class or by value
//   glow  soft discs on top, as bright as the point was active lately
//   halo  rings around the selected and the hovered
// Colours are in display (gamma) space, as the window's are.
// No branch depends on uniforms alone (`select`, `&` and `|` make none): lavapipe compiles such a shader again whenever a
// uniform changes and keeps every result, 0.3 MB per picture.

// Kept equal to `Look` in look.rs: vectors and scalars in the same order, no padding.
struct Look {
    clip_from_world: mat4x4<f32>,
    // Colour behind the points; how bright a glow is, less when many glow.
    background: vec4<f32>,
    accent: vec4<f32>,
    // Width and height of the picture, radius in world units times pixels per unit, smallest radius: pixels.
    size: vec4<f32>,
    // Clip w (or z when parallel) where fading to the background begins, ends; how much; 1 when parallel.
    fog: vec4<f32>,
    // Lowest and highest value of the colour map; decay of the glow, in units of the value; its strength.
    range: vec4<f32>,
    // Mode (0 class, 1 value, 2 glow), selection (0 none, 1 with rings, 2 too many for rings), hovered point + 1, whether light adds up.
    flags: vec4<u32>,
    // Colour of the surface around the points, and how much of it is seen at its rim; 0 without one.
    shell: vec4<f32>,
    // Where the eye is; or, with 1, which way it is from everywhere.
    eye: vec4<f32>,
}

@group(0) @binding(0) var<uniform> look: Look;
@group(0) @binding(1) var palette: texture_2d<f32>;
@group(0) @binding(2) var ramp: texture_2d<f32>;

struct Point {
    @location(0) position: vec3<f32>,
    // Class in the low 16 bits, 1 << 16 when selected; for the halo also 1 << 17 when hovered.
    @location(1) code: u32,
    @location(2) value: f32,
    // Radius, relative to the others.
    @location(3) size: f32,
    @builtin(vertex_index) vertex: u32,
    @builtin(instance_index) index: u32,
}

struct Sprite {
    @builtin(position) clip: vec4<f32>,
    @location(0) corner: vec2<f32>,
    @location(1) color: vec4<f32>,
    @location(2) radius: f32,
}

const NOWHERE = vec4<f32>(0.0, 0.0, -2.0, 1.0);

fn is_selected(code: u32) -> bool {
    return (code & 0x10000u) != 0u;
}

// A point without a place.
fn is_nowhere(point: Point) -> bool {
    return point.position.x > 1e29;
}

fn class_color(code: u32) -> vec4<f32> {
    let row = code & 0xffffu;
    return textureLoad(palette, vec2<u32>(row & 0xffu, row >> 8u), 0);
}

fn value_color(value: f32) -> vec3<f32> {
    let t = (value - look.range.x) / max(look.range.y - look.range.x, 1e-12);
    // The ends of the ramp are for what lies beyond the range.
    let inside = 1.0 + floor(clamp(t, 0.0, 1.0) * 253.0 + 0.5);
    let place = select(select(inside, 0.0, t < 0.0), 255.0, t > 1.0);
    return textureLoad(ramp, vec2<u32>(u32(place), 0u), 0).rgb;
}

// 1 just now, falling with the time since; 0 for never (a negative value).
fn glow_of(value: f32) -> f32 {
    return select(0.0, exp(-value / look.range.z), value >= 0.0);
}

fn depth_of(clip: vec4<f32>) -> f32 {
    return select(clip.w, clip.z, look.fog.w > 0.5);
}

fn radius_of(clip: vec4<f32>) -> f32 {
    return max(look.size.z / select(clip.w, 1.0, look.fog.w > 0.5), look.size.w);
}

fn fogged(color: vec3<f32>, clip: vec4<f32>) -> vec3<f32> {
    let t = clamp((depth_of(clip) - look.fog.x) / max(look.fog.y - look.fog.x, 1e-6), 0.0, 1.0);
    return mix(color, look.background.rgb, t * look.fog.z);
}

fn sprite(point: Point, clip: vec4<f32>, radius: f32, color: vec4<f32>) -> Sprite {
    let corner = vec2<f32>(f32(point.vertex & 1u) * 2.0 - 1.0, f32(point.vertex >> 1u) * 2.0 - 1.0);
    // Half a pixel more than the disc, for its soft edge.
    let offset = corner * (radius + 0.5) * 2.0 / look.size.xy * clip.w;
    var out: Sprite;
    out.clip = vec4<f32>(clip.xy + offset, clip.zw);
    out.corner = corner * (radius + 0.5);
    out.color = color;
    out.radius = radius;
    return out;
}

fn hidden() -> Sprite {
    var out: Sprite;
    out.clip = NOWHERE;
    return out;
}

@vertex
fn body_vertex(point: Point) -> Sprite {
    let class_rgba = class_color(point.code);
    if class_rgba.a < 0.5 || is_nowhere(point) {
        return hidden();
    }
    let is_value = look.flags.x == 1u;
    let is_glow = look.flags.x == 2u;
    let is_marked = is_selected(point.code);
    let is_aside = (look.flags.y != 0u) & !is_marked;
    let value_rgb = select(vec3<f32>(0.42, 0.45, 0.5), value_color(point.value), point.value == point.value);
    var color = select(class_rgba.rgb, value_rgb, is_value);
    let is_dim = is_glow & (look.flags.y == 0u);
    color = select(color, mix(look.background.rgb, color, look.range.w), is_dim);
    let clip = look.clip_from_world * vec4<f32>(point.position, 1.0);
    color = fogged(color, clip);
    let grey = vec3<f32>(dot(color, vec3<f32>(0.3, 0.59, 0.11)));
    let strength = select(0.42, look.range.w, is_glow);
    let plain = select(mix(grey, color, 0.35), color, is_glow);
    color = select(color, mix(look.background.rgb, plain, strength), is_aside);
    let grow = select(select(1.0, 1.35, is_marked), 1.8, look.flags.z == point.index + 1u);
    return sprite(point, clip, radius_of(clip) * point.size * grow, vec4<f32>(color, 1.0));
}

@fragment
fn body_fragment(in: Sprite) -> @location(0) vec4<f32> {
    let d = length(in.corner);
    let coverage = clamp(in.radius + 0.5 - d, 0.0, 1.0);
    if coverage < 0.05 {
        discard;
    }
    // Large discs are shaded like balls, small ones stay flat and keep their colour.
    let round = sqrt(max(1.0 - d * d / (in.radius * in.radius), 0.0));
    let shade = mix(1.0, 0.55 + 0.45 * round, clamp((in.radius - 2.5) * 0.4, 0.0, 1.0));
    return vec4<f32>(in.color.rgb * shade * coverage, coverage);
}

@vertex
fn glow_vertex(point: Point) -> Sprite {
    let class_rgba = class_color(point.code);
    // Beside a selection the others glow on, fainter.
    let is_aside = (look.flags.y != 0u) & !is_selected(point.code);
    let strength = glow_of(point.value) * select(1.0, 0.55, is_aside);
    if class_rgba.a < 0.5 || strength < 0.02 || is_nowhere(point) {
        return hidden();
    }
    let clip = look.clip_from_world * vec4<f32>(point.position, 1.0);
    // On a dark ground light adds up, on a light one colour deepens. Only what is active this very moment is whitish.
    let spark = mix(class_rgba.rgb, vec3<f32>(1.0, 0.97, 0.9), 0.35 * smoothstep(0.85, 1.0, strength));
    let hot = select(class_rgba.rgb * 0.85, spark, look.flags.w != 0u);
    let radius = radius_of(clip) * point.size * (1.4 + 2.2 * strength);
    let near = mix(1.0, 0.45, clamp((depth_of(clip) - look.fog.x) / max(look.fog.y - look.fog.x, 1e-6), 0.0, 1.0));
    return sprite(point, clip, radius, vec4<f32>(hot, strength * near * look.background.a));
}

@fragment
fn glow_fragment(in: Sprite) -> @location(0) vec4<f32> {
    let d = length(in.corner) / in.radius;
    let a = in.color.a * max(exp(-4.0 * d * d) - 0.018, 0.0);
    // Purely additive light would end in white wherever many overlap. Covering most of what is below bounds the sum
    // at the colour / 0.85, so that the hue stays.
    return vec4<f32>(in.color.rgb * a, select(a, 0.85 * a, look.flags.w != 0u));
}

@vertex
fn halo_vertex(point: Point) -> Sprite {
    let is_hovered = (point.code & 0x20000u) != 0u;
    let has_ring = is_selected(point.code) & (look.flags.y == 1u) | is_hovered;
    if !has_ring || class_color(point.code).a < 0.5 || is_nowhere(point) {
        return hidden();
    }
    let clip = look.clip_from_world * vec4<f32>(point.position, 1.0);
    let radius = radius_of(clip) * point.size * select(1.35, 1.8, is_hovered) + 2.5;
    // Through depth: nothing hides what is selected.
    let front = vec4<f32>(clip.xy, 0.0, clip.w);
    return sprite(point, front, radius, vec4<f32>(look.accent.rgb, select(0.75, 1.0, is_hovered)));
}

@fragment
fn halo_fragment(in: Sprite) -> @location(0) vec4<f32> {
    let d = length(in.corner);
    let ring = clamp(1.2 - abs(d - in.radius + 0.6), 0.0, 1.0);
    let a = ring * in.color.a;
    return vec4<f32>(in.color.rgb * a, a);
}
