"""The documents whose results the shipped studies reproduce, in the order of their page."""

from __future__ import annotations

#: The documents, in the order of the page; a study's name begins with its document's.
DOCUMENTS = {
    "buffer-control": "Cable Modem Buffer Control (CableLabs, 2011)",
    "aqm-docsis": "Active Queue Management in DOCSIS 3.x Cable Modems (CableLabs, 2014)",
    "fast-docsis": "FAST TCP over low-speed DOCSIS links",
    "service-quality": "Quantitative Assessment of IP Service Quality in 802.11b and DOCSIS"
    " Networks (2004)",
    "cbt": "Lightweight Active Router-Queue Management for Multimedia Networking (1999)",
    "cable-plant": "The cable plant: request, grant and contention",
    "low-latency": "Low Latency DOCSIS and L4S",
    "recommend": "What `headend recommend` says, beside what documents recommend",
    "validation": "Models beside their closed forms and beside each other",
}

#: Those whose published results the headline counts; others stand below it.
FIVE = ("buffer-control", "aqm-docsis", "fast-docsis", "service-quality", "cbt")


def is_of_five(study: str) -> bool:
    """Say whether a study is of one of the five documents.

    Examples
    --------
    >>> is_of_five("aqm-docsis/matrix"), is_of_five("low-latency/prague")
    (True, False)
    """
    return study.split("/")[0] in FIVE


def name_document(study: str) -> str:
    """Give the title of the document that a study belongs to.

    Examples
    --------
    >>> name_document("cable-plant/contention")
    'The cable plant: request, grant and contention'
    """
    document = study.split("/")[0]
    return DOCUMENTS.get(document, document)


def place_study(study: str) -> int:
    """Give the place of a study's document among all; what is of none comes last.

    Examples
    --------
    >>> place_study("aqm-docsis/matrix"), place_study("mine")
    (1, 9)
    """
    documents = list(DOCUMENTS)
    document = study.split("/")[0]
    return documents.index(document) if document in documents else len(documents)
