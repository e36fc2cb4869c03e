"""What people and programs rely on by name. A change here is a change of the contract, and is made on purpose."""

import inspect
import subprocess
import sys
import typing
from collections.abc import Callable
from typing import Any

import pytest

import rookery
from rookery.core import authority, errors
from rookery.service import verbs
from rookery.service.verbs import TABLE, Arg, Verb, parameters
from tests.support.procs import environment


def words(text: str) -> list[str]:
    return text.split()


PUBLIC = words("""
    Agent BadInput BudgetSpent CursorTooOld ForkedHandle LeaseLost Message NameTaken NotYours Receipt Refused RookError
    SessionFenced StoreBusy StoreCorrupt StoreFull StoreReadOnly StoreUnusable Team TooLarge UnknownName Unreachable
    __version__ connect
""")

VERBS = words("""
    join leave rename status heartbeat activity who whois send broadcast reply handoff drop lenses escalate
    escalations inbox read ack archive thread receipts pending context search task.add task.list task.show
    task.claim task.renew task.release task.done task.fail task.block task.progress task.assign task.cancel
    task.unblock task.reset task.revise task.split task.delete task.review task.claims spec.claim spec.done
    spec.release plan.new plan.list plan.show plan.graph plan.cancel thread.new thread.post thread.list thread.tail
    thread.search thread.about thread.link artifacts show pin unpin evidence.take artifacts.add artifacts.show
    bundle.candidates
    bundle.save bundle.list bundle.show bundle.load bundle.unload bundle.consume bundle.delete load unload loaded
    expand kinds kind.show kind.add kind.drop docket card docket.pin verdict deliverables decisions
    decisions.summary debt rule.add rule.list rule.remove changes changes.show conflicts conflicts.bases land.list
    land.add land.retry land.undo land.drop land.teams land.due land.take land.keep land.checked land.moving
    land.waits land.again land.done land.failed reserve release transfer reservations can-write slot.take slot.give
    slot.list slot.set hold.look hold.take hold.renew turn.start turn.program turn.whose turn.offer turn.step
    turn.others turn.workspaces turn.watch turn.changed turn.told turn.phase turn.wait turn.idle turn.heard delivery.due
    delivery.phase delivery.offer delivery.letter delivery.seen delivery.own delivery.leave delivery.teams delivery.done
    delivery.failed delivery.ways monitor.teams monitor.sessions monitor.news monitor.report transcripts.teams
    transcripts.due transcripts.read notify.teams notify.take notify.done notify.failed wake dead dead.show
    dead.resend dead.drop spawn workers worker.show worker.attach tell stop respawn delete worker.self progress
    ask answer questions question.show done fail crew.run crew.list crew.status crew.scale crew.stop crew.teams crew.due
    crew.step crew.give worker.teams worker.due worker.begin worker.started worker.beat worker.used worker.stopping
    worker.ended worker.record worker.down worker.left worker.evict worker.forget worker.keep worker.trees
    worker.away worker.reclaim team.list team.show team.new team.set token.new token.list token.revoke config.set
    trust.look trust.accept trust.revoke budget
    budget.set usage_report notices notices.open feed events health stats sweep due settle chase export_mail letters
    store.backup daemon.stop import_mail
""")

READS = words("""
    who whois lenses escalations inbox thread receipts pending context search task.list task.show task.claims
    plan.list plan.show plan.graph thread.list thread.tail thread.search thread.about artifacts show artifacts.show
    bundle.candidates bundle.list bundle.show loaded kinds kind.show docket card deliverables decisions
    decisions.summary debt rule.list changes changes.show conflicts conflicts.bases land.list land.teams land.due
    reservations can-write slot.list hold.look turn.whose turn.offer turn.others turn.workspaces turn.idle
    turn.heard delivery.due
    delivery.phase delivery.offer delivery.letter delivery.teams monitor.teams monitor.sessions monitor.news
    transcripts.teams transcripts.due notify.teams dead dead.show workers worker.show worker.attach worker.self
    questions question.show crew.list crew.status crew.teams crew.due worker.teams worker.due worker.left worker.trees
    team.list team.show token.list trust.look budget notices feed events health stats due export_mail letters
    store.backup daemon.stop
""")

HANDLES = {
    "Team": "join agent call who feed follow close",
    "Agent": """call send broadcast handoff escalate inbox read ack reply archive pending search wait status rename
        leave claim claim_next reserve slot""",
    "Message": "read ack reply",
}
FIELDS = {
    "Receipt": "id status thread seq recipients replayed",
    "Message": """id sender to type priority subject body state thread created_at seq reply_to expires_at asks group
        tags attachments payload context first_contact""",
}


# --- the package ------------------------------------------------------------------------------------------------------


def test_the_public_names() -> None:
    assert sorted(rookery.__all__) == sorted(PUBLIC) == sorted(dir(rookery))


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(rookery, name) is not None


def test_no_other_name_is_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(rookery, "nothing")  # noqa: B009


def test_every_error_is_public() -> None:
    defined = {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.RookError)
    }
    assert defined <= set(PUBLIC)


@pytest.mark.parametrize("name", sorted(HANDLES))
def test_the_methods_of_the_handles(name: str) -> None:
    handle = getattr(rookery, name)
    public = {key for key, value in vars(handle).items() if inspect.isfunction(value) and not key.startswith("_")}
    assert set(HANDLES[name].split()) <= public


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_the_fields_of_the_handles(name: str) -> None:
    assert set(FIELDS[name].split()) <= set(getattr(rookery, name).__dataclass_fields__)


def test_the_names_of_a_worker() -> None:
    from rookery import worker

    public = {key for key, value in vars(worker.Worker).items() if not key.startswith("_")}
    assert public == {"brief", "progress", "ask", "done", "fail", "next"}
    assert inspect.isfunction(worker.here)
    assert set(worker.Answer.__dataclass_fields__) == {"text", "choice", "withdrawn"}
    assert set(worker.Assignment.__dataclass_fields__) == {"task", "title", "text"}


def test_importing_the_package_imports_nothing_of_it() -> None:
    program = "import sys, rookery; print(sorted(name for name in sys.modules if name.startswith('rookery')))"
    told = subprocess.run(
        [sys.executable, "-c", program], env=environment(), check=True, capture_output=True, text=True
    ).stdout
    assert told.strip() == "['rookery']"


# --- errors -----------------------------------------------------------------------------------------------------------

TREE: dict[str, tuple[str, str, int, int]] = {
    # class: parent, code, exit code, HTTP status
    "BadInput": ("RookError", "BAD_INPUT", 2, 422),
    "TooLarge": ("BadInput", "TOO_LARGE", 2, 413),
    "Refused": ("RookError", "REFUSED", 1, 409),
    "UnknownName": ("Refused", "UNKNOWN_NAME", 1, 404),
    "NameTaken": ("Refused", "NAME_TAKEN", 1, 409),
    "SessionFenced": ("Refused", "SESSION_FENCED", 1, 403),
    "NotYours": ("Refused", "NOT_YOURS", 1, 403),
    "BudgetSpent": ("Refused", "BUDGET_SPENT", 1, 429),
    "CursorTooOld": ("Refused", "CURSOR_TOO_OLD", 1, 409),
    "Unreachable": ("RookError", "UNREACHABLE", 3, 503),
    "StoreBusy": ("Unreachable", "STORE_BUSY", 3, 503),
    "StoreFull": ("Unreachable", "STORE_FULL", 3, 503),
    "StoreReadOnly": ("Unreachable", "STORE_READ_ONLY", 3, 503),
    "StoreCorrupt": ("Unreachable", "STORE_CORRUPT", 3, 503),
    "StoreUnusable": ("Unreachable", "STORE_UNUSABLE", 3, 503),
    "ForkedHandle": ("RookError", "FORKED_HANDLE", 2, 500),
}


@pytest.mark.parametrize("name", sorted(TREE))
def test_the_tree_of_errors(name: str) -> None:
    error = getattr(errors, name)
    assert (error.__base__.__name__, error.code, error.exit_code, error.http_status) == TREE[name]


def test_the_shape_of_an_error() -> None:
    error = errors.Refused("No.", "Do this.", code="BECAUSE", horizon=3)
    assert error.as_dict() == {"error": {"code": "BECAUSE", "message": "No.", "hint": "Do this.", "horizon": 3}}
    assert errors.Refused("No.").as_dict() == {"error": {"code": "REFUSED", "message": "No."}}


# --- the table of verbs -----------------------------------------------------------------------------------------------


def test_the_verbs() -> None:
    assert [verb.name for verb in TABLE] == VERBS


def test_the_verbs_that_only_read() -> None:
    assert [verb.name for verb in TABLE if not verb.writes] == READS


def the_place_of_a_verb_loads(verb: Verb) -> None:
    function = verb.load()
    assert inspect.isfunction(function)
    assert verb.place == f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


def a_verb_says_what_it_does(verb: Verb) -> None:
    assert 10 < len(verb.help) < 100
    assert verb.help[0].isupper()
    assert not verb.help.endswith(".")
    assert verb.who in authority.MARKS or (not verb.who and not verb.writes), "a verb that writes says who may call it"


def a_verb_takes_its_transaction_first(verb: Verb) -> None:
    first, *_ = inspect.signature(verb.load()).parameters
    assert first == "tx"


def every_argument_is_explained(verb: Verb) -> None:
    hints = typing.get_type_hints(verb.load(), include_extras=True)
    for name in list(inspect.signature(verb.load()).parameters)[1:]:
        assert hasattr(hints[name], "__metadata__"), f"{verb.name}: {name} has no Arg"
        (arg,) = hints[name].__metadata__
        assert isinstance(arg, Arg)
        assert arg.help, f"{verb.name}: {name} is not explained"
        assert not arg.help.endswith(".")


def the_signature_is_read_as_python_reads_it(verb: Verb) -> None:
    """`parameters` reads it by hand; `inspect` is the authority."""
    function = verb.load()
    _tx, *told = inspect.signature(function).parameters.values()
    found = parameters(function)
    assert [p.name for p in found] == [p.name for p in told]
    assert [p.required for p in found] == [p.default is inspect.Parameter.empty for p in told]
    for mine, theirs in zip(found, told, strict=True):
        assert mine.default == (None if mine.required else theirs.default)


def defaults_fit_their_own_types(verb: Verb) -> None:
    function = verb.load()
    given = {p.name: p.default for p in parameters(function) if not p.required}
    needed: dict[str, Any] = {p.name: _example(p.type) for p in parameters(function) if p.required}
    verbs.check(function, given | needed)


def _example(kind: Any) -> Any:
    return {str: "x", int: 1, bool: True}.get(kind, [] if typing.get_origin(kind) is list else {})


def no_two_arguments_of_a_verb_share_a_flag(verb: Verb) -> None:
    flags = [p.arg.flag for p in parameters(verb.load()) if p.arg.flag]
    flags += [f"--{p.name.replace('_', '-')}" for p in parameters(verb.load())]
    assert len(flags) == len(set(flags))


def choices_hold_the_default(verb: Verb) -> None:
    for p in parameters(verb.load()):
        if p.arg.choices and p.default:
            assert p.default in p.arg.choices


RULES = (
    the_place_of_a_verb_loads, a_verb_says_what_it_does, a_verb_takes_its_transaction_first,
    every_argument_is_explained, the_signature_is_read_as_python_reads_it, defaults_fit_their_own_types,
    no_two_arguments_of_a_verb_share_a_flag, choices_hold_the_default,
)  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_of_every_verb(rule: Callable[[Verb], None]) -> None:
    """One test a rule: of two hundred verbs each, they would be most of all tests there are."""
    for verb in TABLE:
        try:
            rule(verb)
        except Exception as error:
            error.add_note(f"of the verb {verb.name}")
            raise


# --- calls through the table ------------------------------------------------------------------------------------------


def test_an_unknown_verb() -> None:
    with pytest.raises(errors.UnknownName) as caught:
        verbs.find("sned")
    assert caught.value.code == "UNKNOWN_VERB"
    assert "send" in caught.value.hint


SEND = {"to": ["a"], "subject": "s"}


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ({**SEND, "prioritty": "high"}, "priority"),
        ({"to": ["a"]}, "subject"),
        ({}, "to, subject"),
        ({**SEND, "to": "a"}, "to"),
        ({**SEND, "to": [1]}, "to"),
        ({**SEND, "subject": None}, "subject"),
        ({**SEND, "subject": b"s"}, "subject"),
        ({**SEND, "payload": []}, "payload"),
        ({**SEND, "payload": '{"a": 1}'}, "payload"),
        ({**SEND, "expires": "2h"}, "expires"),
        ({**SEND, "expires": 1.5}, "expires"),
        ({**SEND, "expires": True}, "expires"),
        ({**SEND, "asks": "yes"}, "asks"),
        ({**SEND, "asks": 1}, "asks"),
        ({**SEND, "tags": "one"}, "tags"),
        ({**SEND, "tags": [None]}, "tags"),
    ],
)
def test_wrong_arguments_are_named(args: dict[str, Any], word: str) -> None:
    with pytest.raises(errors.BadInput) as caught:
        verbs.check(verbs.find("send").load(), args)
    assert word in f"{caught.value.message} {caught.value.hint}"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ({**SEND, "subject": "half \ud800"}, "subject"),
        ({**SEND, "subject": "a\0b"}, "subject"),
        ({**SEND, "to": ["a", "b\ud800"]}, "to"),
        ({**SEND, "expires": 1 << 63}, "expires"),
        ({**SEND, "expires": -(1 << 63) - 1}, "expires"),
    ],
)
def test_what_no_store_can_hold_is_refused_at_the_door(args: dict[str, Any], word: str) -> None:
    """Half a character and numbers beyond 64 bits would fail deep inside, without a sentence."""
    with pytest.raises(errors.BadInput) as caught:
        verbs.check(verbs.find("send").load(), args)
    assert word in caught.value.message


def test_right_arguments_pass() -> None:
    verbs.check(
        verbs.find("send").load(),
        {**SEND, "payload": {"a": [1, None]}, "context": None, "tags": ["x"], "expires": 5, "asks": False},
    )
