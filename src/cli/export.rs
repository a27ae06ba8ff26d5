//! `neuropil export`: writes a run in another format.

use super::{args::ExportArgs, error::CliError, stdout::print_line};
use crate::{export, project::RunFolder, sim::Progress};

pub(super) fn export(args: &ExportArgs) -> Result<(), CliError> {
    let run = RunFolder::open(&args.run)?;
    run.notes.iter().for_each(|note| eprintln!("neuropil: {note}"));
    let damaged = export::damaged(&run, args.format, &Progress::default())?;
    match damaged.first() {
        Some(first) if !args.allow_damaged => {
            let more =
                if damaged.len() > 1 { format!(" (and {} more files)", damaged.len() - 1) } else { String::new() };
            let what = format!("{}: {first}{more}; --allow-damaged exports what is there", args.run.display());
            return Err(CliError::Failed(what));
        }
        _ => damaged.iter().for_each(|why| eprintln!("neuropil: {why}; it is exported as it is")),
    }
    for file in export::export(&run, args.format, args.out.as_deref())? {
        print_line!("{}", file.display());
    }
    Ok(())
}
