"""`rook docket`, `rook verdict` and `rook decisions`: the queue, a card to decide at, and the log.

At a terminal a card holds the subject that it was drawn from, and what is typed there is about that and nothing else.
"""

from collections.abc import Mapping
from typing import Any

from rookery.core import docket as law
from rookery.core import errors
from rookery.core.docket import Action, Needs

from .call import Desk, Reply
from .router import answer, call_verb, document, typed
from .special_health import shown

PAGE = 500
NO = "Nothing was decided.\n"
MOVED = ("STALE_CARD", "SAY_WHICH")


def docket(desk: Desk, read: dict[str, Any]) -> Reply:
    subject, watch = read.pop("subject"), read.pop("watch")
    if subject:
        return answer(desk, "card", desk.verb("card", {"subject": subject}))
    return shown(desk, "docket", lambda: (call_verb(desk, "docket", read), 0), watch=watch)


def verdict(desk: Desk, read: dict[str, Any]) -> Reply:
    """With an action it is given; without one the card is shown, and a person at a terminal is asked."""
    if read["action"] is None:
        card = desk.verb("card", {"subject": read["subject"]})
        if desk.call.ask is None or desk.options.json or not card["actions"]:
            return answer(desk, "card", card)
        return _asked(desk, card)
    try:
        return answer(desk, "verdict", call_verb(desk, "verdict", read))
    except errors.Refused as error:
        return _moved(desk, error)


def _moved(desk: Desk, error: errors.Refused) -> Reply:
    """What is there instead is shown; the decision has to be made again, about that."""
    card = error.facts.get("card") if error.code in MOVED else None
    if card is None or desk.options.json:
        raise error
    told = answer(desk, "card", card)
    return told._replace(err=f"rook: {error.message}\n      {error.hint}\n", code=error.exit_code)


# -- at a terminal ---------------------------------------------------------------------------------------------------


def _asked(desk: Desk, card: Mapping[str, Any]) -> Reply:
    ask = desk.call.ask
    assert ask is not None
    desk.call.emit(answer(desk, "card", card).out)
    can = [Action(each["action"]) for each in card["actions"]]
    options = card["question"]["options"] if card["question"] else []
    line = ask("decide (an action, an option's number; nothing: leave it): ")
    if not line.strip():
        return Reply(NO)
    meant = law.typed(line, can, len(options))
    if meant.action is None:
        raise errors.BadInput(
            f"{line.strip()[:40]!r} is none of: {', '.join(can)}{', or a number' if options else ''}.", NO.strip(),
            code="USAGE",
        )  # fmt: skip
    return _given(desk, card, meant)


def _given(desk: Desk, card: Mapping[str, Any], meant: law.Typed) -> Reply:
    ask, action = desk.call.ask, meant.action
    assert ask is not None
    assert action is not None
    terms, words = law.TERMS[action], meant.words
    if not words and (terms.needs is Needs.WORDS or (terms.needs is Needs.ANSWER and meant.option is None)):
        words = ask(f"{terms.help}: ").strip()
        if not words:
            return Reply(NO)
    if terms.destructive and ask(f"{terms.help}. Type {action} to do it: ").strip() != action:
        return Reply(NO)
    said = {"subject": card["subject"], "action": str(action), "said": words, "option": meant.option}
    try:
        return answer(desk, "verdict", desk.verb("verdict", said))
    except errors.Refused as error:
        return _moved(desk, error)


# -- the log ---------------------------------------------------------------------------------------------------------


def decisions(desk: Desk, read: dict[str, Any]) -> Reply:
    summary, debt, export = read.pop("summary"), read.pop("debt"), read.pop("export")
    if summary + debt + export > 1:
        raise errors.BadInput("One of --summary, --debt and --export.", "rook decisions --help", code="USAGE")
    args = typed(desk, "decisions", read)
    if debt:
        return answer(desk, "debt", desk.verb("debt", {}))
    if summary:
        window = {"window": args["window"]} if "window" in args else {}
        return answer(desk, "decisions.summary", desk.verb("decisions.summary", window))
    return _exported(desk, args) if export else answer(desk, "decisions", desk.verb("decisions", args))


def _exported(desk: Desk, args: dict[str, Any]) -> Reply:
    after = 0
    args = {name: value for name, value in args.items() if name == "window"}
    while rows := desk.verb("decisions", {**args, "after": after, "limit": PAGE})["decisions"]:
        desk.call.emit("".join(document(row) for row in rows))
        after = rows[-1]["n"]
    return Reply()
