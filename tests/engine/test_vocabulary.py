"""What can be written, as read from a schema."""

from __future__ import annotations

from typing import Any

from headend.engine.vocabulary import Parameter, read_choices

LIMIT = {
    "type": "string",
    "format": "Limit",
    "description": "How much\nmay wait.",
    "default": "5 packets",
}
ENDS = {"oneOf": [{"const": "head", "description": "First."}, {"const": "tail"}]}
SCHEMA: dict[str, Any] = {
    "$defs": {
        "QueueConfig": {
            "oneOf": [
                {"properties": {"red": {"$ref": "#/$defs/Config"}}, "type": "object",
                 "description": "RED."},
                {"const": "none",
                 "description": "No limit.\n\nUse it to ask\nwhat if.\n\nSource: a choice of"
                    " ours."},
            ]
        },
        "Config": {
            "description": "Parameters of RED.\n\nUse it for history.\n\nSizes are IP bytes.\n\n"
            "Source: Floyd and Jacobson §4.",
            "properties": {"limit": LIMIT, "ends": {"$ref": "#/$defs/Ends"},
                           "gentle": {"type": ["boolean", "null"]}},
        },
        "Ends": ENDS,
    }
}  # fmt: skip


def test_when_to_use_it_and_the_source_are_paragraphs_of_the_description() -> None:
    red, none = read_choices(SCHEMA, "queue")
    assert (red.description, red.use) == ("RED.", "Use it for history.")
    assert (red.source, red.remarks) == ("Floyd and Jacobson §4.", "Sizes are IP bytes.")
    assert (none.description, none.use) == ("No limit.", "Use it to ask what if.")
    assert (none.source, none.remarks, none.parameters) == ("a choice of ours.", "", [])


def test_a_parameter_says_what_its_value_looks_like() -> None:
    limit, ends, gentle = read_choices(SCHEMA, "queue")[0].parameters
    form = 'size, duration, packets or "unlimited"'
    assert limit == Parameter("limit", form, '"5 packets"', "How much may wait.")
    assert (ends.form, ends.default) == ('"head" | "tail"', "")
    assert gentle.form == "true or false"


def test_a_schema_without_such_names_has_no_choices() -> None:
    assert read_choices({"$defs": {}}, "queue") == []
