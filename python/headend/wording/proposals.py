"""How a setting is proposed that was not tried: never without saying so."""

from __future__ import annotations

from headend.analysis.facts import Remedy


def end_untried(remedy: Remedy, *, any_value: bool = False) -> str:
    """Give the end of a proposal: the setting, and that it was not tried; empty without one.

    Parameters
    ----------
    any_value
        Whether the sentence leaves the value to the reader.

    Examples
    --------
    >>> from headend.analysis.facts import Action
    >>> end_untried(Remedy(Action.ADD_AQM, path="queue", value="codel"))
    ' (not tried: `--set queue=codel`)'
    >>> end_untried(Remedy(Action.ADD_AQM, path="queue", value="codel"), any_value=True)
    ' (not tried: `--set queue=…`)'
    >>> end_untried(Remedy(Action.LOOK_ELSEWHERE))
    ''
    """
    setting = f"{remedy.path}=…" if any_value and remedy.path else remedy.setting
    return f" (not tried: `--set {setting}`)" if setting else ""
