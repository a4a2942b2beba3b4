"""The report: one HTML page that holds all it needs and opens without a network."""

from __future__ import annotations

import functools
import hashlib
import html
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from headend.comparison.notes import MissingSeeds
from headend.figures import draw_figures
from headend.figures.theme import configure
from headend.pages.charts import embed_charts, embed_json
from headend.pages.comparison import describe_comparison
from headend.pages.run import describe_run
from headend.pages.section import Page
from headend.pages.vega import read_script
from headend.results.folder import write_file
from headend.results.seal import seal_page
from headend.text.quantity import format_quantity
from headend.text.reveal import reveal
from headend.text.wording import keep_units

if TYPE_CHECKING:
    import jinja2
    import markupsafe

    from headend.results.record import Record


def write_report(
    results: Sequence[Record],
    path: Path,
    *,
    title: str = "",
    unfinished: Sequence[str] = (),
    missing_seeds: MissingSeeds = MappingProxyType({}),
) -> Path:
    """Write the report over one run, or over several side by side.

    Parameters
    ----------
    results
        The runs; their labels tell them apart. Runs of one label are of one setting, with different
        seeds.
    path
        The HTML file.
    title
        The page's title; by default that of the first scenario.
    unfinished
        Requested runs that did not finish.
    missing_seeds
        The seeds of the unfinished runs, by the label of their setting.
    """
    figures = draw_figures(results)
    if len(results) == 1 and not unfinished and not missing_seeds:
        page = describe_run(results[0], figures)
    else:
        page = describe_comparison(results, figures, unfinished, missing_seeds)
    return write_page(render_page(replace(page, title=title or results[0].title)), path)


def render_page(page: Page) -> str:
    """Write a page as HTML that holds all it needs: libraries, styles and data are inside."""
    return render_fragment(
        "page.html.j2",
        page=page,
        data=embed_charts(page.figures),
        themes=embed_json({"light": configure(), "dark": configure(dark=True)}),
        libraries=bundle_libraries() if page.figures else "",
    )


def render_fragment(template: str, **content: Any) -> str:
    """Fill a template that is a part of a page, such as a notebook's; it holds no library."""
    return _make_environment().get_template(template).render(**content)


#: Where code can break.
_BREAK = re.compile(r"(?<=[._=,/])(?=[^\W\d_])")


def write_page(page: str, path: Path, made_of: str = "") -> Path:
    """Write a page with its seal, whole or not at all.

    Parameters
    ----------
    page
        The HTML.
    path
        The file.
    made_of
        A fingerprint of the page's content; a page with the same one is not made again.
    """
    write_file(seal_page(page, made_of), path)
    return path


@functools.cache
def fingerprint_drawing() -> str:
    """Give a fingerprint of the code that draws pages and figures.

    It covers headend's own code and templates, the engine's description of measures, and Jinja.
    """
    from headend import _engine
    from headend.version import read_version

    digest = hashlib.sha256(f"{read_version()}\njinja2 {version('jinja2')}".encode())
    package = Path(__file__).parents[1]
    for path in sorted([*package.rglob("*.py"), *package.glob("pages/templates/*")]):
        digest.update(path.read_bytes())
    digest.update(_engine.describe().encode())
    return digest.hexdigest()


@functools.cache
def bundle_libraries() -> str:
    """Give Vega, Vega-Lite and vega-embed as one script that can be put into a page."""
    return read_script()


def mark_code(text: str) -> markupsafe.Markup:
    """Show text between backticks as code, and escape everything.

    Code can break before words: behind the dots and underscores of a setting's name, and before its
    value.

    Examples
    --------
    >>> mark_code("try `--set x=<1>`")
    Markup('try <code>--set x=&lt;1&gt;</code>')
    >>> mark_code("`cable.queue=drop_tail`, of 2.5 ms")
    Markup('<code>cable.<wbr>queue=<wbr>drop_<wbr>tail</code>, of 2.5 ms')
    """
    from markupsafe import Markup, escape

    def show(found: re.Match[str]) -> str:
        return f"<code>{_BREAK.sub('<wbr>', found[1])}</code>"

    return Markup(re.sub(r"`([^`]+)`", show, str(escape(reveal(text)))))


def mark_markdown(text: str) -> str:
    """Keep a text from ending the cell of a Markdown table, or from meaning something in it."""
    plain = reveal(" ".join(text.split()))
    return re.sub(r"[\\|<*_`~\[]", r"\\\g<0>", plain)


def hyphenate(text: str) -> str:
    r"""Mark where the long words of a matrix can break.

    Examples
    --------
    >>> hyphenate("recommended").split("\N{SOFT HYPHEN}")
    ['recom', 'mended']
    """
    for word in ("recom-mended", "unde-cided", "un-managed"):
        text = text.replace(word.replace("-", ""), word.replace("-", "\N{SOFT HYPHEN}"))
    return text


def _reveal_text(value: Any) -> Any:
    """Make control characters in plain texts visible; HTML comes from headend as it is."""
    return reveal(value) if type(value) is str else value


def _open_cache() -> jinja2.BytecodeCache | None:
    """Keep compiled templates where Python keeps the code of modules, if that may be written."""
    import jinja2

    folder = Path(__file__).parent / "__pycache__"
    if sys.dont_write_bytecode or not os.access(folder, os.W_OK):
        return None
    return jinja2.FileSystemBytecodeCache(str(folder), f"{version('headend')}-%s.cache")


@functools.cache
def _make_environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("headend.pages"),
        autoescape=jinja2.select_autoescape(["html", "html.j2"]),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_reveal_text,
        bytecode_cache=_open_cache(),
    )
    environment.filters["quantity"] = lambda value, kind: format_quantity(value, kind)
    environment.filters["code"] = mark_code
    environment.filters["hyphenate"] = hyphenate
    environment.filters["markdown"] = mark_markdown
    environment.filters["html"] = html.escape
    environment.filters["keep_units"] = keep_units
    return environment
