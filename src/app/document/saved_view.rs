//! A place that spatial views are looked at from, kept with the project.

/// A saved camera view.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct SavedView {
    pub name: String,
    /// Name of the set it was saved for.
    pub set: String,
    /// Orbit centre of the camera.
    pub target: [f32; 3],
    /// Azimuth of the camera, radians.
    pub yaw: f32,
    /// Elevation above the horizontal, radians.
    pub pitch: f32,
    /// Distance from the target.
    pub distance: f32,
    /// Whether the projection is orthographic.
    pub orthographic: bool,
}
