"""`rook docket`, `rook verdict`, `rook decisions`, `rook rule`: what a person sees, types and is asked."""

import json
from collections.abc import Callable

import pytest

from rookery.front.cli.call import Call, Reply
from rookery.front.cli.router import run
from tests.cli.conftest import Terminal
from tests.cli.test_report_commands import RESULT, as_worker

LEAD = ("--as", "architect")


class Person:
    """Sits before a terminal as the one who started the worker, and types these lines when asked."""

    def __init__(self, rook: Terminal) -> None:
        self.rook = rook
        self.shown: list[str] = []
        self.asked: list[str] = []

    def __call__(self, *argv: str, types: tuple[str, ...] = ()) -> Reply:
        lines = iter(types)
        environ = {name: value for name, value in self.rook.environ.items() if name not in ("ROOK_AGENT", "ROOK_RUN")}

        def ask(question: str) -> str:
            self.asked.append(question)
            return next(lines) + "\n"

        reply = run(Call(
            [*LEAD, *argv], str(self.rook.folder), environ, lambda: "", self.shown.append, 80, ask=ask,
        ))  # fmt: skip
        assert next(lines, None) is None, "it was asked less often than it had words for"
        return reply


@pytest.fixture
def person(rook: Terminal) -> Person:
    as_worker(rook)
    return Person(rook)


def asks(person: Person, *more: str) -> None:
    person.rook.ok("ask", "Which format?", *more)


def decided(person: Person) -> list[tuple[str, str, str]]:
    found = json.loads(person("decisions", "--json").out)["decisions"]
    return [(each["subject"], each["verb"], each["said"]) for each in reversed(found)]


def test_the_queue_says_what_is_asked_and_what_happens_otherwise(person: Person) -> None:
    assert person("docket").out.strip() == "Nothing needs you."
    asks(person, "--risk", "high")
    told = person("docket").out
    assert "w1/q1  needs you" in told
    assert "asks: Which format?" in told
    assert "if not: w1 waits for the answer" in told
    assert "`rook verdict w1/q1` shows the first" in told
    for width in (40, 60, 80, 120):
        shown = person.rook.ok(*LEAD, "docket", width=width)
        assert all(len(line) <= width for line in shown.splitlines())


def test_a_card_is_shown_for_a_worker_and_for_what_it_asks(person: Person) -> None:
    asks(person, "--option", "JSON", "--option", "YAML", "--recommend", "JSON: it is there.")
    cards = [person.rook.ok(*LEAD, *words) for words in (("docket", "w1"), ("docket", "w1/q1"), ("verdict", "w1"))]
    assert len(set(cards)) == 1
    for part in ("Which format?", "1  JSON", "2  YAML", "it recommends: JSON: it is there.", "rook verdict w1/q1"):
        assert part in cards[0]


def test_a_number_at_the_card_is_an_option(person: Person) -> None:
    asks(person, "--option", "JSON", "--option", "YAML")
    reply = person("verdict", "w1", types=("2",))
    assert "w1/q1: answer." in reply.out
    assert person.rook.json("questions", "-w", "w1")["questions"][0]["choice"] == 2


@pytest.mark.parametrize("typed", ["3", "9", "0", "12", ""])
def test_a_number_that_is_no_option_decides_nothing(person: Person, typed: str) -> None:
    asks(person, "--option", "JSON", "--option", "YAML")
    person("verdict", "w1", types=(typed,))
    assert decided(person) == []


@pytest.mark.slow
@pytest.mark.parametrize("digit", list("0123456789"))
def test_digits_never_trigger_a_destructive_action(person: Person, digit: str) -> None:
    _report(person)
    person("verdict", "w1", types=(digit,))
    assert decided(person) == []
    assert "w1/1" in person("docket").out


def _report(person: Person) -> None:
    (person.rook.folder / "tree" / "header.py").write_text("def parse(): ...\n")
    person.rook.ok("done", *RESULT)


@pytest.mark.slow
@pytest.mark.parametrize("confirmed", [True, False])
def test_a_destructive_action_is_typed_out_again(person: Person, confirmed: bool) -> None:
    _report(person)
    reply = person("verdict", "w1", types=("discard", "discard" if confirmed else "y"))
    assert any("Type discard to do it" in each for each in person.asked)
    assert ("Nothing was decided" in reply.out) is not confirmed
    assert decided(person) == ([("w1/1", "discard", "")] if confirmed else [])


@pytest.mark.slow
def test_words_that_are_needed_are_asked_for(person: Person) -> None:
    _report(person)
    person("verdict", "w1", types=("revise", "Name the line in the message."))
    assert decided(person) == [("w1/1", "revise", "Name the line in the message.")]
    assert person("verdict", "w1/1", types=()).code == 0, "it was decided: there is nothing to ask"


@pytest.mark.slow
def test_promote_without_a_terminal(person: Person) -> None:
    _report(person)
    assert json.loads(person("verdict", "w1/1", "promote", "--json").out)["error"]["code"] == "NOT_YOURS", "a leader"
    decides = ("--as", "user", "verdict", "w1/1", "promote", "good", "--json")
    made = json.loads(person.rook(*decides).out)
    assert (made["action"], made["effect"]["landing"], made["decision"]) == ("promote", "land-0001", "decision-0001")
    assert json.loads(person.rook(*decides).out)["replayed"]


@pytest.mark.slow
def test_a_workers_name_decides_nothing_and_its_card_is_shown(person: Person) -> None:
    _report(person)
    reply = person("verdict", "w1", "promote")
    assert reply.code == 1
    assert "What is asked about it now is w1/1" in reply.err
    assert "rook verdict w1/1" in reply.out
    told = json.loads(person("verdict", "w1", "promote", "--json").out)["error"]
    assert (told["code"], told["card"]["subject"]) == ("SAY_WHICH", "w1/1")
    assert decided(person) == []


@pytest.mark.slow
def test_a_card_that_moved_while_it_was_looked_at_is_shown_anew(person: Person) -> None:
    asks(person)
    lines: list[Callable[[], str]] = [lambda: _report(person) or "answer JSON\n"]
    environ = {name: value for name, value in person.rook.environ.items() if name not in ("ROOK_AGENT", "ROOK_RUN")}
    reply = run(Call(
        [*LEAD, "verdict", "w1"], str(person.rook.folder), environ, lambda: "", person.shown.append, 80,
        ask=lambda _: lines.pop()(),
    ))  # fmt: skip
    assert reply.code == 1
    assert "w1/q1 was withdrawn. Nothing was done." in reply.err
    assert "rook verdict w1/1" in reply.out
    assert decided(person) == []


def test_the_log_its_summary_its_debt_and_its_export(person: Person) -> None:
    asks(person, "--risk", "high")
    assert "Nothing was decided yet" in person("decisions").out
    person("verdict", "w1/q1", "answer", "JSON \x1b[31mplease")
    assert "w1/q1 answer by architect" in person("decisions").out
    assert "\x1b" not in person("decisions").out
    told = person("decisions", "--summary", "--window", "1d").out
    assert "1 decided in the last 1d, 0 of them by rules" in told
    assert "Nothing was put away unjudged" in person("decisions", "--debt").out
    assert person("decisions", "--debt", "--summary").code == 2
    person.shown.clear()
    person("decisions", "--export")
    (line,) = "".join(person.shown).splitlines()
    assert json.loads(line)["subject"] == "w1/q1"


def test_rules_are_set_by_the_person_alone(rook: Terminal) -> None:
    words = ("rule", "add", "small-docs", "--kind", "implementer", "--path", "docs/**", "--max-files", "5",
             "--max-lines", "100", "--checks", "green", "--risk", "low")  # fmt: skip
    rook.ok("join", "ada")
    assert rook("--as", "ada", *words).code == 1
    told = rook.ok("--as", "user", *words)
    assert "small-docs: promote if kind implementer; in docs/**; at most 5 files; at most 100 lines" in told
    assert "small-docs" in rook.ok("rule", "list")
    rook.ok("--as", "user", "rule", "remove", "small-docs")
    assert "There are no rules" in rook.ok("rule", "list")
