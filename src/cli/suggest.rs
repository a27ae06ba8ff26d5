//! Suggestions for mistyped commands and devices.

use super::args::{Args, DeviceArg};
use crate::project::DeviceChoice;
use clap::{
    Arg, Command, CommandFactory,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
};
use std::{
    ffi::{OsStr, OsString},
    path::Path,
};
use strsim::levenshtein;

/// Returns a message if the first argument is neither a command, an option nor an existing file; `None` otherwise, and for
/// a single argument that resembles no command. `words` are the arguments after the program's name.
pub(super) fn unknown_command(words: &[OsString]) -> Option<String> {
    let first = words.first().filter(|word| !Path::new(word).exists())?.to_string_lossy();
    if first.starts_with('-') {
        return None;
    }
    let command = Args::command();
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).chain(["help"]).collect();
    if names.contains(&&*first) {
        return None;
    }
    let nearest = names.iter().map(|name| (levenshtein(&first, name), *name)).min();
    match nearest {
        Some((far, name)) if far <= 2 && far < name.len() => {
            Some(format!("there is no command or file `{first}`; did you mean `{name}`?"))
        }
        _ if words.len() > 1 => {
            Some(format!("there is no command or file `{first}`; the commands are {}", names.join(", ")))
        }
        _ => None, // the word is taken as the name of a missing file
    }
}

/// Names of devices with their help texts.
const DEVICES: [(&str, DeviceChoice, &str); 3] = [
    ("auto", DeviceChoice::Auto, "A GPU when there is a usable one, else the CPU"),
    ("cpu", DeviceChoice::Cpu, "The CPU"),
    ("cuda", DeviceChoice::Cuda, "An NVIDIA GPU, and nothing else; with several, cuda:1 is the second"),
];

/// Parser of devices. Names such as `gpu` get a hint.
#[derive(Clone)]
pub(super) struct DeviceParser;

impl TypedValueParser for DeviceParser {
    type Value = DeviceArg;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<DeviceArg, clap::Error> {
        let typed = value.to_string_lossy().to_lowercase();
        let wrong = |what: String| command.clone().error(ErrorKind::InvalidValue, what);
        if ["gpu", "nvidia", "gpu0"].contains(&typed.as_str()) {
            let hint = "use `cuda` for an NVIDIA GPU, or `auto` for a GPU if one is usable and the CPU otherwise";
            return Err(wrong(format!("`{typed}` is not a device: {hint}")));
        }
        if let Some(number) = typed.strip_prefix("cuda:") {
            let hint = "use `cuda:0` for the first GPU, `cuda:1` for the second; a simulation runs on one";
            let gpu = number.parse().map_err(|_| wrong(format!("`{typed}` is not a device: {hint}")))?;
            return Ok(DeviceArg { choice: DeviceChoice::Cuda, gpu: Some(gpu) });
        }
        let name = PossibleValuesParser::new(DEVICES.map(|d| d.0)).parse_ref(command, arg, value)?;
        let choice = DEVICES.iter().find(|d| d.0 == name).map_or(DeviceChoice::Auto, |d| d.1);
        Ok(DeviceArg { choice, gpu: None })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(DEVICES.iter().map(|(name, _, docs)| PossibleValue::new(*name).help(*docs))))
    }
}
