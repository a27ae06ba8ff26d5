//! Modal dialogs with entries that a click beside them does not discard.

use egui::ModalResponse;

/// Whether Escape or the content closed a dialog. A click beside the dialog keeps it open with the typed text.
pub fn is_closed<R>(modal: &ModalResponse<R>) -> bool {
    !modal.backdrop_response.clicked() && modal.should_close()
}
