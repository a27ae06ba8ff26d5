//! Subject and session of an export, which archives of experiments require and a run does not hold.

/// Field of subject or session.
#[derive(Debug)]
pub struct AboutField {
    /// Name in `--about`, which is that of NWB.
    pub name: &'static str,
    /// Label in a form.
    pub title: &'static str,
    /// Description with the accepted form.
    pub docs: &'static str,
    /// Example of a value; empty for free text.
    pub example: &'static str,
    /// Whether nwbinspector reports a file without it.
    pub is_required: bool,
    /// Whether the field belongs to the subject.
    pub of_subject: bool,
    /// Whether it has several values, separated by semicolons.
    pub is_list: bool,
    /// Whether the value is that of one run, and is not proposed for the next export.
    pub of_run: bool,
    /// Returns what is wrong with a value; `None` if it is accepted.
    refusal: fn(&str) -> Option<&'static str>,
}

impl AboutField {
    /// Returns what is wrong with a value and which form is accepted; `None` for an accepted or empty value.
    pub fn why_not(&self, value: &str) -> Option<&'static str> {
        (self.refusal)(value.trim()).filter(|_| !value.trim().is_empty())
    }
}

const fn field(name: &'static str, title: &'static str, docs: &'static str) -> AboutField {
    AboutField {
        name,
        title,
        docs,
        example: "",
        is_required: false,
        of_subject: false,
        is_list: false,
        of_run: false,
        refusal: |_| None,
    }
}

/// All fields, in the order of a form.
pub const FIELDS: [AboutField; 13] = [
    AboutField {
        is_required: true,
        of_subject: true,
        example: "model",
        refusal: |id| id.contains('/').then_some("it contains a slash; use another character"),
        ..field("subject_id", "Subject", "Name of the subject, without slashes")
    },
    AboutField {
        is_required: true,
        of_subject: true,
        example: "Drosophila melanogaster",
        refusal: wrong_species,
        ..field(
            "species",
            "Species",
            "Latin name of two words, e.g. `Drosophila melanogaster`, or the address of an NCBI taxonomy term",
        )
    },
    AboutField {
        is_required: true,
        of_subject: true,
        example: "U",
        refusal: |sex| {
            (!["M", "F", "O", "U", "XO", "XX"].contains(&sex))
                .then_some("M, F, O (other), U (unknown), XO or XX expected")
        },
        ..field("sex", "Sex", "M, F, O (other) or U (unknown); XO or XX for C. elegans")
    },
    AboutField {
        is_required: true,
        of_subject: true,
        example: "P90D",
        refusal: |age| wrong_age(age).then_some("an ISO 8601 duration expected, e.g. `P5D`, or a range `P1D/P3D`"),
        ..field(
            "age",
            "Age",
            "ISO 8601 duration since birth: `P90D` is 90 days, `P12W` 12 weeks, `P1D/P3D` 1 to 3 days",
        )
    },
    AboutField { of_subject: true, ..field("strain", "Strain", "Strain of the subject") },
    AboutField { of_subject: true, ..field("genotype", "Genotype", "Genotype of the subject") },
    AboutField {
        is_list: true,
        example: "Last, First; Last, First",
        ..field("experimenter", "Experimenter", "`Last, First`; several are separated by semicolons")
    },
    field("institution", "Institution", "Institution of the experiment"),
    field("lab", "Laboratory", "Laboratory of the experiment"),
    AboutField {
        of_run: true,
        refusal: |id| id.contains('/').then_some("it contains a slash; use another character"),
        ..field("session_id", "Session", "Name of the session, without slashes; by default that of the run folder")
    },
    AboutField {
        of_run: true,
        example: "2026-03-01T09:30:00Z",
        refusal: |time| {
            wrong_time(time)
                .then_some("a date and time with its zone expected, e.g. `2026-03-01T09:30:00Z` or `…+01:00`")
        },
        ..field(
            "session_start_time",
            "Start of the session",
            "ISO 8601 date and time with time zone, `2026-03-01T09:30:00+01:00`; by default the start of the run",
        )
    },
    AboutField {
        of_run: true,
        ..field(
            "experiment_description",
            "Experiment",
            "Description of the experiment; by default the notes of the project",
        )
    },
    AboutField {
        is_list: true,
        example: "spiking; decision",
        ..field("keywords", "Keywords", "Keywords, separated by semicolons")
    },
];

/// Values of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About(Vec<(usize, String)>);

impl About {
    /// Sets a field from `NAME=VALUE`.
    ///
    /// # Errors
    /// Fails with a sentence if there is no such field or the value has another form.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}`: FIELD=VALUE expected"))?;
        let (name, value) = (name.trim(), value.trim());
        let Some(i) = FIELDS.iter().position(|field| field.name == name) else {
            let names: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
            return Err(format!("there is no field `{name}`; there are {}", names.join(", ")));
        };
        if let Some(why) = FIELDS[i].why_not(value) {
            return Err(format!("{name} `{value}`: {why}"));
        }
        self.0.retain(|(of, _)| *of != i);
        if !value.is_empty() {
            self.0.push((i, value.to_owned()));
        }
        Ok(())
    }

    /// Returns the values as texts `NAME=VALUE`, without those of one run.
    pub fn kept_texts(&self) -> Vec<String> {
        let kept = self.0.iter().filter(|(i, _)| !FIELDS[*i].of_run);
        kept.map(|(i, value)| format!("{}={value}", FIELDS[*i].name)).collect()
    }

    /// Returns the value of a field; `None` if it is not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(i, _)| FIELDS[*i].name == name).map(|(_, value)| value.as_str())
    }

    /// Returns the values of a field with several values.
    pub fn list(&self, name: &str) -> Vec<&str> {
        self.get(name)
            .map_or_else(Vec::new, |all| all.split(';').map(str::trim).filter(|one| !one.is_empty()).collect())
    }

    /// Whether a field of the subject is set.
    pub fn has_subject(&self) -> bool {
        self.0.iter().any(|(i, _)| FIELDS[*i].of_subject)
    }

    /// Returns the names of the fields that nwbinspector requires and that are not set.
    pub fn missing(&self) -> Vec<&'static str> {
        FIELDS
            .iter()
            .filter(|field| field.is_required && self.get(field.name).is_none())
            .map(|field| field.name)
            .collect()
    }
}

fn wrong_species(text: &str) -> Option<&'static str> {
    let is_address = text.starts_with("http://purl.obolibrary.org/obo/NCBITaxon_");
    let mut words = text.split(' ');
    let is_word = |word: Option<&str>| word.is_some_and(|w| !w.is_empty() && w.chars().all(char::is_alphabetic));
    let is_name = text.chars().next().is_some_and(char::is_uppercase) && is_word(words.next()) && is_word(words.next());
    (!is_address && !is_name).then_some("a Latin name of two words expected, e.g. `Mus musculus`")
}

fn wrong_age(text: &str) -> bool {
    let is_duration = |one: &str| {
        let rest = one.strip_prefix('P').unwrap_or("");
        !rest.is_empty()
            && rest.chars().any(|c| c.is_ascii_digit())
            && rest.chars().all(|c| c.is_ascii_digit() || "YMWDTHS.".contains(c))
    };
    !text.split('/').all(|one| one.is_empty() || is_duration(one)) || text.split('/').all(str::is_empty)
}

/// Whether a text is not `YYYY-MM-DDTHH:MM:SS`, with an optional fraction of a second, and `Z` or a distance from UTC.
fn wrong_time(text: &str) -> bool {
    let matches = |text: &str, form: &str| {
        let fits = |(c, of): (char, char)| if of == '0' { c.is_ascii_digit() } else { c == of };
        text.len() == form.len() && text.chars().zip(form.chars()).all(fits)
    };
    let Some((time, zone)) = text.split_at_checked("0000-00-00T00:00:00".len()) else { return true };
    let zone =
        zone.strip_prefix('.').map_or(zone, |fraction| fraction.trim_start_matches(|c: char| c.is_ascii_digit()));
    let is_zone = zone == "Z" || matches(zone, "+00:00") || matches(zone, "-00:00");
    let number =
        |range: std::ops::Range<usize>| time.get(range).and_then(|part| part.parse::<u32>().ok()).unwrap_or(99);
    let is_time = (1..=12).contains(&number(5..7))
        && (1..=31).contains(&number(8..10))
        && number(11..13) < 24
        && number(14..16) < 60
        && number(17..19) < 61;
    !matches(time, "0000-00-00T00:00:00") || !is_time || !is_zone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_forms_that_archives_accept() {
        let mut about = About::default();
        let required = ["subject_id", "species", "sex", "age"];
        assert_eq!(about.missing(), required);
        for text in ["subject_id=fly", "species=Drosophila melanogaster", "sex=U", "age=P5D/P7D", "keywords=a; b"] {
            about.set(text).unwrap();
        }
        assert!(about.missing().is_empty() && about.has_subject());
        assert_eq!(about.list("keywords"), ["a", "b"]);
        for time in ["2026-03-01T09:30:00Z", "2026-03-01T09:30:00.25+01:00"] {
            about.set(&format!("session_start_time={time}")).unwrap();
        }
        assert!(about.kept_texts().iter().all(|text| !text.starts_with("session")));
        for (text, why) in [
            ("age=5 days", "duration expected"),
            ("species=fly", "Latin name"),
            ("sex=male", "M, F"),
            ("session_start_time=2026-03-01", "time with its zone"),
            ("session_start_time=2026-13-01T09:30:00Z", "time with its zone"),
            ("session_start_time=2026-03-01T09:30:00", "time with its zone"),
            ("colour=red", "no field `colour`"),
            ("age", "FIELD=VALUE"),
        ] {
            assert!(about.set(text).unwrap_err().contains(why), "{text}");
        }
    }
}
