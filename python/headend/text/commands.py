"""The commands of headend, each with what it does, in the order in which help lists them."""

from __future__ import annotations

from types import MappingProxyType

#: By name, in one sentence. `headend.cli.main` says each one's section and module.
COMMANDS = MappingProxyType(
    {
        "run": "Run a scenario: say who suffers, how badly, why, and what to change.",
        "compare": "Run the same traffic under several settings, or take finished runs; say which"
        " is best.",
        "sweep": "Run a scenario over a grid of values and several seeds, and say which setting is"
        " best.",
        "recommend": "Recommend a buffer, an AQM or low latency for service tiers, and write it to"
        " modems' files.",
        "capacity": "Find how many homes a line's channels carry before too many people suffer from"
        " sharing.",
        "import": "Find the line behind a measurement, such as a speed test, and write it as a"
        " scenario.",
        "evaluate": "Run what an RFC says should be tested of a queue, a sender or a call, and"
        " judge it.",
        "study": "Reproduce published results: list the studies, show one, run one, or write a page"
        " of all.",
        "lab": "Open the lab in a browser: a line that moves while you turn its settings, lessons,"
        " and a workbench for a SCENARIO.",
        "emulate": "Run a real program behind the line of a scenario, in real time, beside"
        " simulated neighbours.",
        "replay": "Replay what headend emulate recorded, in virtual time: equal, or"
        " under other settings.",
        "scenarios": "List the shipped scenarios, show one, or copy one to a file.",
        "find": "Find headend's name for an application, a protocol or a term, and how to use it.",
        "queues": "List every queue discipline and when to use it; with a NAME, show its"
        " parameters.",
        "senders": "List every congestion control and when to use it; with a NAME, show its"
        " parameters. Also: headend congestion.",
        "applications": "List every application and when to use it; with a NAME, show its"
        " parameters.",
        "schema": "Print the JSON Schema of scenarios, or of modems' files, for editors and"
        " checks.",
        "config": "Read, check, compare and write the configuration file of a modem.",
        "report": "Write the page of saved results again from their folder, or one"
        " page of several runs.",
        "figures": "Write a report's figures as SVG, PDF or PNG: of runs, a sweep, a"
        " recommendation or a study.",
        "export": "Write the tables of results as CSV or JSON lines, what TCP senders did, or a"
        " file of flent.",
        "verify": "Check that no file of the results was damaged since it was written.",
        "cite": "Print the BibTeX entry of this version, with its commit.",
        "help": "Print the help of a command, or the list of commands.",
        "completion": "Print the script with which a shell completes commands, options and names.",
    }
)
