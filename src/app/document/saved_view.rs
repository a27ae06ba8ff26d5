//! Camera position of spatial views, saved with the project.

/// A saved camera view.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct SavedView {
    pub name: String,
    /// Name of the set for which the view was saved.
    pub set: String,
    /// Orbit centre of the camera.
    pub target: [f32; 3],
    /// Azimuth of the camera, radians.
    pub yaw: f32,
    /// Elevation above the horizontal, radians.
    pub pitch: f32,
    /// Distance of the camera from the target, in the unit of positions.
    pub distance: f32,
    /// Whether the projection is orthographic.
    pub orthographic: bool,
}
