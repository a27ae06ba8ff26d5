//! `neuropil export`.

use super::{args::ExportArgs, error::CliError, stdout::print_line};
use crate::{export, project::RunFolder};

pub(super) fn export(args: &ExportArgs) -> Result<(), CliError> {
    let run = RunFolder::open(&args.run)?;
    run.notes.iter().for_each(|note| eprintln!("neuropil: {note}"));
    for file in export::export(&run, args.format, args.out.as_deref())? {
        print_line!("{}", file.display());
    }
    Ok(())
}
