//! What the texts of the repository must agree on: floors, licences, declarations, kernels and their twins, habits.

mod declarations;
mod floors;
mod habits;
mod house;
mod imports;
mod kernels;
mod kind_names;
mod labels;
mod licences;
mod prose;
mod quantities;
mod translations;
mod twins;
