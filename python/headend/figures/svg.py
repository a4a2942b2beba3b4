"""Vega-Lite specifications drawn as SVG: the same bytes, whatever was drawn before."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from headend.text.reveal import picture_in_json

#: Where a picture names what clips a part of it, or refers to it.
_CLIP = re.compile(r'(?<=id="clip)\d+(?=")|(?<=url\(#clip)\d+(?=\))')


def draw_svg(specification: Mapping[str, Any]) -> str:
    """Draw a specification as it stands."""
    import vl_convert

    # A picture is XML, which cannot hold control characters at all.
    text = picture_in_json(json.dumps(specification, ensure_ascii=False))
    return number_clips(str(vl_convert.vegalite_to_svg(text)))


def number_clips(svg: str) -> str:
    """Count what clips parts of a picture from 0; Vega counts over all of a process.

    Examples
    --------
    >>> number_clips('<g clip-path="url(#clip41)"/><clipPath id="clip41"/><clipPath id="clip7"/>')
    '<g clip-path="url(#clip0)"/><clipPath id="clip0"/><clipPath id="clip1"/>'
    """
    numbers: dict[str, str] = {}
    return _CLIP.sub(lambda found: numbers.setdefault(found[0], str(len(numbers))), svg)
