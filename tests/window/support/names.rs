//! Accessibility: finds controls without a name.

use egui_kittest::{Node, kittest::NodeT as _};

/// Inputs without a name, anywhere below a node.
pub fn unnamed(root: Node<'_>) -> Vec<String> {
    let mut out = vec![];
    let mut queue = vec![root];
    while let Some(node) = queue.pop() {
        let data = node.accesskit_node();
        if egui::accessibility::is_input(data.role()) && data.label().is_none_or(|l| l.trim().is_empty()) {
            out.push(format!("{:?} at {:?}", data.role(), node.rect()));
        }
        queue.extend(node.children());
    }
    out
}
