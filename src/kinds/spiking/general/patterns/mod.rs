//! Patterns presented to a population in a schedule, and the accuracy with which another population tells their classes.
//!
//! A presentation is a part with input and a pause. In the part with input, each neuron of the input population receives voltage
//! pulses at a rate proportional to the value of its pixel, in [`LEVELS`](schedule::LEVELS) levels. The phases follow one another from
//! step 0 on:
//!
//! 1. **training**: patterns of random classes;
//! 2. **labelling**: the neurons of the readout population are counted. Each neuron is then assigned to the class for which its mean
//!    number of spikes per presentation is largest, and to none if it never spiked;
//! 3. **held-out**: patterns that no other phase uses. The answer to a presentation is the class with the largest mean number of spikes
//!    of its assigned neurons; of equal classes the first, and none without spikes. Accuracy is the fraction of correct answers.
//!
//! After training, plastic weights and adaptive thresholds keep their values, unless [`PatternInput::hold`] is off (Diehl & Cook 2015).
//!
//! | file | subject |
//! | --- | --- |
//! | `rules` | parameters |
//! | [`digits`] | patterns made by the program |
//! | [`images`] | images of the user, from a table |
//! | [`hold`] | end of training |
//! | [`schedule`] | pattern of each presentation |
//! | [`readout`] | assignment of neurons to classes, accuracy |

pub mod digits;
pub mod hold;
pub mod images;
pub mod readout;
mod rules;
pub mod schedule;
pub use rules::*;
