"""What a person types into a search, as terms; and where the terms stand in a text."""

from rookery.core.record import NamedTuple

from . import errors, text


class Term(NamedTuple):
    words: tuple[str, ...]  # more than one: a phrase
    prefix: bool


def parse(query: str) -> list[Term]:
    """Words, "phrases" and prefix*; everything else is a separator. All terms must be found."""
    terms: list[Term] = []
    for index, part in enumerate(text.check_text(query, "the query").split('"')):
        if index % 2:
            words = _words(part)
            if words:
                terms.append(Term(words, False))
            continue
        for chunk in part.split():
            words = _words(chunk)
            if words:
                terms.append(Term(words, chunk.endswith("*")))
    if not terms:
        raise errors.BadInput("Nothing to search for.", 'Give words, "a phrase" or a prefix*.')
    return terms[:20]


def _words(chunk: str) -> tuple[str, ...]:
    return tuple("".join(c if c.isalnum() else " " for c in chunk).split())


def snippet(body: str, terms: list[Term], width: int = 120) -> str:
    """The stretch around the first word that was found, on one line."""
    flat = text.one_line(body, len(body) + 1)
    folded = flat.casefold()
    places = [folded.find(term.words[0].casefold()) for term in terms]
    found = [place for place in places if place >= 0]
    start = max(0, min(found) - width // 4) if found else 0
    piece = flat[start : start + width]
    return ("…" if start else "") + piece + ("…" if start + width < len(flat) else "")
