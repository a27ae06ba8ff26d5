//! Memory that is written while a text is continued, and the gate of its writes.

pub mod reference;
