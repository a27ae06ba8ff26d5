//! Suggestions for mistyped commands and devices.

use super::args::{Args, DeviceArg};
use crate::params::path::distance;
use clap::{
    Arg, Command, CommandFactory, ValueEnum,
    builder::{EnumValueParser, PossibleValue, TypedValueParser},
    error::ErrorKind,
};
use std::{ffi::OsStr, path::Path};

/// A message when the first argument is neither a command, an option nor an existing file. `words` are the arguments
/// after the program's name.
pub(super) fn unknown_command(words: &[String]) -> Option<String> {
    let first = words.first().filter(|w| !w.starts_with('-') && !Path::new(w.as_str()).exists())?;
    let command = Args::command();
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).chain(["help"]).collect();
    if names.contains(&first.as_str()) {
        return None;
    }
    let nearest = names.iter().map(|name| (distance(first, name), *name)).min();
    match nearest {
        Some((far, name)) if far <= 2 && far < name.len() => {
            Some(format!("there is no command or file `{first}`; did you mean `{name}`?"))
        }
        _ if words.len() > 1 => {
            Some(format!("there is no command or file `{first}`; the commands are {}", names.join(", ")))
        }
        _ => None, // a file that does not exist
    }
}

/// Parses a device; `gpu` and similar names get a hint.
#[derive(Clone)]
pub(super) struct DeviceParser;

impl TypedValueParser for DeviceParser {
    type Value = DeviceArg;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<DeviceArg, clap::Error> {
        let typed = value.to_string_lossy().to_lowercase();
        if ["gpu", "nvidia", "gpu0", "cuda:0"].contains(&typed.as_str()) {
            let hint = "use `cuda` for an NVIDIA GPU, or `auto` for a GPU if one is usable and the CPU otherwise";
            let what = format!("`{typed}` is not a device: {hint}");
            return Err(command.clone().error(ErrorKind::InvalidValue, what));
        }
        EnumValueParser::<DeviceArg>::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(DeviceArg::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}
