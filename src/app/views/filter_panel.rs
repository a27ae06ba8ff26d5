//! Filter panel: a query with completion, and categories with check boxes.

use super::{MenuEntry, MenuTarget, View, ViewCtx, ViewDeclaration, ViewRequest, fields, menu, unfit_ui};
use crate::{
    app::{
        document::{
            filter::{
                Filter, QueryContext,
                tree::{Tick, Tree},
            },
            layout::Page,
        },
        kit::{self, colors, icons, text, widgets},
    },
    engine::SimSchema,
    query::{self, Completion},
    sim::{ElementSet, FREE_SLOT, Meaning, ProbeSpec, Shape},
};
use egui::{
    Align2, Color32, Id, Key, Popup, Pos2, Rect, RichText, Sense, TextEdit, Ui, UiBuilder, Vec2, WidgetInfo,
    accesskit::Role, text::CCursor, text_edit::TextEditState,
};
use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

const ROW: f32 = 22.0;
/// Maximum number of search hits.
const MAX_FOUND: usize = 2_000;

/// The filter view. It edits the window's [`Filter`].
#[derive(Default)]
pub struct Panel {
    search: String,
    open: HashSet<(usize, u32)>,
    lines: Vec<Line>,
    lines_of: Option<(u64, String, usize)>,
    at: usize,
    proposals: Vec<Completion>,
    proposed_for: Option<(String, usize)>,
}

/// Line of the list of categories.
#[derive(Clone, Copy)]
enum Line {
    /// Header of a tree.
    Head(usize),
    /// Category of a tree.
    Node(usize, u32),
}

/// Returns an example query with a category and fields of the set, so that it is valid. Fields are compared with the middle of their
/// range, so that the query separates elements.
fn example(ctx: &ViewCtx<'_>, set: &ElementSet) -> String {
    let numbers = fields::over(ctx.schema, set.name, |m| m == Meaning::Number);
    let category = set.columns.iter().find_map(|c| Some((&c.name, c.labels.iter().find(|label| !label.is_empty())?)));
    let quote = |label: &str| if label.contains(' ') { format!("\"{label}\"") } else { label.to_owned() };
    let category = category.map(|(column, label)| format!("{column} = {}", quote(label)));
    let number = |(p, sign): (&ProbeSpec, &str)| match (p.unit, p.shape) {
        ("Hz", _) => format!("{} > 20 Hz", fields::query_name(p)),
        (_, Shape::Field { range: (low, high), .. }) if (high - low).is_finite() => {
            format!("{} {sign} {}", fields::query_name(p), f32::midpoint(low, high))
        }
        _ => format!("{} {sign} 1", fields::query_name(p)),
    };
    let signs = if category.is_some() { &[">"][..] } else { &["<", ">"] };
    let tests = numbers.iter().map(|(_, p)| *p).zip(signs.iter().copied()).map(number);
    category.into_iter().chain(tests).collect::<Vec<_>>().join(" and ")
}

impl Panel {
    /// Updates the visible lines: children of open nodes, or search hits and their parents.
    fn update_lines(&mut self, filter: &Filter, set: &ElementSet, trees: &[Tree]) {
        let key = (filter.set_generation, self.search.clone(), self.open.len() + trees.len() * 1_000_000);
        if self.lines_of.as_ref() == Some(&key) {
            return;
        }
        self.lines_of = Some(key);
        self.lines.clear();
        let wanted = self.search.trim().to_lowercase();
        for (t, tree) in trees.iter().enumerate() {
            self.lines.push(Line::Head(t));
            let found = (!wanted.is_empty()).then(|| found(tree, set, &wanted));
            let from = self.lines.len();
            for root in 0..tree.n_roots {
                self.add_lines(t, tree, root, found.as_ref());
            }
            if found.is_some() && self.lines.len() == from {
                self.lines.pop();
            }
        }
    }

    fn add_lines(&mut self, t: usize, tree: &Tree, node: u32, found: Option<&BTreeSet<u32>>) {
        if found.is_some_and(|f| !f.contains(&node)) || self.lines.len() > 200_000 {
            return;
        }
        self.lines.push(Line::Node(t, node));
        if found.is_some() || self.open.contains(&(t, node)) {
            for child in tree.nodes[node as usize].children.clone() {
                self.add_lines(t, tree, child, found);
            }
        }
    }

    fn query_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &Arc<ElementSet>) {
        let id = Id::unique("filter query");
        let is_proposing = !self.proposals.is_empty() && ui.memory(|m| m.has_focus(id));
        let (mut step, mut take) = (0_isize, false);
        if is_proposing {
            ui.input_mut(|i| {
                step += isize::from(i.consume_key(egui::Modifiers::NONE, Key::ArrowDown));
                step -= isize::from(i.consume_key(egui::Modifiers::NONE, Key::ArrowUp));
                take = i.consume_key(egui::Modifiers::NONE, Key::Tab);
            });
            self.at = self.at.saturating_add_signed(step).min(self.proposals.len() - 1);
        }
        let hint = example(ctx, set);
        let edit = TextEdit::singleline(&mut ctx.filter.query).id(id).hint_text(hint).lock_focus(true);
        let color = if ctx.filter.mistake.is_some() { ctx.tokens.error } else { ctx.tokens.text };
        let output = edit.desired_width(f32::INFINITY).text_color(color).font(egui::TextStyle::Monospace).show(ui);
        egui::Response::clone(&output.response).accessible_name("Filter query");
        let cursor = output.cursor_range.map_or(0, |c| c.primary.index.0);
        self.propose(ctx, set, cursor);
        if output.response.response.has_focus() && !self.proposals.is_empty() {
            let chosen = self.proposals_ui(ui, &output.response.response);
            if let Some(i) = chosen.or_else(|| take.then_some(self.at)) {
                self.accept(ui, id, ctx, i);
            }
        }
    }

    fn propose(&mut self, ctx: &ViewCtx<'_>, set: &Arc<ElementSet>, cursor: usize) {
        let key = (ctx.filter.query.clone(), cursor);
        if self.proposed_for.as_ref() == Some(&key) {
            return;
        }
        let bytes = key.0.char_indices().nth(cursor).map_or(key.0.len(), |(i, _)| i);
        self.proposed_for = Some(key);
        self.at = 0;
        let context = QueryContext::new(ctx.schema, ctx.features, set.clone(), &Default::default());
        self.proposals = context.with(|known| query::complete(&ctx.filter.query, bytes, known));
    }

    fn proposals_ui(&self, ui: &Ui, field: &egui::Response) -> Option<usize> {
        let mut chosen = None;
        let popup = Popup::from_response(field).id(Id::unique("filter proposals")).open(true);
        popup.close_behavior(egui::PopupCloseBehavior::IgnoreClicks).show(|ui| {
            ui.set_width(field.rect.width().max(220.0));
            ui.spacing_mut().item_spacing.y = 0.0;
            for (i, proposal) in self.proposals.iter().enumerate() {
                let text = RichText::new(&proposal.text).monospace();
                let row = ui.horizontal(|ui| {
                    let row = ui.selectable_label(i == self.at, text);
                    ui.label(widgets::sub(ui, text::first_line(&proposal.hint)).small());
                    row
                });
                if row.inner.clicked() {
                    chosen = Some(i);
                }
            }
        });
        let _ = ui;
        chosen
    }

    fn accept(&mut self, ui: &Ui, id: Id, ctx: &mut ViewCtx<'_>, i: usize) {
        let Some(chosen) = self.proposals.get(i) else { return };
        if ctx.filter.query.get(chosen.at.clone()).is_none() {
            return;
        }
        ctx.filter.query.replace_range(chosen.at.clone(), &format!("{} ", chosen.text));
        let cursor = ctx.filter.query[..chosen.at.start + chosen.text.len() + 1].chars().count();
        if let Some(mut state) = TextEditState::load(ui.ctx(), id) {
            state.cursor.set_char_range(Some(egui::text::CCursorRange::one(CCursor::new(cursor))));
            state.store(ui.ctx(), id);
        }
        ui.memory_mut(|m| m.request_focus(id));
        self.proposed_for = None;
    }

    fn mistake_ui(&self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        if !ctx.filter.sampling().is_empty() {
            let names = ctx.filter.sampling().join(", ");
            ui.label(widgets::sub(ui, format!("Sampling {names}…")).small());
        }
        let Some(mistake) = &ctx.filter.mistake else { return };
        let place = ctx.filter.query.get(mistake.at.clone()).map_or("", str::trim);
        let at = if place.is_empty() { String::new() } else { format!("at “{place}”: ") };
        ui.label(RichText::new(format!("{at}{}", mistake.what)).small().color(ctx.tokens.error));
    }

    fn buttons_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &ElementSet) {
        let is_on = ctx.filter.is_on();
        let shown = ctx.filter.shown.clone();
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            if ui.button("Select").on_hover_text(format!("Selects all {} that the filter shows", set.noun())).clicked()
            {
                let all = (0..set.len).filter(|e| shown.shows(set.name, *e)).collect();
                ctx.selection.replace(set.name, all);
            }
            let save = ui.add_enabled(is_on, egui::Button::new("Save as group"));
            let why = "Everything is shown: set a filter first";
            let save = save
                .on_hover_text(format!("Saves the {} that the filter shows as a named group", set.noun()))
                .on_disabled_hover_text(why);
            if save.clicked() {
                let members = (0..set.len).filter(|e| shown.shows(set.name, *e));
                let query = ctx.filter.as_query(ctx.schema);
                let query = query.unwrap_or_else(|| query_of(ctx, set, members.collect()));
                ctx.requests.push(ViewRequest::SaveSet(query, set.name));
            }
            let clear = ui.add_enabled(is_on, egui::Button::new("Show all"));
            if clear.on_hover_text("Removes the filter").clicked() {
                ctx.filter.clear();
            }
            if ctx.filter.chosen.is_busy() {
                ui.spinner();
            }
        });
    }

    fn list_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &Arc<ElementSet>, trees: &Arc<Vec<Tree>>) {
        self.update_lines(ctx.filter, set, trees);
        ui.spacing_mut().item_spacing.y = 0.0;
        let lines = std::mem::take(&mut self.lines);
        egui::ScrollArea::vertical().auto_shrink(false).show_rows(ui, ROW, lines.len(), |ui, range| {
            for line in &lines[range] {
                match *line {
                    Line::Head(t) => head_ui(ui, ctx, set, &trees[t]),
                    Line::Node(t, node) => self.node_ui(ui, ctx, set, trees, t, node),
                }
            }
        });
        if self.lines_of.is_some() {
            self.lines = lines;
        }
    }

    fn node_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>, set: &Arc<ElementSet>, trees: &[Tree], t: usize, n: u32) {
        let (tree, node) = (&trees[t], &trees[t].nodes[n as usize]);
        let hidden = ctx.filter.hidden.get(t).map_or(&[][..], Vec::as_slice);
        let tick = tree.tick(n, hidden);
        let label = tree.label(set, n);
        let name = if label.is_empty() { "none".to_owned() } else { label.to_owned() };
        let (rect, row) = ui.allocate_exact_size(Vec2::new(ui.available_width(), ROW), Sense::click());
        row.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Select {name}")));
        if row.hovered() {
            ui.painter().rect_filled(rect, 3.0, ctx.tokens.hover);
        }
        let left = rect.left() + 6.0 + node.depth as f32 * 14.0;
        if !node.children.is_empty() && self.search.trim().is_empty() {
            self.caret_ui(ui, Pos2::new(left, rect.center().y), (t, n), &name, ctx.tokens.text_sub);
        }
        if tick_ui(ui, Pos2::new(left + 22.0, rect.center().y), tick, &name, ctx) {
            let alone = ui.input(|i| i.modifiers.alt);
            toggle(ctx.filter, trees, t, n, alone);
        }
        let mut x = left + 36.0;
        if node.depth == 0 {
            let color = colors::of_column(&set.columns[tree.columns[0]], ctx.tokens);
            let color = color.get(usize::from(node.code)).copied().unwrap_or(ctx.tokens.other);
            ui.painter().circle_filled(Pos2::new(x + 4.0, rect.center().y), 3.5, color);
            x += 13.0;
        }
        let count = kit::thousands(u64::from(node.elements.end - node.elements.start));
        let ink = if tick == Tick::Off { ctx.tokens.text_sub } else { ctx.tokens.text };
        let right = rect.right() - 8.0;
        let painter = ui.painter();
        let number = painter.text(
            Pos2::new(right, rect.center().y),
            Align2::RIGHT_CENTER,
            count,
            kit::mono(ui),
            ctx.tokens.text_sub,
        );
        let font = egui::TextStyle::Body.resolve(ui.style());
        let fitting = kit::elide(painter, &name, &font, number.left() - 8.0 - x);
        painter.text(Pos2::new(x, rect.center().y), Align2::LEFT_CENTER, fitting, font, ink);
        if row.clicked() {
            let modifiers = ui.input(|i| i.modifiers);
            match modifiers.command || modifiers.shift {
                true => ctx.selection.extend(set.name, tree.elements(n)),
                false => ctx.selection.replace(set.name, tree.elements(n).to_vec()),
            }
        }
        row.context_menu(|ui| {
            let subject =
                MenuTarget { elements: Arc::new(tree.elements(n).to_vec()), name: name.clone(), element: None };
            menu::ui(ui, ctx, set, &subject);
        });
    }

    fn caret_ui(&mut self, ui: &mut Ui, at: Pos2, key: (usize, u32), name: &str, ink: Color32) {
        let area = Rect::from_center_size(at + Vec2::X * 6.0, Vec2::splat(16.0));
        let is_open = self.open.contains(&key);
        let response = ui.interact(area, ui.scope_id().with(("caret", key)), Sense::click());
        response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_open, format!("Open {name}")));
        let glyph = if is_open { icons::CARET_DOWN } else { icons::CARET_RIGHT };
        let font = egui::FontId::new(10.0, egui::FontFamily::Name(icons::FAMILY.into()));
        ui.painter().text(area.center(), Align2::CENTER_CENTER, glyph, font, ink);
        if response.clicked() {
            if !self.open.remove(&key) {
                self.open.insert(key);
            }
            self.lines_of = None;
        }
    }
}

/// Returns the nodes whose label contains a text, and their parents.
fn found(tree: &Tree, set: &ElementSet, wanted: &str) -> BTreeSet<u32> {
    let mut out = BTreeSet::new();
    let hits = (0..tree.nodes.len() as u32).filter(|n| tree.label(set, *n).to_lowercase().contains(wanted));
    for mut node in hits.take(MAX_FOUND) {
        while out.insert(node) {
            let Some(parent) = tree.nodes[node as usize].parent else { break };
            node = parent;
        }
    }
    out
}

/// Shows or hides a category. `alone` shows only this one of its tree.
fn toggle(filter: &mut Filter, trees: &[Tree], t: usize, node: u32, alone: bool) {
    let blank = || trees.iter().map(|tree| vec![false; tree.n_leaves()]).collect();
    if filter.hidden.len() != trees.len() {
        filter.hidden = Arc::new(blank());
    }
    let hidden = Arc::make_mut(&mut filter.hidden);
    let leaves = trees[t].nodes[node as usize].leaves.clone();
    let range = leaves.start as usize..leaves.end as usize;
    if alone {
        hidden[t].fill(true);
        hidden[t][range].fill(false);
    } else {
        let hide = trees[t].tick(node, &hidden[t]) == Tick::On;
        hidden[t][range].fill(hide);
    }
}

fn head_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, set: &ElementSet, tree: &Tree) {
    let (rect, _) = ui.allocate_exact_size(Vec2::new(ui.available_width(), ROW), Sense::hover());
    let names: Vec<String> = tree.columns.iter().map(|c| kit::column(&set.columns[*c].name)).collect();
    let at = Pos2::new(rect.left() + 8.0, rect.center().y + 2.0);
    ui.painter().text(at, Align2::LEFT_CENTER, names.join("  ›  "), kit::small(ui), ctx.tokens.text_sub);
}

/// Draws a check box with three states. Returns whether it was clicked.
fn tick_ui(ui: &mut Ui, at: Pos2, tick: Tick, name: &str, ctx: &ViewCtx<'_>) -> bool {
    let area = Rect::from_center_size(at, Vec2::splat(18.0));
    let response = ui.interact(area, ui.scope_id().with(("tick", name, at.y as i32)), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, tick == Tick::On, format!("Show {name}")));
    let (square, t) = (Rect::from_center_size(at, Vec2::splat(13.0)), ctx.tokens);
    let ink = if response.hovered() { t.accent } else { t.text_sub };
    match tick {
        Tick::Off => {}
        Tick::On => {
            ui.painter().rect_filled(square, 3.0, t.accent);
            let tip = |x: f32, y: f32| at + Vec2::new(x, y);
            let hook = vec![tip(-3.0, 0.3), tip(-0.8, 2.6), tip(3.2, -2.4)];
            ui.painter().line(hook, (1.5, t.on_accent));
        }
        Tick::Partly => {
            ui.painter().rect_filled(Rect::from_center_size(at, Vec2::new(7.0, 2.5)), 1.0, t.accent);
        }
    }
    if tick != Tick::On {
        ui.painter().rect_stroke(square, 3.0, (1.0, ink), egui::StrokeKind::Inside);
    }
    response.on_hover_text("Show or hide; Alt: only this").clicked()
}

impl Panel {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "filter",
        title: "Filter",
        icon: icons::GRID,
        help: "# Filter\n\nSelects which elements all views show. Tick categories or type a query; both apply. \
         **Alt** on a box shows only that category. A click on a name selects its elements, **Ctrl** adds them.\n\n\
         ```\nsuper_class = sensory and rate > 20 Hz\nin \"Sugar GRNs\" or class ~ gust\nnot side = left\n\
         idx = 5..9, 12\ndownstream of \"Sugar GRNs\" >= 5\nrandom 21 of class = gustatory\n```\n\n\
         `=` and `!=` compare, `~` matches a part of the text. Live values are compared with a number and a unit, \
         twice a second. **Tab** accepts a completion.\n\n\
         *Save as group* stores the query in the project; a query over live values is stored as the list of elements that \
         match now.",
        pages: &[Page::Explore],
        fits: |schema| schema.sets.iter().any(|set| !set.columns.is_empty()) || fields::has_pairs(schema),
        menu: Some(MenuEntry::show_in(4, "Filter")),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Panel {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn reset(&mut self, _: &SimSchema) {
        self.lines_of = None;
        self.proposed_for = None;
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let Some(set) = ctx.filter.set.clone() else {
            return unfit_ui(ui, ctx, ["Nothing to filter", "This simulation publishes no sets"]);
        };
        let n = set.len - ctx.filter.shown.n_hidden(&set);
        let caption = format!("{} shown of {}", kit::thousands(n.into()), kit::thousands(set.len.into()));
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| {
            if ctx.schema.sets.len() > 1 {
                let options: Vec<_> = ctx.schema.sets.iter().map(|s| (s.name, s.name.to_owned())).collect();
                let mut name = set.name;
                if kit::choice_ui(ui, ctx.tokens, "Set", &mut name, &options) {
                    ctx.filter.take_set(ctx.schema.set(name).cloned());
                }
            }
            let edit =
                TextEdit::singleline(&mut self.search).hint_text("Search categories").desired_width(f32::INFINITY);
            ui.add(edit).accessible_name("Search categories");
        });
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        let inner = canvas.shrink2(Vec2::new(8.0, 6.0));
        ui.scope_builder(UiBuilder::new().max_rect(inner), |ui| {
            ui.spacing_mut().item_spacing.y = 4.0;
            self.query_ui(ui, ctx, &set);
            self.mistake_ui(ui, ctx);
            self.buttons_ui(ui, ctx, &set);
            match ctx.filter.trees.get().cloned() {
                Some(trees) => self.list_ui(ui, ctx, &set, &trees),
                None => drop(ui.spinner()),
            }
        });
    }
}
/// Returns a query for these elements, by the ids of their individuals if these are known.
fn query_of(ctx: &ViewCtx<'_>, set: &ElementSet, mut elements: Vec<u32>) -> String {
    let mut ids = vec![];
    if let Some(now) = ctx.features.individuals(set.name) {
        elements.retain(|slot| now.ids.get(*slot as usize).is_some_and(|id| *id != FREE_SLOT));
        ids = elements.iter().map(|slot| now.ids[*slot as usize]).collect();
    }
    query::of_individuals(&ids, Some(set), &elements)
}
