//! Command lines for external profilers, which measure hardware counters.

use crate::app::{
    document::profile::{Machine, machine::device_flag},
    views::{ViewCtx, ViewRequest},
};
use egui::{RichText, Ui};
use std::path::Path;

/// Command line with its purpose.
pub(super) struct Line {
    pub name: &'static str,
    pub why: &'static str,
    pub text: String,
}

/// Returns the commands for a project, a device and the selected kernel.
pub(super) fn lines(machine: &Machine, device: &'static str, kernel: Option<&str>) -> Vec<Line> {
    let project = machine.project.as_deref().map_or_else(|| "project.ron".to_owned(), quoted);
    let stem =
        machine.project.as_deref().and_then(Path::file_stem).map_or_else(|| "project".into(), |s| s.to_string_lossy());
    let out: String = stem.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let run = |secs: &str| format!("neuropil run {project} --device {device} --duration {secs} --out {out}-profiled");
    if device == "cpu" {
        return vec![
            Line {
                name: "perf record",
                why: "CPU time by function, with call stacks",
                text: format!("perf record -F 999 --call-graph dwarf -o {out}.perf {}", run("1s")),
            },
            Line {
                name: "perf stat",
                why: "Instructions, cache misses and branches of a run",
                text: format!("perf stat -d {}", run("1s")),
            },
        ];
    }
    let mut lines = vec![Line {
        name: "nsys",
        why: "Nsight Systems: timeline of the whole program, graph launches kernel by kernel",
        text: format!(
            "nsys profile --trace=cuda,nvtx --cuda-graph-trace=node --force-overwrite=true -o {out} {}",
            run("200ms")
        ),
    }];
    if let Some(kernel) = kernel {
        lines.push(Line {
            name: "ncu",
            why: "Nsight Compute: all counters for five launches of the selected kernel",
            text: format!(
                "ncu --kernel-name {kernel} --launch-skip 20 --launch-count 5 --set full --graph-profiling node -f -o {out}-{kernel} {}",
                run("20ms")
            ),
        });
    }
    lines
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || "/._-+~".contains(c));
    if is_plain { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Draws a button that opens the commands.
pub(super) fn menu_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let button = ui.small_button("Profilers").on_hover_text("Command lines for external profilers");
    egui::Popup::menu(&button).close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside).show(|ui| {
        ui.set_width(420.0);
        lines_ui(ui, ctx);
    });
}

/// Draws the commands, each with a copy button.
pub(super) fn lines_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let device = device_flag(ctx.schema, &ctx.profile.machine);
    for line in lines(&ctx.profile.machine, device, ctx.profile.kernel) {
        ui.horizontal(|ui| {
            let copy = ui.small_button(format!("Copy {}", line.name)).on_hover_text(line.why);
            if copy.clicked() {
                ui.ctx().copy_text(line.text.clone());
                ctx.requests.push(ViewRequest::Toast(format!("Copied the {} command", line.name)));
            }
            ui.label(RichText::new(line.why).small().color(ctx.tokens.text_sub));
        });
        let code = RichText::new(&line.text).font(crate::app::kit::mono(ui)).color(ctx.tokens.text);
        ui.add(egui::Label::new(code).wrap());
        ui.add_space(4.0);
    }
    if ctx.profile.machine.project.is_none() {
        let hint = "Save the project first: the commands use project.ron";
        ui.label(RichText::new(hint).small().color(ctx.tokens.warn));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_the_project_the_device_and_the_kernel() {
        let machine = Machine { project: Some("/data/my fly.ron".into()), ..Machine::default() };
        let gpu = lines(&machine, "cuda", Some("deliver"));
        assert!(
            gpu[0].text.starts_with("nsys profile")
                && gpu[0].text.contains("neuropil run '/data/my fly.ron' --device cuda")
        );
        assert!(gpu[1].text.contains("--kernel-name deliver ") && gpu[1].text.contains("-o my-fly-deliver "));
        assert_eq!(lines(&machine, "cuda", None).len(), 1);
        assert!(
            lines(&machine, "cpu", None).iter().all(|l| l.text.contains("--device cpu") && l.text.starts_with("perf"))
        );
    }
}
