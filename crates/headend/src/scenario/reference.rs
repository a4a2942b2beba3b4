//! What can be written in a scenario, as a JSON Schema and as a reference page. Both are made from
//! the doc comments of the tables.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::raw::Raw;

/// The JSON Schema of a scenario (draft 2020-12).
pub fn schema() -> String {
    serde_json::to_string_pretty(&schema_value()).expect("a schema is plain JSON") + "\n"
}

/// The reference page, in Markdown.
pub fn reference() -> String {
    let schema = schema_value();
    let definitions = schema["$defs"]
        .as_object()
        .expect("the schema has definitions");
    // Headings are chosen by where tables stand, and that is named by the headings.
    let first = Page::write(&schema, definitions, Headings::new(), &Places::new());
    let headings = choose_headings(&first.places);
    let second = Page::write(&schema, definitions, headings.clone(), &Places::new());
    Page::write(&schema, definitions, headings, &second.places).text
}

/// The heading of each definition that does not stand under the path where it is met first.
type Headings<'a> = BTreeMap<&'a str, String>;

/// The paths at which each definition stands, in the order of the page.
type Places<'a> = BTreeMap<&'a str, Vec<String>>;

/// A table that stands in several parts of a scenario, such as in links and in the router, is
/// described under the key that most places have for it, such as `queue`; all others are described
/// where they are met first.
fn choose_headings<'a>(places: &Places<'a>) -> Headings<'a> {
    let mut headings = Headings::new();
    for (name, paths) in places {
        let parts: BTreeSet<_> = paths.iter().map(|path| part(path)).collect();
        let keys: Vec<_> = paths.iter().map(|path| last_key(path)).collect();
        let count = |key: &&str| keys.iter().filter(|other| *other == key).count();
        // Of keys that are as common, the first of the page.
        let common = keys.iter().rev().copied().max_by_key(count);
        if let Some(key) = common.filter(|_| parts.len() > 1)
            && !headings.values().any(|taken| taken == key)
        {
            headings.insert(*name, key.to_owned());
        }
    }
    headings
}

/// The part of a scenario that a path is in: its first key.
fn part(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

/// The last key of a path; `NAME` is a part of it.
fn last_key(path: &str) -> &str {
    let key = path.strip_suffix(".NAME").unwrap_or(path);
    &path[key.rfind('.').map_or(0, |dot| dot + 1)..]
}

const PREFACE: &str = "\
# Scenario reference

<!-- Made by `make generate` from the doc comments of crates/headend/src. Do not edit. -->

Every key a scenario can hold. The grammar and its reasons: \
[decision record 0010](../adr/0010-scenario-grammar.md). For editors:
[scenario.schema.json](scenario.schema.json).

Values carry units: durations `\"10 ms\"` (ns, us, ms, s, min, h), rates `\"10 Mbit/s\"` \
(bit/s, kbit/s, Mbit/s, Gbit/s), sizes `\"64 KiB\"` (B, kB, MB, GB by thousands; KiB, MiB, GiB by
1024), shares `\"10 %\"` or `0.1`, buffer limits as a size, a duration at the line's rate, \
`\"60 packets\"` or `\"unlimited\"`. Where one of several kinds is
chosen, its name alone takes all defaults: `queue = \"codel\"` or \
`queue.codel.target = \"10 ms\"`. `NAME` stands for a name of your own.

## The scenario

";

fn schema_value() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<Raw>().to_value()
}

/// The page while it is being written, breadth first.
struct Page<'a> {
    definitions: &'a Map<String, Value>,
    headings: Headings<'a>,
    /// Heading of the section of each definition that has one.
    sections: BTreeMap<&'a str, String>,
    /// Where the definitions that were met stand.
    places: Places<'a>,
    /// Sections still to be written.
    waiting: VecDeque<(&'a str, String)>,
    text: String,
}

impl<'a> Page<'a> {
    /// Writes the page. The places are those that a section under a shared heading lists.
    fn write(
        schema: &'a Value,
        definitions: &'a Map<String, Value>,
        headings: Headings<'a>,
        places: &Places<'a>,
    ) -> Self {
        let mut page = Self {
            definitions,
            headings,
            sections: BTreeMap::new(),
            places: Places::new(),
            waiting: VecDeque::new(),
            text: PREFACE.to_owned(),
        };
        page.write_keys("", schema);
        while let Some((name, path)) = page.waiting.pop_front() {
            page.write_section(name, &path, places);
        }
        page
    }

    fn write_section(&mut self, name: &'a str, path: &str, places: &Places<'a>) {
        let node = &self.definitions[name];
        let _ = write!(self.text, "\n## `{path}`\n\n{}\n\n", paragraphs(node));
        if self.headings.contains_key(name)
            && let Some(places) = places.get(name)
        {
            let places: Vec<_> = places.iter().map(|place| format!("`{place}`")).collect();
            let _ = write!(self.text, "It stands at {}.\n\n", places.join(", "));
        }
        if node.get("oneOf").is_some() {
            self.write_kinds(path, node);
        } else {
            self.write_keys(path, node);
        }
    }

    /// A table of the keys of an object.
    fn write_keys(&mut self, path: &str, node: &'a Value) {
        let Some(keys) = node.get("properties").and_then(Value::as_object) else {
            return self.text.push_str("No parameters.\n");
        };
        if keys.is_empty() {
            return self.text.push_str("No parameters.\n");
        }
        self.text
            .push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
        for (key, value) in keys {
            let below = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            let form = self.form(&below, value);
            let default = default(node, key, value);
            let meaning = self.meaning(value);
            let _ = writeln!(self.text, "| `{key}` | {form} | {default} | {meaning} |");
        }
    }

    /// A list of the kinds of a choice, with a section for each that has parameters.
    fn write_kinds(&mut self, path: &str, node: &'a Value) {
        self.text.push_str("| kind | meaning |\n|---|---|\n");
        for kind in elements(node, "oneOf") {
            let meaning = description(kind);
            if let Some(name) = kind.get("const").and_then(Value::as_str) {
                let _ = writeln!(self.text, "| `{name}` | {meaning} |");
                continue;
            }
            for (name, parameters) in kind["properties"].as_object().into_iter().flatten() {
                let own = format!("{path}.{name}");
                let form = self.form(&own, parameters);
                // Two kinds may have the same parameters: the section is that of the first.
                let name = match form.rsplit_once("](#") {
                    Some((_, section)) if form.starts_with("table ") => {
                        format!("[`{own}`](#{section}")
                    }
                    _ => format!("`{name}`"),
                };
                let _ = writeln!(self.text, "| {name} | {meaning} |");
            }
        }
    }

    /// What form a value at `path` has; what needs a section of its own is put on the list.
    fn form(&mut self, path: &str, node: &'a Value) -> String {
        if let Some(name) = reference_of(node) {
            return self.form_of_definition(path, name);
        }
        if node.get("anyOf").is_some() {
            let forms = elements(node, "anyOf").map(|form| self.form(path, form));
            let mut forms: Vec<String> = forms.filter(|form| form != "nothing").collect();
            forms.dedup();
            return forms.join(" or ");
        }
        if let Some(values) = node
            .get("additionalProperties")
            .filter(|values| values.is_object())
        {
            return format!("by name: {}", self.form(&format!("{path}.NAME"), values));
        }
        if node.get("enum").is_some() {
            return "name".to_owned();
        }
        if node.get("prefixItems").is_some() {
            let parts: Vec<String> = elements(node, "prefixItems")
                .map(|part| self.form(path, part))
                .collect();
            return format!("[{}]", parts.join(", "));
        }
        if let Some(items) = node.get("items") {
            return format!("list of {}", self.form(path, items));
        }
        plain_form(node).to_owned()
    }

    fn form_of_definition(&mut self, path: &str, name: &'a str) -> String {
        let node = &self.definitions[name];
        if elements(node, "oneOf").next().is_some()
            && names(node).len() == elements(node, "oneOf").count()
        {
            return names(node).join(", ");
        }
        let places = self.places.entry(name).or_default();
        places.push(path.to_owned());
        let section = self.sections.entry(name).or_insert_with(|| {
            let heading = self.headings.get(name);
            let heading = heading.map_or_else(|| path.to_owned(), Clone::clone);
            self.waiting.push_back((name, heading.clone()));
            heading
        });
        format!("table [`{section}`](#{})", anchor(section))
    }

    /// The description, with that of each name that can be chosen.
    fn meaning(&self, node: &Value) -> String {
        let mut meaning = description(node);
        let referred =
            reference_of(node).or_else(|| elements(node, "anyOf").find_map(reference_of));
        let definition = referred.map_or(node, |name| &self.definitions[name]);
        for choice in elements(definition, "oneOf") {
            if let Some(name) = choice.get("const").and_then(Value::as_str)
                && names(definition).len() == elements(definition, "oneOf").count()
            {
                let _ = write!(meaning, " `\"{name}\"`: {}", description(choice));
            }
        }
        meaning
    }
}

fn reference_of(node: &Value) -> Option<&str> {
    node.get("$ref")?.as_str()?.rsplit('/').next()
}

fn elements<'a>(node: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    node.get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// The names of a choice that have no parameters.
fn names(node: &Value) -> Vec<String> {
    let constants = elements(node, "oneOf").filter_map(|kind| kind.get("const")?.as_str());
    constants.map(|name| format!("`\"{name}\"`")).collect()
}

/// The description in one line, as a cell of a table holds it.
fn description(node: &Value) -> String {
    in_one_line(doc_comment(node))
}

/// The description with its paragraphs.
fn paragraphs(node: &Value) -> String {
    let paragraphs = doc_comment(node).split("\n\n").map(in_one_line);
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn doc_comment(node: &Value) -> &str {
    node.get("description")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn in_one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

fn plain_form(node: &Value) -> &'static str {
    let format = node
        .get("format")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let kind = match node.get("type") {
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
        Some(kind) => kind.as_str(),
        None => None,
    };
    match (kind.unwrap_or_default(), format) {
        ("string", "ByteCount") => "size",
        ("string", "MaximumRate") => "rate or `\"unlimited\"`",
        ("string", "RelativeRate") => "share, rate or `\"unlimited\"`",
        ("string", "MemoryLimit") => "size or `\"unlimited\"`",
        ("string", "TimeLimit") => "duration or `\"unlimited\"`",
        ("string", "TunedSize") => "size or `\"autotuned\"`",
        ("string", "Duration") => "duration",
        ("string", "Overhead") => "size, perhaps below zero",
        ("string", "Limit") => "buffer limit",
        ("string", "Probability") => "share",
        ("string", "Rate") => "rate",
        ("string", "Selection") => "ranges",
        ("string", "Span") => "range",
        ("string", _) => "text",
        ("integer", _) => "whole number",
        ("number", _) => "number",
        ("boolean", _) => "true or false",
        ("null", _) => "nothing",
        _ => "table",
    }
}

fn default(parent: &Value, key: &str, node: &Value) -> String {
    if elements(parent, "required").any(|required| required == key) {
        return "required".to_owned();
    }
    match node.get("default") {
        Some(Value::Object(table)) if table.len() == 1 && reference_of(node).is_none() => {
            let name = table.keys().next().expect("it holds one");
            format!("`\"{name}\"`")
        }
        // Tables have sections of their own, and nothing needs no words.
        None | Some(Value::Null | Value::Object(_)) => String::new(),
        Some(value) => match value.to_string() {
            nothing if nothing == "[]" || nothing == "\"\"" => String::new(),
            text => format!("`{text}`"),
        },
    }
}

/// The anchor that Markdown makes of a heading.
fn anchor(heading: &str) -> String {
    heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        .collect::<String>()
        .to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_of_the_page_leads_to_a_section_of_it() {
        let page = reference();
        let headings: Vec<String> = (page.lines())
            .filter_map(|line| line.strip_prefix("## "))
            .map(anchor)
            .collect();
        let mut links = 0;
        for link in page.split("](#").skip(1) {
            let target = link.split(')').next().expect("a link ends");
            assert!(headings.iter().any(|heading| heading == target), "{target}");
            links += 1;
        }
        assert!(links > 20, "{links}");
    }

    #[test]
    fn no_two_sections_have_one_heading() {
        let page = reference();
        let mut seen = BTreeSet::new();
        for heading in page.lines().filter_map(|line| line.strip_prefix("## ")) {
            assert!(seen.insert(anchor(heading)), "{heading}");
        }
    }

    #[test]
    fn a_table_of_several_parts_is_described_under_its_own_key_and_says_where_it_stands() {
        let page = reference();
        let places = |heading: &str| {
            let section = page
                .split_once(&format!("\n## `{heading}`\n"))
                .expect(heading)
                .1;
            let text = section.split("\n## ").next().expect("it has a text");
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("It stands at "));
            line.map(|line| line.trim_end_matches('.').replace('`', ""))
        };
        let queue = places("queue").expect("it stands at several places");
        let queue: Vec<_> = queue.split(", ").collect();
        for place in [
            "router",
            "router.queue",
            "link.NAME.docsis.upstream.queue",
            "link.NAME.point_to_point.up.queue",
        ] {
            assert!(queue.contains(&place), "{place}");
        }
        assert!(page.contains("\n## `queue.codel`\n"));
        assert_eq!(
            places("rtt").as_deref(),
            Some("host.NAME.rtt, flow.NAME.rtt")
        );
        // What stands in one part only keeps its path.
        assert_eq!(places("link.NAME.docsis.upstream.low_latency"), None);
    }

    #[test]
    fn a_heading_is_the_key_of_most_places() {
        let places: Places<'_> = [
            (
                "Queue",
                vec!["router", "router.queue", "link.NAME.up.queue"],
            ),
            ("Own", vec!["link.NAME.up", "link.NAME.down"]),
            (
                "Flow",
                vec![
                    "link.NAME.flow.NAME",
                    "class.NAME.flow.NAME",
                    "class.create",
                ],
            ),
        ]
        .map(|(name, paths)| (name, paths.into_iter().map(str::to_owned).collect()))
        .into();
        let headings = choose_headings(&places);
        let found: Vec<_> = headings
            .iter()
            .map(|(name, own)| (*name, own.as_str()))
            .collect();
        assert_eq!(found, [("Flow", "flow.NAME"), ("Queue", "queue")]);
    }

    #[test]
    fn every_kind_of_a_choice_has_its_own_name_also_where_two_share_their_parameters() {
        let page = reference();
        let (mut kinds, mut section) = (Vec::new(), String::new());
        for line in page.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                heading.clone_into(&mut section);
                kinds.clear();
            } else if line.starts_with("| [`") {
                let kind = line.split('`').nth(1).expect("it is quoted").to_owned();
                assert!(!kinds.contains(&kind), "{section} names {kind} twice");
                kinds.push(kind);
            }
        }
        let scheduling = "link.NAME.docsis.upstream.scheduling";
        for polling in ["nrtps", "rtps"] {
            let row = format!("| [`{scheduling}.{polling}`](#linknamedocsisupstreamscheduling");
            assert_eq!(page.matches(&row).count(), 1, "{row}");
        }
    }

    #[test]
    fn defaults_of_a_table_are_those_of_its_section_unless_its_key_says_others() {
        let schema = schema_value();
        let definitions = schema["$defs"].as_object().expect("there are definitions");
        let kinds = definitions
            .values()
            .flat_map(|node| elements(node, "oneOf"));
        let mut compared = 0;
        for node in definitions.values().chain(kinds) {
            for (key, value) in node["properties"].as_object().into_iter().flatten() {
                let (Some(name), Some(Value::Object(table))) =
                    (reference_of(value), value.get("default"))
                else {
                    continue;
                };
                if description(value).contains("Default: ") {
                    continue;
                }
                for (below, used) in table {
                    let said = &definitions[name]["properties"][below]["default"];
                    assert!(
                        said.is_null() || said == used,
                        "{key}.{below}: {said} {used}"
                    );
                    compared += 1;
                }
            }
        }
        assert!(compared > 20, "{compared}");
    }

    #[test]
    fn no_key_is_without_a_meaning() {
        for line in reference().lines().filter(|line| line.starts_with("| `")) {
            assert!(!line.ends_with("|  |"), "{line}");
        }
    }
}
