"""Vega, Vega-Lite and vega-embed as one script, which pages draw their figures with.

It ships as a file. ``python -m headend.pages.vega [--check]`` puts it together anew: where
vl-convert-python has other releases of the libraries, or the notices of their licences are others.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_TEMPLATES = Path(__file__).parent / "templates"

#: The script, escaped for the script element that it is put in.
SCRIPT = _TEMPLATES / "vega.js"

#: What the licences of its parts want to be kept with them.
NOTICES = _TEMPLATES / "vega.licenses.txt"


def read_script() -> str:
    """Give the libraries that draw figures in a page, as the content of a script element."""
    return SCRIPT.read_text(encoding="utf-8")


def escape_script(text: str) -> str:
    """Keep a program from ending the script element it is put in."""
    return re.sub(r"<(?=/script|!--)", r"\\x3c", text, flags=re.IGNORECASE)


def bundle_script() -> str:
    """Put the libraries together, which takes seconds."""
    import vl_convert

    parts = {
        "Vega": vl_convert.get_vega_version(),
        "Vega-Lite": vl_convert.get_vegalite_versions()[-1],
        "Vega-Embed": vl_convert.get_vega_embed_version(),
        "Vega-Themes": vl_convert.get_vega_themes_version(),
    }
    names = ", ".join(f"{name} {release}" for name, release in parts.items())
    notices = NOTICES.read_text(encoding="utf-8")
    script = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the stub asks for what has a default
    return escape_script(f"/*!\n{names}\n\n{notices}*/\n{script.rstrip()}\n")


def write(*, check: bool) -> int:
    """Write the script, or say that it is stale.

    Returns
    -------
    int
        The exit code: 1 when checking and it is stale.
    """
    content = bundle_script()
    if SCRIPT.is_file() and read_script() == content:
        return 0
    if check:
        print("templates/vega.js is stale: run make vega", file=sys.stderr)
        return 1
    SCRIPT.write_text(content, encoding="utf-8")
    print("templates/vega.js written")
    return 0


if __name__ == "__main__":
    sys.exit(write(check="--check" in sys.argv[1:]))
