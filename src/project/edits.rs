//! Edits of a run as texts, for exports.

use super::RunFolder;
use crate::{
    engine::LoggedCommand,
    kinds::Model,
    params::{Params, path},
};
use std::io;

impl RunFolder {
    /// Reads the command log as texts with their steps: `lif.tau_m = 12 ms`, `kick on 3 elements`, `rewind`. Fails as
    /// [`RunFolder::commands`] does.
    pub fn edits(&self) -> io::Result<Vec<(u64, String)>> {
        let commands = self.commands()?;
        let Some(model) = Model::by_name(&self.manifest.kind) else { return Ok(vec![]) };
        // Changes of list items are described with the parameters of the project, which has the items.
        let project = self.project().map(|project| project.model).unwrap_or(model);
        let params = project.params();
        Ok(commands.into_iter().map(|(step, command)| (step, describe(params, &command))).collect())
    }
}

fn describe(params: &dyn Params, command: &LoggedCommand) -> String {
    match command {
        LoggedCommand::Set(change) | LoggedCommand::Data(change, _) => {
            let value = params.spec(change.id).map_or_else(String::new, |spec| path::show(spec, &change.value));
            format!("{} = {value}", params.path(change.id))
        }
        LoggedCommand::Former(path, _) => format!("{path} (former parameter)"),
        LoggedCommand::Act(action) => match action.elements.len().max(action.individuals.len()) {
            0 => action.name.clone(),
            1 => format!("{} on 1 element", action.name),
            n => format!("{} on {n} elements", action.name),
        },
        LoggedCommand::Rewind => "rewind".to_owned(),
    }
}
