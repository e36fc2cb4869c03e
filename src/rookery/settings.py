"""The table of settings: what there is, what it takes, and what it is when nobody says."""

from typing import Any

from rookery.core.record import NamedTuple
from rookery.core.trust import (
    ALONE,
    CLAIM,
    ENTRIES_NEW,
    FREE,
    HIGHER,
    HIGHER_OR_ZERO,
    INSIDE,
    LOWER,
    LOWER_NOT_ZERO,
    OFF,
    ON,
    TRUST,
    order,
)

YEAR_S = 365 * 86_400
SECONDS = "seconds"
MONEY = "in budget.currency"
MOST_OF_A_SLOT = 10_000


class Setting(NamedTuple):
    name: str
    repository: str  # what a repository's file may say by itself: a rule of `core.trust`
    kind: str  # str, int, float, bool, list (of strings) or table
    default: Any
    unit: str
    help: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    seed: str = ""  # the pi-messenger option it stands for


def _seconds(name: str, repository: str, default: float, low: float, high: float, help: str, seed: str = "") -> Setting:
    return Setting(name, repository, "float", default, SECONDS, help, (), low, high, seed)


def _count(
    name: str, repository: str, default: int, unit: str, low: int, high: int, help: str, seed: str = ""
) -> Setting:
    return Setting(name, repository, "int", default, unit, help, (), low, high, seed)


def _switch(name: str, repository: str, default: bool, help: str, seed: str = "") -> Setting:
    return Setting(name, repository, "bool", default, "", help, seed=seed)


def _choice(name: str, repository: str, default: str, choices: str, help: str, seed: str = "") -> Setting:
    return Setting(name, repository, "str", default, "", help, tuple(choices.split()), seed=seed)


def _limit(name: str, whose: str) -> tuple[Setting, Setting]:
    return (
        _count(f"{name}max_tokens", LOWER_NOT_ZERO, 0, "tokens", 0, (1 << 53) - 1,
               f"Tokens {whose} may use; 0 is any number."),
        Setting(f"{name}max_cost", LOWER_NOT_ZERO, "float", 0, MONEY, f"What {whose} may cost; 0 is any amount.", (), 0,
                1e9),
    )  # fmt: skip


def _list(name: str, repository: str, default: list[str], help: str, seed: str = "") -> Setting:
    return Setting(name, repository, "list", default, "", help, seed=seed)


SETTINGS: tuple[Setting, ...] = (
    Setting("team", CLAIM, "str", "", "", "Name of the team. Empty: the git repository or the folder gives it."),
    Setting("leader", TRUST, "str", "", "", "Address of the agent that escalations go to before they reach a person."),
    _seconds("store.busy_s", TRUST, 10, 0, 600, "How long a call waits for the write lock before it gives up."),
    _seconds("store.read_s", TRUST, 5, 0.01, 600, "A read that takes longer is cut off."),
    _seconds("poll.s", FREE, 1.0, 0.01, 3600, "The slow poll beneath the bell: a lost ring costs at most this."),
    _seconds("mesh.heartbeat_s", FREE, 15, 0.1, 3600, "How often a resident session says that it is there."),
    _seconds("mesh.lease_s", FREE, 60, 1, YEAR_S, "Heartbeat lease of a session whose process cannot be looked at."),
    _seconds("mesh.active_s", FREE, 30, 1, YEAR_S, "Activity younger than this is shown as active."),
    _seconds("mesh.idle_s", FREE, 300, 1, YEAR_S,
             "Activity younger than this is shown as idle, older without work as away."),
    _seconds("mesh.stuck_s", FREE, 900, 1, YEAR_S, "With work and without activity for this long: stuck.",
             "stuckThreshold"),
    _seconds("mesh.recent_s", FREE, 600, 1, YEAR_S, "The window of activity that the automatic status calls recent."),
    _switch("mesh.auto_status", FREE, True, "Make a status message from what a session does.", "autoStatus"),
    _switch("mesh.auto_join", FREE, False, "Join when a session starts.", "autoRegister"),
    _list("mesh.auto_join_paths", FREE, [], "Patterns of folders in which a session joins by itself.",
          "autoRegisterPaths"),
    _switch("mesh.scope_to_folder", FREE, False, "Show only agents in the same folder.", "scopeToFolder"),
    _choice("names.theme", FREE, "default", "default nature space minimal custom",
            "Word list that generated names are made from; custom takes names.words.", "nameTheme"),
    _list("names.words", FREE, [], "The words of the custom theme."),
    _count("feed.limit", FREE, 50, "events", 1, 10_000, "Events that `rook feed` shows.", "feedRetention"),
    _switch("feed.crew_events", FREE, True, "Show events of plans and tasks in the feed.", "crewEventsInFeed"),
    _switch("top.auto_open", OFF, True, "Open the overview while a crew works.", "autoOverlay"),
    _count("mail.body_limit", LOWER, 1_048_576, "bytes", 1, 1 << 30, "Longest body of a message."),
    _choice("mail.coordination", order("none minimal moderate chatty unlimited"), "unlimited",
            "none minimal moderate chatty unlimited",
            "How many messages a session may send: 0, 2, 5, 10 or any number."),
    _count("mail.inbox_limit", FREE, 20, "messages", 1, 1_000, "Messages that `rook inbox` shows."),
    _count("mail.context_full", FREE, 5, "messages", 0, 1_000, "Messages that prompt context gives in full."),
    _count("mail.context_characters", FREE, 500, "characters", 1, 1_000_000, "Where a body in prompt context is cut."),
    _choice("mail.context_priority", FREE, "high", "low normal high urgent",
            "Lowest priority that prompt context gives in full; the rest is counted."),
    _count("mail.rounds_max", LOWER, 5, "rounds", 1, 1_000, "So often at most one message is put before its reader."),
    _switch("clear_before", OFF, False, "An agent is cleared before it is given a message that asks for that."),
    Setting("spawn.by_message", OFF, "bool", False, "",
            "A message that asks for a worker may be followed; otherwise it is recorded."),
    Setting("spawn.senders", TRUST, "list", [], "",
            "Whose messages may ask for workers, besides the person's, the leader's "
            "and those of workers whose kind may: names with `*`, role:, program:."),
    _count("spawn.by_message_per_minute", LOWER, 10, "workers", 0, 10_000,
           "So many are made of what messages ask for."),
    Setting("spawn.meshes", ENTRIES_NEW, "table", {}, "",
            'Several workers asked for by one word: name = ["kind", ...].'),
    Setting("worker.host", TRUST, "str", "claude", "", "The agent program of a worker whose kind names none."),
    _switch("worker.start_daemon", OFF, True, "`rook spawn` starts a daemon where none runs."),
    _choice("worker.backend", FREE, "tmux", "tmux pty headless",
            "Where a worker's program runs when nothing else is said."),
    _count("worker.limit", LOWER, 8, "workers", 0, 10_000,
           "Workers of a team at once; `rook slot set workers N` changes it."),
    _count("worker.queue", LOWER, 100, "workers", 0, 100_000, "So many may wait for their turn."),
    _count("worker.depth", LOWER, 2, "levels", 0, 100, "How deep workers of workers go."),
    _choice("worker.coordination", order("none minimal moderate chatty unlimited"), "chatty",
            "none minimal moderate chatty unlimited",
            "How many messages a worker may send: 0, 2, 5, 10 or any number."),
    _seconds("worker.heartbeat_s", FREE, 15, 0.1, 3600, "How often it is written down that a worker runs."),
    _seconds("worker.stale_s", FREE, 90, 1, YEAR_S, "Not heard of for so long, a worker is shown as stale."),
    _seconds("worker.silent_s", FREE, 300, 1, YEAR_S, "A working worker that does nothing for so long is warned of."),
    _seconds("worker.waiting_s", FREE, 1800, 1, YEAR_S, "A question that waits for so long is warned of."),
    _seconds("worker.grace_s", FREE, 30, 0, 3600, "A worker that is told to stop has so long to wrap up."),
    _seconds("worker.term_s", FREE, 5, 0, 3600, "Then it is sent SIGTERM, and after this SIGKILL."),
    _seconds("worker.evict_s", FREE, 1800, 0, YEAR_S, "A worker that is over for so long is no longer listed."),
    _seconds("worker.prune_s", HIGHER, 86_400, 0, YEAR_S,
             "Over for so long, it and its files are forgotten; a worktree that "
             "holds what is nowhere else stays."),
    _seconds("worker.tidy_s", FREE, 20, 0.05, 3600, "How often the daemon looks for old workers."),
    _switch("worker.capture_terminal", OFF, False, "Keep all that a worker's terminal shows, raw, in terminal.log."),
    Setting("worker.environment", TRUST, "list", [], "",
            "Variables of yours that workers are given too, by name: keys that "
            "their programs need."),
    _count("worker.keep_runs_days", HIGHER, 14, "days", 0, 36_500,
           "What a worker's run was told and said is kept this long."),
    _choice("routing", order("enforce warn off"), "off", "off warn enforce",
            "What [routes] mean: nothing, a warning, or a refusal."),
    _switch("maildrop.on", OFF, True,
            "Messages that are written as files to .rook/msgs of the workspace are taken in."),
    _list("maildrop.folders", INSIDE, [],
          "More such folders, for example .ai/tx/msgs; outside the workspace only in your own "
          "settings."),
    _seconds("maildrop.settle_s", FREE, 0.05, 0, 3600, "A file that has not changed for so long is looked into."),
    _seconds("maildrop.patience_s", FREE, 30, 0.01, YEAR_S, "A file that is not whole after so long is put aside."),
    _seconds("maildrop.poll_s", FREE, 2, 0.05, 3600, "How often the folders are looked at though nothing rang."),
    _seconds("tasks.ttl_s", FREE, 300, 1, YEAR_S, "Lease that a claim gives when none is asked for."),
    _seconds("tasks.ttl_low_s", FREE, 0.001, 0.001, YEAR_S, "The shortest lease that may be asked for."),
    _seconds("tasks.ttl_high_s", FREE, 86_400, 1, YEAR_S, "The longest lease that may be asked for."),
    _count("tasks.attempts", LOWER, 5, "attempts", 1, 1_000, "So many setbacks block a task, and its owner is asked."),
    _switch("guard.strict", ON, False,
            "Only what a lease of yours covers may be written; opaque commands are denied."),
    _choice("guard.worktrees", order("enforce warn off"), "warn", "warn enforce off",
            "What a reservation means to whoever works in another worktree of the repository."),
    _seconds("guard.ttl_s", FREE, 600, 1, YEAR_S, "Lease of a reservation or slot when none is asked for."),
    _seconds("guard.ttl_low_s", FREE, 1, 0.001, YEAR_S, "The shortest such lease that may be asked for."),
    _seconds("guard.ttl_high_s", FREE, 86_400, 1, YEAR_S, "The longest such lease that may be asked for."),
    _seconds("guard.waiter_s", FREE, 10, 0.1, 3600, "A place in line is lost when nothing is heard for this long."),
    _choice("guard.opaque", order("deny ask check allow"), "check", "check ask deny allow",
            "A command that does not tell what it writes: looked after, left to a person, refused, or let be."),
    _choice("guard.outside", order("deny strict allow"), "strict", "strict deny allow",
            "Writing outside the workspace, through a hook: refused in strict teams, always, or never."),
    _choice("hook.hold", order("off urgent all"), "all", "all urgent off",
            "Mail that keeps a turn from ending once: all that is new, only what is urgent or asks, none."),
    _count("hook.holds", LOWER, 5, "times", 0, 100, "So often in a row a turn is kept from ending."),
    _choice("hook.wake", order("off urgent all"), "all", "all urgent off",
            "Mail that wakes an idle agent by its program's own door: all, only what is urgent or asks, none."),
    Setting("hook.conventions", FREE, "str", "", "", "What every agent of the team is told when its session begins."),
    _seconds("delivery.retry_s", FREE, 5, 0.01, 3600,
             "Mail that was not handed over is tried again after this; it doubles."),
    _seconds("delivery.retry_most_s", FREE, 30, 0.01, 86_400, "The longest wait between two tries."),
    _count("delivery.tries", LOWER, 20, "tries", 1, 10_000, "So many failed tries make a message a dead letter."),
    _seconds("delivery.patience_s", FREE, 1800, 1, YEAR_S,
             "Mail for an agent that is always busy, or whose line is never empty, is a dead letter after this."),
    _count("delivery.failures", LOWER, 5, "failures", 1, 10_000, "So many failures in a row rest a way for a while."),
    _seconds("delivery.pause_s", FREE, 60, 0.01, 86_400, "How long; then it is tried once."),
    _seconds("delivery.grace_s", FREE, 5, 0, 3600,
             "What wakes an agent by itself is left this long before another way."),
    _seconds("delivery.lease_s", FREE, 30, 0.5, 3600,
             "Who delivers to an agent and is not heard of for so long loses that."),
    _count("delivery.characters", FREE, 4_000, "characters", 400, 100_000, "Longest text that is handed over at once."),
    _switch("delivery.interrupt", OFF, False, "A turn is broken off for a message whose sender asks for that."),
    _seconds("delivery.proof_s", FREE, 60, 0, 3600,
             "How long an agent's own record is looked at for what it was handed."),
    _switch("delivery.resume", OFF, False, "Start a turn without a terminal for an agent whose program has ended."),
    _seconds("delivery.resume_s", LOWER, 1800, 1, 86_400, "How long such a turn may take."),
    _seconds("delivery.command_s", LOWER, 30, 0.1, 3600, "How long a command or webhook may take."),
    Setting("delivery.notify", TRUST, "list", [], "",
            "A command that tells a person: the words are its last argument."),
    Setting("delivery.secret_file", TRUST, "str", "", "",
            "A private file with the secret that webhooks are signed with."),
    Setting("hosts", TRUST, "table", {}, "",
            'How agent programs are started as workers: name = { program = ["command"] }.'),
    Setting("reach", TRUST, "table", {}, "",
            'How an agent is reached besides: name = { command = [...], webhook = "..." }.'),
    _seconds("mail.answer_s", LOWER_NOT_ZERO, 3600, 0, YEAR_S,
             "Mail that asks and has no answer after this is put before the leader, then the person; 0: never."),
    _seconds("terminal.poll_s", FREE, 0.2, 0.01, 60, "How often a terminal is looked at while mail waits for it."),
    _seconds("terminal.stable_s", HIGHER, 2, 0, 3600, "Idle and unchanged for so long, a program may be typed into."),
    _seconds("terminal.quiet_s", HIGHER, 3, 0, 3600, "Since a person typed in a terminal, before mail is typed there."),
    _seconds("terminal.cap_s", FREE, 60, 0.1, 86_400, "So long one attempt waits for a program to become idle."),
    _seconds("terminal.pause_s", FREE, 0.3, 0, 60, "Between a text and the key that submits it."),
    _seconds("terminal.verify_s", FREE, 5, 0.1, 600,
             "For a text to show, and to leave its line before Enter is repeated."),
    _seconds("terminal.doubt_s", HIGHER, 10, 0, 86_400,
             "Hooks say busy, the screen idle: so long the hooks are believed."),
    Setting("terminal.answer_gates", TRUST, "list", [], "",
            "Dialogs that may be agreed to before mail is typed: trust."),
    _seconds("evidence.read_s", TRUST, 5, 0, 86_400,
             "How often the daemon reads on in what agent programs write down of their sessions; 0: never."),
    _seconds("monitor.every_s", FREE, 30, 0.1, 86_400, "How often the daemon looks at the sessions of its machine."),
    _choice("monitor.action", order("notify none nudge reroute"), "notify", "notify none nudge reroute",
            "About a session that is not well: its leader or the person is told; nothing is done; a quiet agent is "
            "spoken to; what a dead one was asked goes to another of its role."),
    _seconds("monitor.stalled_s", FREE, 1800, 1, YEAR_S, "Idle with work for this long: stalled."),
    _seconds("monitor.blocked_s", FREE, 60, 0, YEAR_S, "A dialog that waits for a person this long is told of."),
    _seconds("monitor.again_s", FREE, 600, 0, YEAR_S,
             "The same about the same agent is mailed no sooner than this again."),
    _switch("monitor.reattach", OFF, True,
            "A session that died goes on in the program that was started anew in its terminal."),
    _switch("land.auto", OFF, False, "Work that is done, and was judged where that was asked for, lands by itself."),
    Setting("land.branch", TRUST, "str", "", "", "The branch that work lands on. Empty: the one that is checked out."),
    _choice("land.strategy", FREE, "merge", "merge rebase squash", "How work gets onto the branch."),
    Setting("land.check", TRUST, "list", [], "",
            "A command that must pass on the merged tree before the branch moves."),
    _seconds("land.check_s", LOWER, 1800, 0.1, 40_000, "How long that may take."),
    _count("land.batch", LOWER, 1, "changes", 1, 100,
           "So many are checked together; if that fails, the guilty one is found."),
    _seconds("land.retry_s", FREE, 5, 0.05, 3600, "A branch that could not be moved is tried again after this."),
    _seconds("land.lease_s", FREE, 30, 0.5, 3600, "Who lands and is not heard of for so long loses that to another."),
    _count("changes.patch_limit", FREE, 1_048_576, "bytes", 0, 1 << 30, "A longer patch of a change set is not kept."),
    _count("artifacts.limit", LOWER, 4_194_304, "bytes", 1, 1 << 30, "Largest artifact that is taken."),
    _seconds("artifacts.orphan_s", HIGHER, 3600, 60, YEAR_S,
             "A file that no artifact names is removed when it is this old."),
    _count("bundles.keep_days", HIGHER, 7, "days", 0, 36_500,
           "A bundle that was consumed or deleted is kept this long."),
    _count("evidence.body_limit", FREE, 8_192, "bytes", 256, 1 << 20,
           "As much of a piece of evidence stands in the ledger; all of it is a file beside."),
    _count("evidence.cap", HIGHER_OR_ZERO, 1_000, "", 0, 1_000_000,
           "So much evidence is kept of a worker, and of all others together; the oldest goes first. 0: any amount."),
    _count("evidence.keep_days", HIGHER_OR_ZERO, 90, "days", 0, 36_500,
           "Evidence that is older goes, unless it was pinned or something names it. 0: none does."),
    _count("daemon.port", TRUST, 4500, "", 0, 65_535, "Where `rook up` listens; 0 takes any free port."),
    _count("daemon.body_limit", TRUST, 8_388_608, "bytes", 1024, 1 << 30, "Longest request the daemon reads."),
    _count("daemon.connections", TRUST, 2_000, "connections", 1, 100_000,
           "HTTP connections that may be open at once. At the limit the daemon closes the one that has been idle for "
           "the longest time; if none is idle, it refuses the new one with 503."),
    _count("daemon.streams", TRUST, 500, "streams", 1, 100_000,
           "Streams of `GET /v1/events` that may be open at once; one more is refused with 429."),
    _seconds("daemon.header_s", TRUST, 10, 0.05, 3600,
             "The headers of a request must arrive within this time; otherwise it is refused with 408."),
    _seconds("daemon.body_s", TRUST, 60, 0.05, 3600,
             "The body of a request must arrive within this time; otherwise it is refused with 408."),
    _seconds("daemon.keep_alive_s", TRUST, 75, 0.05, 3600,
             "A connection without a request is closed after this time. Longer than Rookery's own client keeps one."),
    _seconds("daemon.stall_s", TRUST, 30, 0.05, 3600,
             "A client that reads nothing of its answer for this long is cut off. A stream of events ends with a "
             "reason first, and its reader can resume with Last-Event-ID."),
    _seconds("daemon.sweep_s", TRUST, 2, 0.05, 3600, "How often the daemon looks for what expired."),
    _seconds("mcp.idle_s", TRUST, 1800, 0.1, YEAR_S, "A model that asks the daemon nothing for so long has left."),
    _seconds("mcp.unjoined_s", TRUST, 300, 0.1, YEAR_S,
             "An MCP session in which no agent has joined ends after this time without a request."),
    _count("mcp.sessions", TRUST, 1_000, "sessions", 1, 100_000, "MCP sessions that the daemon keeps open at once."),
    _count("mcp.sessions_per_token", TRUST, 32, "sessions", 1, 100_000,
           "The same for one token of an agent or a viewer."),
    *_limit("budget.", "the team"),
    *_limit("budget.agent_", "an agent without a limit of its own"),
    *_limit("budget.task_", "a task without a limit of its own"),
    _switch("budget.hard_limit", ON, True,
            "A limit that is spent refuses claims and sends; otherwise it is only told."),
    _count("budget.warn_percent", LOWER, 80, "percent", 1, 100,
           "The leader is told when so much of a hard limit is used."),
    Setting("budget.currency", FREE, "str", "USD", "", "The currency of prices and costs."),
    Setting("prices", ENTRIES_NEW, "table", {}, "",
            "Models by price of a million tokens: model = { input = 3, output = 15 }."),
    _count("log.bytes", TRUST, 1_048_576, "bytes", 1024, 1 << 30, "A log file that grew to this is put aside."),
    _count("log.files", TRUST, 5, "files", 1, 100, "Log files that were put aside and are kept."),
    _switch("log.requests", TRUST, False,
            "Log every request: method, route, status and time, never its path or query."),
    _count("retention.archive_days", HIGHER, 30, "days", 0, 36_500, "Archived mail is kept this long."),
    _count("retention.days", HIGHER, 30, "days", 0, 36_500, "Events are kept at least this long."),
    _count("retention.events", HIGHER, 100_000, "events", 0, 1 << 40,
           "The newest events of a team that are kept at any age."),
    _seconds(
        "retention.keys_s", HIGHER, 86_400, 1, YEAR_S,
        "A repeat under its idempotency key gets the same answer this long."
    ),
    Setting("notify.desktop", OFF, "bool", False, "", "Tell you of what needs you by notify-send."),
    Setting("notify.terminal", TRUST, "str", "", "", "Ring the bell of this terminal of yours: what `tty` says there."),
    Setting("notify.webhook", TRUST, "str", "", "",
            "Post it to this address, as Slack takes it, signed like other webhooks."),
    Setting("notify.quiet", TRUST, "str", "", "", "Hours of the day in which nobody is told, as 22:00-07:00; what came "
            "then is told after them."),
    _seconds("notify.interval_s", LOWER, 300, 0, 86_400, "One digest at most in this time, by each way."),
    _seconds("notify.gather_s", LOWER, 5, 0, 3600, "The first of several waits so long for the others."),
    _seconds("notify.retry_s", FREE, 30, 0.05, 3600, "One that could not be handed over is tried again after this."),
    Setting("extensions.enabled", OFF, "bool", True, "",
            "Kinds, hosts, policies and listeners of installed distributions "
            "are used."),
    Setting("extensions.only", TRUST, "list", [], "", "Only of these distributions. Empty: of all."),
    _seconds("extensions.listener_s", LOWER, 30, 0.01, 3600, "A listener that takes longer over one event is dropped."),
    Setting("groups", ENTRIES_NEW, "table", {}, "", 'Groups to broadcast to: name = ["address", ...].'),
    _list("group_folders", INSIDE, ["swarms/{group}/agents"],
          "Folders whose Markdown files name a group's members; {group} stands for the group."),
    Setting("slots", ENTRIES_NEW, "table", {}, "",
            "Things of which there are several: name = how many. Others are there once."),
    Setting("agents", ENTRIES_NEW, "table", {}, "",
            'Agents known before they join: name = { role = "...", model = "..." }.'),
    Setting("routes", ALONE, "table", {}, "", "Who may send what to whom: name = { from, to, types, status, help }."),
    Setting("templates", ENTRIES_NEW, "table", {}, "", "Forms for handoffs: name = { help, needs, presets, tags }."),
)  # fmt: skip

# What an entry of a table setting is: a kind, or its own keys with their kinds.
ENTRIES: dict[str, str | dict[str, str]] = {
    "groups": "list",
    "slots": "count",
    "spawn.meshes": "list",
    "agents": {"role": "str", "model": "str"},
    "hosts": {"program": "list"},
    "reach": {"command": "list", "webhook": "str"},
    "templates": {"help": "str", "needs": "list", "presets": "table", "tags": "list"},
    "routes": {"from": "list", "to": "list", "types": "list", "status": "list", "help": "str"},
    "prices": {"input": "price", "output": "price"},
}
