//! The configuration file of a modem of a scenario: finds the modem by its name, and makes its
//! file.

use docsis_config::File;

use super::cable::{CablePlan, Docsis, ModemOf, file_of};
use super::error::ScenarioError;
use super::link::{LinkConfig, LinkPlan};
use super::names::unknown;
use super::plan::Scenario;

/// The path that errors name, because the name of the modem is no key of the scenario.
const PATH: &str = "modem";

/// A cable line of the scenario.
struct Line<'a> {
    number: u16,
    link: &'a LinkPlan,
    plan: &'a CablePlan,
    written: &'a Docsis,
}

impl Scenario {
    /// The configuration file of a modem, without its message integrity checks and its end marker,
    /// and notes about the settings of the scenario that it does not hold.
    ///
    /// `modem` is called as in the scenario: `home`, or `home.3` of several. Where there are
    /// several lines, the link's name may go before: `cable.home`. The only modem of a line is
    /// called as its link. Without `modem`, it is the only one there is. With `is_by_class`, the
    /// file names service classes in place of their values.
    ///
    /// # Errors
    ///
    /// There is no such modem, or the name stands for several that differ.
    pub fn modem_file(
        &self,
        modem: Option<&str>,
        is_by_class: bool,
    ) -> Result<(File, Vec<String>), ScenarioError> {
        let lines = self.lines();
        if lines.is_empty() {
            let why = "the scenario has no cable line, and so no modem";
            return Err(ScenarioError::invalid(PATH, why));
        }
        let (line, modem) = find(&lines, modem)?;
        let of = ModemOf {
            link: line.number,
            path: &format!("link.{}.docsis", line.link.name),
            line: &line.link.name,
            bottleneck: self.bottleneck(),
            written: line.written,
            plan: line.plan,
            modem,
            hosts: &self.hosts,
            is_by_class,
        };
        Ok(file_of(of))
    }

    fn lines(&self) -> Vec<Line<'_>> {
        let numbered = (0..).zip(&self.links);
        let lines = numbered.filter_map(|(number, link)| {
            let plan = link.cable()?;
            let LinkConfig::Docsis(written) = &self.raw().link.get(&link.name)?.0 else {
                return None;
            };
            Some(Line {
                number,
                link,
                plan,
                written,
            })
        });
        lines.collect()
    }
}

/// The line and the number of the modem that is called `name`.
fn find<'a>(
    lines: &'a [Line<'a>],
    name: Option<&str>,
) -> Result<(&'a Line<'a>, usize), ScenarioError> {
    let mut found: Vec<(&Line<'_>, usize)> = Vec::new();
    for line in lines {
        let link = &line.link.name;
        for (index, modem) in line.plan.modems.all.iter().enumerate() {
            let group = line.plan.modems.groups[modem.group].name.as_deref();
            let is_called = |own: Option<&str>, name: &str| match own {
                Some(own) => {
                    name == own || name.strip_prefix(link.as_str()) == Some(&format!(".{own}"))
                }
                None => name == link,
            };
            let is_it = name.is_none_or(|name| {
                is_called(modem.name.as_deref(), name) || is_called(group, name)
            });
            if is_it {
                found.push((line, index));
            }
        }
    }
    let Some(&(line, modem)) = found.first() else {
        return Err(unknown(PATH, PATH, name.unwrap_or_default(), names(lines)));
    };
    let profile = |(line, modem): &(&Line<'_>, usize)| line.plan.modems.all[*modem].profile;
    let first = profile(&found[0]);
    let are_alike = (found.iter()).all(|one| one.0.number == line.number && profile(one) == first);
    if are_alike {
        return Ok((line, modem));
    }
    let several = match name {
        Some(name) => format!("\"{name}\" stands for {} modems that differ", found.len()),
        None => format!("the scenario has {} modems that differ", found.len()),
    };
    let why = format!("{several}: expected one of {}", shown(lines, &found));
    Err(ScenarioError::invalid(PATH, why))
}

/// What the modems' groups are called.
fn names(lines: &[Line<'_>]) -> Vec<String> {
    let mut names = Vec::new();
    for line in lines {
        let groups = line.plan.modems.groups.iter();
        names.extend(groups.map(|group| qualified(lines, line, group.name.as_deref())));
    }
    names
}

/// Names of those found, the first few: a group's if its modems are alike, else the modems' own.
fn shown(lines: &[Line<'_>], found: &[(&Line<'_>, usize)]) -> String {
    const SHOWN: usize = 4;
    let mut names: Vec<String> = Vec::new();
    for (line, modem) in found {
        let modems = &line.plan.modems;
        let modem = &modems.all[*modem];
        let mut group = modems.all.iter().filter(|other| other.group == modem.group);
        let are_alike = group.all(|other| other.profile == modem.profile);
        let name = if are_alike {
            modems.groups[modem.group].name.as_deref()
        } else {
            modem.name.as_deref()
        };
        let name = format!("\"{}\"", qualified(lines, line, name));
        if names.last() != Some(&name) {
            names.push(name);
        }
    }
    let more = if names.len() > SHOWN { ", …" } else { "" };
    names.truncate(SHOWN);
    format!("{}{more}", names.join(", "))
}

/// A modem's or group's name, with its link where there are several lines.
fn qualified(lines: &[Line<'_>], of: &Line<'_>, name: Option<&str>) -> String {
    let link = &of.link.name;
    match name {
        Some(name) if lines.len() > 1 => format!("{link}.{name}"),
        Some(name) => name.to_owned(),
        None => link.clone(),
    }
}
