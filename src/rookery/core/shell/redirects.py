"""Redirections: what is opened, what is written, and what text a command reads by them."""

from typing import TYPE_CHECKING

from . import holes, reading, words
from .reading import Reach
from .scope import Scope
from .state import State
from .tree import Block, Broken, Redirect

if TYPE_CHECKING:
    from .walk import Walker

UNNAMED = "/?/"  # the folder of files whose path is not known


def fill(walker: "Walker", files: list[tuple[str, bool]], text: str | None, state: State) -> None:
    for field, append in files:
        for folder in state.folders:
            if holes.is_plain(field) and (field.startswith("/") or holes.is_told(folder)):
                walker.fill(reading.under(folder, field), text, append=append)
            elif text:
                walker.fill(f"{UNNAMED}{len(walker.planted)}", text)


def open_descriptor(walker: "Walker", redirect: Redirect, state: State) -> None:
    """A descriptor is a second name of the file it was opened on, for writing too (`/dev/fd/5`)."""
    for field in [field for row in walker.fields(redirect.target, state) for field in row]:
        for folder in state.folders:
            if holes.is_plain(field) and holes.is_told(folder) and not reading.is_device(field):
                walker.link(f"/dev/fd/{redirect.descriptor or 0}", reading.moved(folder, field))


def writers(walker: "Walker", redirect: Redirect, state: State) -> Block:
    """What made the text of a file that is read, if this command did: as text to be searched."""
    fields = [field for row in walker.fields(redirect.target, state) for field in row]
    texts = [walker.printer_of(reading.under(folder, field)) for folder in state.folders for field in fields]
    return tuple(Broken(text, reading.SOURCED) for text in dict.fromkeys(texts) if text)


def text_of(walker: "Walker", redirect: Redirect, state: State) -> str | None:
    """The text of a file that is read, if this command put it there."""
    rows = walker.fields(redirect.target, state)
    if len(rows) != 1 or len(rows[0]) != 1 or len(state.folders) != 1 or not holes.is_plain(rows[0][0]):
        return None
    path = reading.under(state.folders[0], rows[0][0])
    content = walker.content(path)
    return walker.disk_text(path) if content is None else content.text if content.whole else None


def heredoc(walker: "Walker", redirect: Redirect, state: State) -> str | None:
    texts = words.values(redirect.target, Scope(walker, state))
    return texts[0] if len(texts) == 1 else None


def write_target(walker: "Walker", redirect: Redirect, state: State) -> list[str]:
    found: list[str] = []
    for row in walker.fields(redirect.target, state):
        for field in row:
            if redirect.operator.endswith("&") and (field == "-" or field.rstrip("-").isdecimal()):
                continue  # another descriptor
            walker.write(field, Reach.FILE, state)
            found.append(field)
    return found
