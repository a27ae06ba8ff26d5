//! `neuropil export`.

use super::{
    args::{ExportArgs, Format},
    error::CliError,
    say::out,
};
use crate::{export, project::RunFolder};

pub(super) fn export(args: &ExportArgs) -> Result<(), CliError> {
    let run = RunFolder::open(&args.run)?;
    run.notes.iter().for_each(|note| eprintln!("neuropil: {note}"));
    let format = match args.format {
        Format::Csv => export::Format::Csv,
        Format::Npz => export::Format::Npz,
        Format::Parquet => export::Format::Parquet,
        Format::Png => export::Format::Png,
    };
    for file in export::export(&run, format, args.out.as_deref())? {
        out!("{}", file.display());
    }
    Ok(())
}
