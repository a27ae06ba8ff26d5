//! Network that another program described.

/// Network from a file of another program, with the settings of its run.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedNetwork<P> {
    /// Parameters of the kind, with paths to the files of the connections.
    pub params: P,
    /// Name of the network.
    pub name: String,
    /// Duration of a run, ms; `None` if the file names none.
    pub duration_ms: Option<f64>,
    /// Seed of a run; `None` if the file names none.
    pub seed: Option<u64>,
    /// Sentences about parts of the file that are not read.
    pub notes: Vec<String>,
}

impl<P> ImportedNetwork<P> {
    /// Converts the parameters.
    pub fn map<Q>(self, to: impl FnOnce(P) -> Q) -> ImportedNetwork<Q> {
        let Self { params, name, duration_ms, seed, notes } = self;
        ImportedNetwork { params: to(params), name, duration_ms, seed, notes }
    }
}
