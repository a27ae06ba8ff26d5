//! Comma-separated values: one file with the spikes of neurons, and one file for each other stream.

use super::{
    file_names::FileNames,
    output::Outputs,
    trial::{Trial, at, attribute, lane_names, secs, time_column},
};
use crate::{
    project::{LinksAt, RunFolder, Stream},
    sim::{AttributeValue, Birth, Level, SeriesUnit, TextSample, Tokens, items_name, items_until},
};
use std::{
    fs::File,
    io::{self, BufWriter, Write},
};

pub(super) fn write(run: &RunFolder, trials: &[Trial], names: &FileNames, outputs: &mut Outputs) -> io::Result<()> {
    if trials.iter().any(|t| t.spike_stream().is_some()) {
        let file = outputs.create(&names.main)?;
        write_spikes(run, trials, file).map_err(at(&names.main))?;
    }
    for trial in trials {
        for stream in trial.event_streams() {
            let path = names.of_probe(trial, stream);
            let file = outputs.create(&path)?;
            write_events(trial, stream, file).map_err(at(&path))?;
        }
        for stream in trial.row_streams() {
            let path = names.of_probe(trial, stream);
            let file = outputs.create(&path)?;
            write_rows(trial, stream, file).map_err(at(&path))?;
        }
        for stream in trial.line_streams() {
            let path = names.of_probe(trial, stream);
            let file = outputs.create(&path)?;
            write_lines(trial, stream, file).map_err(at(&path))?;
        }
        for stream in trial.lineages() {
            let path = names.of_probe(trial, stream);
            let file = outputs.create(&path)?;
            write_lineage(trial, stream, file).map_err(at(&path))?;
        }
    }
    Ok(())
}

fn write_spikes(run: &RunFolder, trials: &[Trial], file: File) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    let (has_trials, has_ids) = (run.manifest.trials > 0, trials.iter().any(|t| !t.ids.is_empty()));
    let (trial_head, id_head) = (if has_trials { "trial," } else { "" }, if has_ids { ",flywire_id" } else { "" });
    writeln!(file, "{trial_head}{},step,idx{id_head}", time_column(&run.manifest))?;
    for trial in trials {
        let k = trial.number();
        for spike in trial.events(trial.spike_stream())? {
            let spike = spike?;
            if has_trials {
                write!(file, "{k},")?;
            }
            write!(file, "{},{},{}", trial.secs(spike), spike.step, spike.lane)?;
            if has_ids {
                write!(file, ",{}", trial.id(spike))?;
            }
            writeln!(file)?;
        }
    }
    file.flush()
}

fn write_events(trial: &Trial, stream: &Stream, file: File) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    writeln!(file, "{},step,idx", time_column(trial.manifest()))?;
    for event in trial.read_spikes(stream)? {
        let event = event?;
        writeln!(file, "{},{},{}", trial.secs(event), event.step, event.lane)?;
    }
    file.flush()
}

fn write_rows(trial: &Trial, stream: &Stream, file: File) -> io::Result<()> {
    let (mut rows, mut values) = (trial.read_rows(stream)?, vec![]);
    let mut file = ::csv::Writer::from_writer(BufWriter::new(file));
    let head = [time_column(trial.manifest()), "step".to_owned()].into_iter().chain(lane_names(stream));
    // Reference values become columns, so that they can be plotted with the curves. A cell is empty if no value holds at
    // the step.
    let names = Level::names(&stream.levels);
    let head = head.chain(names.iter().map(|name| format!("level {name}")));
    // The values in other units, and the number of items processed so far, follow.
    let units = SeriesUnit::names(&stream.levels);
    let in_unit =
        |unit: &&str| lane_names(stream).into_iter().map(|lane| format!("{lane} ({unit})")).collect::<Vec<_>>();
    let items = items_name(&stream.levels);
    file.write_record(head.chain(units.iter().flat_map(in_unit)).chain(items.map(str::to_owned)))?;
    let units: Vec<SeriesUnit<'_>> = units.iter().map(|name| SeriesUnit::of(&stream.levels, name)).collect();
    while let Some(step) = rows.next_row(&mut values)? {
        let time = secs(step, trial.manifest().secs_per_step).to_string();
        let converted: Vec<String> = units
            .iter()
            .flat_map(|unit| values.iter().map(|v| unit.convert((*v).into(), step as f64).to_string()))
            .collect();
        let items = items.map(|_| items_until(&stream.levels, step).to_string());
        let values = values.iter().map(ToString::to_string);
        let level =
            |name: &&str| Level::value_at(&stream.levels, name, step).map_or_else(String::new, |v| v.to_string());
        let row = [time, step.to_string()].into_iter().chain(values).chain(names.iter().map(level));
        file.write_record(row.chain(converted).chain(items))?;
    }
    file.flush()
}

/// Writes one row per text, token or link. Fails if the stream cannot be read or the file cannot be written.
fn write_lines(trial: &Trial, stream: &Stream, file: File) -> io::Result<()> {
    let mut file = ::csv::Writer::from_writer(BufWriter::new(file));
    match stream.shape.as_str() {
        "samples" => {
            file.write_record(["step", "title", "text"])?;
            for sample in trial.read_lines::<TextSample>(stream)? {
                let TextSample { step, title, text } = sample?;
                file.write_record([step.to_string(), title, text])?;
            }
        }
        "tokens" => {
            file.write_record(["step", "position", "text", "value", "category", "best_candidate", "its_probability"])?;
            for tokens in trial.read_lines::<Tokens>(stream)? {
                let tokens = tokens?;
                for (i, text) in tokens.texts.iter().enumerate() {
                    let category = tokens.categories.get(i).and_then(|c| tokens.names.get(*c as usize));
                    let best = tokens.candidates.get(i).and_then(|c| c.first());
                    file.write_record([
                        tokens.step.to_string(),
                        i.to_string(),
                        text.clone(),
                        tokens.values.get(i).map_or_else(String::new, ToString::to_string),
                        category.cloned().unwrap_or_default(),
                        best.map_or_else(String::new, |(text, _)| text.clone()),
                        best.map_or_else(String::new, |(_, p)| p.to_string()),
                    ])?;
                }
            }
        }
        _ => {
            file.write_record(["step", "from", "to", "weight"])?;
            for at in trial.read_lines::<LinksAt>(stream)? {
                let LinksAt { step, links } = at?;
                for link in links {
                    let row = [step.to_string(), link.from.to_string(), link.to.to_string(), link.weight.to_string()];
                    file.write_record(row)?;
                }
            }
        }
    }
    file.flush()
}

/// Writes one row per individual: birth, death, parents, slot, cause of death, attributes. Fails if the stream cannot be
/// read or the file cannot be written.
fn write_lineage(trial: &Trial, stream: &Stream, file: File) -> io::Result<()> {
    let mut file = ::csv::Writer::from_writer(BufWriter::new(file));
    let head = ["id", "name", "place", "parents", "born_step", "gone_step", "end", "health"];
    let attributes = trial.attributes(stream)?;
    file.write_record(head.into_iter().chain(attributes.iter().map(|(name, _)| name.as_str())))?;
    trial.individuals(stream, |birth, death| {
        let Birth { step, born, child, parents, slot, name, .. } = birth;
        let parents = parents.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let fixed = [
            child.to_string(),
            name.clone(),
            slot.map_or_else(String::new, |p| p.to_string()),
            parents,
            born.unwrap_or(*step).to_string(),
            death.map_or_else(String::new, |d| d.step.to_string()),
            death.map_or_else(String::new, |d| d.end.word().to_owned()),
            death.and_then(|d| d.health).map_or_else(String::new, |h| h.to_string()),
        ];
        let value = |(name, _): &(String, bool)| {
            attribute(birth, death, name).map_or_else(String::new, |value| match value {
                AttributeValue::Number(v) => v.to_string(),
                AttributeValue::Text(text) => text.clone().into_owned(),
            })
        };
        Ok(file.write_record(fixed.into_iter().chain(attributes.iter().map(value)))?)
    })?;
    file.flush()
}
