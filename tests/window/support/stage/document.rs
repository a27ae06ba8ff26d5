//! Parts of the document that a view shows or edits.

use super::Stage;

impl Stage {
    /// Shows the graph that a model describes.
    pub fn show_graph(&mut self, model: &neuropil::kinds::Model) {
        self.harness().state_mut().graph.update(model);
        self.run(3);
    }

    /// The saved views.
    pub fn saved_views(&mut self) -> Vec<neuropil::app::document::saved_view::SavedView> {
        self.harness().state().saved_views.clone()
    }

    /// Reads or changes the colour scales.
    pub fn color_scales<T>(
        &mut self,
        f: impl FnOnce(&mut neuropil::app::document::color_scales::ColorScales) -> T,
    ) -> T {
        f(&mut self.harness().state_mut().color_scales)
    }
}
