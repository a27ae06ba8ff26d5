//! Pointer gestures over a view: clicks, drags, the wheel.

use super::Stage;
use egui::{Event, Modifiers, MouseWheelUnit, PointerButton, Pos2, TouchPhase, Vec2, pos2};

impl Stage {
    pub(super) fn event(&mut self, event: Event, modifiers: Modifiers) {
        let harness = self.harness();
        harness.event(Event::ModifiersChanged(modifiers));
        harness.event(event);
        harness.run_steps(1);
    }

    pub(super) fn button(&mut self, at: Pos2, pressed: bool, modifiers: Modifiers) {
        self.event(Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers }, modifiers);
    }

    pub fn click(&mut self, at: Pos2, modifiers: Modifiers) {
        self.event(Event::PointerMoved(at), modifiers);
        self.run(2);
        self.button(at, true, modifiers);
        self.button(at, false, modifiers);
        self.run(2);
    }

    pub fn double_click(&mut self, at: Pos2) {
        self.event(Event::PointerMoved(at), Modifiers::NONE);
        for pressed in [true, false, true, false] {
            let button = PointerButton::Primary;
            self.harness().event(Event::PointerButton { pos: at, button, pressed, modifiers: Modifiers::NONE });
        }
        self.run(1);
        self.event(Event::PointerGone, Modifiers::NONE);
    }

    pub fn drag(&mut self, from: Pos2, by: Vec2, modifiers: Modifiers) {
        let path: Vec<(f32, f32)> = (0..=6).map(|i| from + by * (i as f32 / 6.0)).map(|p| (p.x, p.y)).collect();
        self.drag_path(&path, modifiers);
    }

    pub fn drag_path(&mut self, path: &[(f32, f32)], modifiers: Modifiers) {
        let at = |i: usize| pos2(path[i].0, path[i].1);
        self.event(Event::PointerMoved(at(0)), modifiers);
        self.button(at(0), true, modifiers);
        for i in 1..path.len() {
            self.event(Event::PointerMoved(at(i)), modifiers);
        }
        self.button(at(path.len() - 1), false, modifiers);
        self.event(Event::PointerGone, Modifiers::NONE);
        // Waits, so that the next press is not a double-click.
        self.run(30);
    }

    pub fn wheel(&mut self, at: Pos2, points: f32, modifiers: Modifiers) {
        self.event(Event::PointerMoved(at), modifiers);
        self.turn_wheel(points, modifiers);
        self.run(30);
    }

    /// Turns the wheel by one notch at the pointer, then draws one frame.
    pub(super) fn turn_wheel(&mut self, points: f32, modifiers: Modifiers) {
        let wheel = Event::MouseWheel {
            unit: MouseWheelUnit::Point,
            delta: Vec2::new(0.0, points),
            phase: TouchPhase::Move,
            source: egui::MouseWheelSource::Wheel,
            modifiers,
        };
        self.event(wheel, modifiers);
    }
}
