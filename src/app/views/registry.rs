//! The list of views.

use super::{
    View, bands, circle, compare, connectivity, distribution, filter_panel, hist, lanes, lineage, links, matrix,
    phases, plot, profile, raster, runs, scatter, statistics, sweep, table, texts, token_text, view_3d, weights,
};

/// Returns one default instance of each view.
pub fn all() -> Vec<Box<dyn View>> {
    vec![
        Box::<view_3d::View3d>::default(),
        Box::<raster::Raster>::default(),
        Box::<plot::Rates>::default(),
        Box::<plot::Traces>::default(),
        Box::<profile::Steps>::default(),
        Box::<profile::Timeline>::default(),
        Box::<profile::Kernels>::default(),
        Box::<profile::Roofline>::default(),
        Box::<profile::Memory>::default(),
        Box::<profile::Numerics>::default(),
        Box::<table::Table>::default(),
        Box::<hist::Histogram>::default(),
        Box::<filter_panel::Panel>::default(),
        Box::<connectivity::ConnectivityView>::default(),
        Box::<weights::Weights>::default(),
        Box::<statistics::Statistics>::default(),
        Box::<matrix::Matrix>::default(),
        Box::<links::Links>::default(),
        Box::<distribution::Distribution>::default(),
        Box::<texts::Texts>::default(),
        Box::<token_text::TokenText>::default(),
        Box::<runs::Runs>::default(),
        Box::<compare::Compare>::default(),
        Box::<sweep::SweepPlot>::default(),
        Box::<circle::Circle>::default(),
        Box::<scatter::Scatter>::default(),
        Box::<phases::Phases>::default(),
        Box::<lineage::Lineage>::default(),
        Box::<bands::Bands>::default(),
        Box::<lanes::Lanes>::default(),
    ]
}

/// Creates a view by its stable name; `None` if no view has this name.
pub fn by_name(name: &str) -> Option<Box<dyn View>> {
    all().into_iter().find(|v| v.name() == name)
}
