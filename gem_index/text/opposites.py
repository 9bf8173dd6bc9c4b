"""Opposites in short texts: words such as "open" and "close", and directions such as "Paris to London"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gem_index.text.tokens import frequent_english

__all__ = ["is_direction", "opposite_signs"]

# A line has the words of one side, then the words of the other side. If a text has words of both sides, the second side
# counts: "turn off messages on my phone".
_LINES = """
    on enable enabled activate activated / off disable disabled deactivate deactivated
    open opened opening / close closed closing
    start started begin / stop stopped end
    add added / remove removed delete deleted
    increase increased raise / decrease decreased reduce lower
    buy bought / sell sold
    login / logout
    install / uninstall
    upgrade / downgrade
    upload / download
    import / export
    send sent / receive received
    deposit / withdraw withdrawal
    accept accepted allow allowed / reject rejected refuse refused block blocked
    lock locked / unlock unlocked
    subscribe / unsubscribe
    follow / unfollow
    show / hide
    connect / disconnect
    encrypt / decrypt
    gain / lose
    win / loss
    before / after
    first / last
    maximum max / minimum min
    highest / lowest
    best / worst
    oldest / newest
    left / right
    arrival arrive / departure depart
    entrance entry / exit
    income / expenses
    male / female
    when / where
    an ein einschalten aktivieren / aus ausschalten deaktivieren
    öffnen / schließen
    kaufen / verkaufen
    anmelden / abmelden
    hinzufügen / entfernen löschen
    erhöhen / senken verringern
    vor / nach
    größte höchste / kleinste niedrigste
    wann / wo
    ouvrir / fermer
    activer / désactiver
    acheter / vendre
    ajouter / supprimer
    augmenter / diminuer réduire
    avant / après
    envoyer / recevoir
    connecter / déconnecter
    quand / où
    abrir / cerrar fechar
    activar ativar / desactivar desativar
    comprar / vender
    antes / después depois
    cuándo / dónde
    aprire / chiudere
    attivare / disattivare
    acquistare / vendere
    prima / dopo
    aan inschakelen / uit uitschakelen
    kopen / verkopen
    wanneer / waar
    включить / выключить
    открыть / закрыть
    купить / продать
    когда / где
    متى / أين
"""
_BETWEEN = frozenset(["to", "into", "nach", "à", "vers", "hacia", "naar", "till", "til", "до"])
"""Words between the beginning and the end of a direction."""

_FREQUENT = frozenset(frequent_english()[:300])
"""Words that are neither places nor names: "want to know" is not a direction."""


def _sides() -> Mapping[str, tuple[int, int]]:
    """Return for each word the line that it is in, and its side, 1 or -1."""
    found = {}
    for number, line in enumerate(_LINES.strip().splitlines()):
        for side, words in zip((1, -1), line.split("/"), strict=True):
            found.update(dict.fromkeys(words.split(), (number, side)))
    return found


_SIDES = _sides()


def opposite_signs(tokens: Sequence[str]) -> dict[str, int]:
    """Return the sign, 1 or -1, of each pair of opposites that a text has; two texts are opposed if a sign differs.

    Parameters
    ----------
    tokens : sequence of str
        The tokens of a short text.
    """
    signs: dict[str, int] = {}
    for token in tokens:
        if token in _SIDES:
            number, side = _SIDES[token]
            signs[str(number)] = min(side, signs.get(str(number), side))
    for begin, between, end in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if between in _BETWEEN and begin != end and _FREQUENT.isdisjoint((begin, end)):
            low, high = sorted((begin, end))
            signs[f"{low} {high}"] = 1 if begin == low else -1
    return signs


def is_direction(name: str) -> bool:
    """Tell whether a sign has the name of a direction."""
    return " " in name
