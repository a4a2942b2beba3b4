"""The words of fits that the advice repeats, since it may not import from the fit's wing."""

from __future__ import annotations

from headend.fitting.estimates import Flag, QueueGuess, QueueKind
from headend.recommendation import owner_words, variations


def test_each_flag_of_a_fit_has_words_for_its_owner() -> None:
    assert set(owner_words.FLAGS) == {str(flag) for flag in Flag}
    assert owner_words.WIFI == Flag.WIFI_SUSPECTED


def test_each_kind_of_queue_of_a_fit_is_known_to_its_variations() -> None:
    named = {variations.DROP_TAIL, variations.UNKNOWN, *variations._QUEUES}
    assert named == {str(kind) for kind in QueueKind}
    assert set(variations._KINDS.values()) == named - {variations.UNKNOWN}


def test_a_kind_is_as_sure_for_its_owner_as_for_the_fit() -> None:
    for share in (owner_words.SURE - 0.001, owner_words.SURE):
        guess = QueueGuess({QueueKind.PIE: share, QueueKind.UNKNOWN: 1 - share})
        assert guess.is_sure == (share >= owner_words.SURE)
