//! `neuropil bench`: the only place outside `kinds` where a kind is told from another.

use super::{args::BenchArgs, error::CliError};
use crate::kinds::Model;

pub(super) fn bench(args: &BenchArgs) -> Result<(), CliError> {
    if Model::by_name(&args.kind).is_none() {
        let known: Vec<&str> = Model::all().iter().map(Model::name).collect();
        return Err(CliError::Usage(format!("there is no kind `{}`; there are: {}", args.kind, known.join(", "))));
    }
    Err(CliError::Failed(format!("the kind `{}` has no benchmark", args.kind)))
}
