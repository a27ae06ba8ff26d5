//! Arguments and bounds of a parameter's distribution, addressed like parameters: `lif.tau_m.sd=2 ms`.

use super::{Change, Distribution, ParamId, ParamSpec, Params, Value, distribution::Law};

/// Argument or bound of the present distribution of a parameter.
#[derive(Clone, Copy, Debug)]
pub struct DistributionArgument {
    /// Parameter with the distribution.
    pub id: ParamId,
    /// Declaration of the argument, with its unit and range.
    pub spec: ParamSpec,
    /// Present value of the argument.
    pub value: f64,
    of: &'static ParamSpec,
    now: Distribution,
    /// Index in [`Distribution::values`].
    index: usize,
}

impl DistributionArgument {
    /// Returns the arguments and bounds of a parameter; empty for a constant and for other types of parameters.
    pub fn all(params: &dyn Params, id: ParamId) -> Vec<Self> {
        let (Some(of), Value::Distribution(now)) = (params.spec(id), params.get(id)) else { return vec![] };
        if now.law == Law::Constant {
            return vec![];
        }
        let specs = Distribution::argument_specs(now.law, of).into_iter().zip(now.values()).enumerate();
        specs.map(|(index, (spec, value))| Self { id, spec, value, of, now, index }).collect()
    }

    /// Returns the change that sets the argument to a value. Fails if the text is not a number, or the parameter does
    /// not accept the distribution.
    pub fn change(&self, text: &str) -> Result<Change, String> {
        let changed = self.now.with_value(self.index, self.spec.unit.parse(text)?);
        match changed.refusal(self.of) {
            Some(why) => Err(why),
            None => Ok(Change { id: self.id, value: Value::Distribution(changed) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{params::path, project::Project};

    #[test]
    fn an_argument_is_set_by_its_path() {
        let here = std::path::Path::new(".");
        let mut project = Project::default();
        let set = |project: &mut Project, text: &str| project.set(text, here).map_err(|why| why.to_string());
        assert!(set(&mut project, "network.inhibitory_count.sd=3").is_err(), "a constant has no spread");
        for text in ["network.inhibitory_count=normal(30, 2) in 1..90", "network.inhibitory_count.mean=40"] {
            set(&mut project, text).expect(text);
        }
        set(&mut project, "network.inhibitory_count.max=80").expect("a bound");
        let params = project.model.params();
        let (id, spec) = path::find(params, "network.inhibitory_count").expect("a parameter");
        assert_eq!(path::show(spec, &params.get(id)), "normal(40, 2) in 1..80");
        let names: Vec<&str> = DistributionArgument::all(params, id).iter().map(|a| a.spec.name).collect();
        assert_eq!(names, ["mean", "sd", "min", "max"]);
        assert!(set(&mut project, "network.inhibitory_count.sd=-1").is_err());
        assert!(set(&mut project, "network.inhibitory_count.low=1").is_err(), "of another family");
    }
}
