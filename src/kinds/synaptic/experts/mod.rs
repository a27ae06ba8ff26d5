//! The mixture of experts: router, genomes, metabolism, dispatch.
