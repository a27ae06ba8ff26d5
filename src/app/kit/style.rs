//! Conversion of the design tokens to egui styles for both themes.

use super::{
    fonts,
    theme::{METRIC, RADIUS, RADIUS_POPUP, TITLE, Tokens},
};
use crate::choices;
use egui::{
    Color32, CornerRadius, FontFamily, FontId, Margin, Shadow, Stroke, Style, TextStyle, Theme, Vec2,
    style::{HandleShape, WidgetVisuals},
};

choices! {
    /// Row height.
    pub enum Density {
        /// Small rows.
        Compact,
        /// Medium rows.
        Normal,
        /// Large rows.
        Comfortable,
    }
}

/// Duration of animations, seconds.
const ANIMATION_SECS: f32 = 0.12;

/// Sets fonts, spacings and colours of both themes.
pub fn apply(ctx: &egui::Context) {
    fonts::install(ctx);
    for (theme, tokens) in [(Theme::Dark, Tokens::dark()), (Theme::Light, Tokens::light())] {
        let mut style = (*ctx.style_of(theme)).clone();
        text(&mut style);
        spacing(&mut style);
        colors(&mut style, &tokens);
        ctx.set_style_of(theme, style);
    }
}

/// Sets row height, text size and animations.
pub fn adapt(ctx: &egui::Context, density: Density, reduced_motion: bool) {
    let (size, row, gap) = match density {
        Density::Compact => (12.0, 20.0, 4.0),
        Density::Normal => (12.5, 22.0, 6.0),
        Density::Comfortable => (13.5, 26.0, 8.0),
    };
    ctx.all_styles_mut(|style| {
        for text in [TextStyle::Body, TextStyle::Button, TextStyle::Heading] {
            if let Some(font) = style.text_styles.get_mut(&text) {
                font.size = size;
            }
        }
        style.spacing.interact_size.y = row;
        style.spacing.item_spacing.y = gap;
        style.animation_time = if reduced_motion { 0.0 } else { ANIMATION_SECS };
    });
}

fn text(style: &mut Style) {
    let family = |name: &str| FontFamily::Name(name.into());
    let sizes = [
        (TextStyle::Small, FontId::new(11.0, FontFamily::Proportional)),
        (TextStyle::Body, FontId::new(12.5, FontFamily::Proportional)),
        (TextStyle::Button, FontId::new(12.5, FontFamily::Proportional)),
        (TextStyle::Heading, FontId::new(12.5, family(fonts::SEMIBOLD))),
        (TextStyle::Monospace, FontId::new(12.0, FontFamily::Monospace)),
        (TextStyle::Name(METRIC.into()), FontId::new(17.0, family(fonts::MONO_MEDIUM))),
        (TextStyle::Name(TITLE.into()), FontId::new(16.0, family(fonts::SEMIBOLD))),
    ];
    style.text_styles = sizes.into_iter().collect();
    style.drag_value_text_style = TextStyle::Monospace;
}

fn spacing(style: &mut Style) {
    let spacing = &mut style.spacing;
    spacing.item_spacing = Vec2::new(8.0, 6.0);
    spacing.button_padding = Vec2::new(8.0, 3.0);
    spacing.interact_size = Vec2::new(24.0, 22.0);
    spacing.indent = 14.0;
    spacing.slider_width = 120.0;
    spacing.slider_rail_height = 3.0;
    spacing.combo_width = 80.0;
    spacing.tooltip_width = 480.0;
    spacing.menu_margin = Margin::same(6);
    spacing.window_margin = Margin::same(16);
    spacing.icon_width = 14.0;
    spacing.scroll.bar_width = 6.0;
    spacing.scroll.floating_width = 3.0;
    style.interaction.selectable_labels = false;
    style.interaction.tooltip_delay = 0.3;
    style.animation_time = ANIMATION_SECS;
}

fn colors(style: &mut Style, t: &Tokens) {
    let v = &mut style.visuals;
    v.panel_fill = t.panel;
    v.window_fill = t.raised;
    v.extreme_bg_color = t.canvas;
    v.faint_bg_color = t.hover;
    v.code_bg_color = t.hover;
    v.text_edit_bg_color = Some(t.raised);
    v.hyperlink_color = t.accent;
    v.warn_fg_color = t.warn;
    v.error_fg_color = t.error;
    v.weak_text_color = Some(t.text_sub);
    v.window_stroke = Stroke::new(1.0, t.line);
    v.window_corner_radius = CornerRadius::same(RADIUS_POPUP);
    v.menu_corner_radius = CornerRadius::same(RADIUS_POPUP);
    let shade = if t.dark { 110 } else { 36 };
    v.popup_shadow = Shadow { offset: [0, 8], blur: 24, spread: 0, color: Color32::from_black_alpha(shade) };
    v.window_shadow = v.popup_shadow;
    v.selection.bg_fill = Tokens::fade(t.accent, 0.28);
    v.selection.stroke = Stroke::new(1.0, t.accent);
    v.striped = false;
    v.slider_trailing_fill = true;
    v.handle_shape = HandleShape::Circle;
    v.indent_has_left_vline = false;
    v.collapsing_header_frame = false;
    let widget = |fill: Color32, weak: Color32, border: Color32, ink: Color32| WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: weak,
        bg_stroke: Stroke::new(1.0, border),
        corner_radius: CornerRadius::same(RADIUS),
        fg_stroke: Stroke::new(1.0, ink),
        expansion: 0.0,
    };
    let rail = if t.dark { t.line } else { Tokens::fade(t.text_sub, 0.45) };
    v.widgets.noninteractive = widget(t.panel, t.panel, t.line, t.text);
    v.widgets.inactive = widget(rail, t.raised, t.line, t.text);
    v.widgets.hovered = widget(t.hover, t.hover, t.line, t.text_strong);
    v.widgets.active = widget(t.hover, t.hover, t.accent, t.text_strong);
    v.widgets.open = widget(t.hover, t.hover, t.line, t.text_strong);
}
