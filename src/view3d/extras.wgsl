// What is drawn besides points: a surface one looks through, and lines between points. Comes after points.wgsl, whose
// `Look` it shares.

struct Corner {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
}

struct Surface {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
}

@vertex
fn shell_vertex(corner: Corner) -> Surface {
    var out: Surface;
    out.clip = look.clip_from_world * vec4<f32>(corner.position, 1.0);
    out.position = corner.position;
    out.normal = corner.normal;
    return out;
}

// Thin where one looks straight at it, thicker at its rim, so that the form is seen and what is inside stays clear.
@fragment
fn shell_fragment(in: Surface) -> @location(0) vec4<f32> {
    let towards = select(normalize(look.eye.xyz - in.position), look.eye.xyz, look.eye.w > 0.5);
    let facing = abs(dot(normalize(in.normal), towards));
    let a = look.shell.a * (0.12 + 0.88 * pow(1.0 - facing, 2.5));
    return vec4<f32>(look.shell.rgb * a, a);
}

struct End {
    @location(0) position: vec3<f32>,
    @location(1) color: vec4<f32>,
}

struct Thread {
    @builtin(position) clip: vec4<f32>,
    @location(0) color: vec4<f32>,
}

// Through depth, as the halo.
@vertex
fn line_vertex(end: End) -> Thread {
    let clip = look.clip_from_world * vec4<f32>(end.position, 1.0);
    var out: Thread;
    out.clip = vec4<f32>(clip.xy, 0.0, clip.w);
    out.color = end.color;
    return out;
}

@fragment
fn line_fragment(in: Thread) -> @location(0) vec4<f32> {
    return vec4<f32>(in.color.rgb * in.color.a, in.color.a);
}
