"""Scenes that together call every verb that writes, each in a state in which it has something to write.

A call in a scene succeeds: a verb that is refused here would not be walked by the tests that play the scenes.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.reporting import OWNER, Shop
from tests.support.stage import DAY, HOUR, MINUTE, SECOND, Stage

PANE = {"kind": "tmux", "socket": "/run/s", "server": "1 2", "pane": "%1"}
COMMITS = ["e" * 40, "f" * 40]  # where a branch is before a landing, and after it
TRIES = 20  # after so many failures a message is a dead letter


class Scene(NamedTuple):
    play: Callable[[Stage], None]
    settings: Mapping[str, Any] = {}
    survives: str = ""  # a verb that goes on although a part of it is refused


def mail(stage: Stage) -> None:
    call = stage.call
    stage.join_all("ada", "bob")
    call("status", "ada", note="reading")
    stage.clock.pass_time(MINUTE)
    call("heartbeat", "ada")
    call("activity", "ada", kind="edit")
    call("notices.open", "ada")
    sent = call("send", "ada", to=["bob"], subject="Hello", body="All of it", asks=True)["id"]
    call("read", "bob", id=sent)
    call("reply", "bob", id=sent, body="Good")
    call("ack", "bob", ids=[sent])
    call("archive", "bob", ids=[sent])
    call("broadcast", "ada", subject="All", body="Look")
    call("handoff", "ada", to=["bob"], subject="Go on", work_completed="Half")
    call("escalate", "ada", title="It is stuck")
    call("drop", "ada", sender="ada", to=["bob"], subject="From a file")
    call("import_mail", letters=[imported(stage)])
    call("rename", "ada", name="eve")
    stage._joined["eve"] = stage._joined["ada"]
    call("leave", "eve")


def imported(stage: Stage) -> dict[str, Any]:
    wall = stage.clock.wall
    return {
        "id": "MSG-old", "from": "ada", "to": "bob", "type": "request", "priority": 2, "subject": "old", "body": "b",
        "state": "read", "payload": {}, "context": {}, "attachments": [], "tags": [], "thread": None, "reply_to": None,
        "group": None, "at": wall - DAY, "expires_at": None, "read_at": wall - HOUR, "completed_at": None,
    }  # fmt: skip


def mail_to_a_kind(stage: Stage) -> None:
    """Mail starts a worker of the kind that it is sent to, starts it again when it has ended, or asks for another."""
    stage.join("ada")
    stage.call("kind.add", written="---\nname: librarian\non_mail: true\nread_only: true\n---\nLook.\n")
    letter = {"subject": "Where is the parser?", "asks": True}
    made = stage.call("send", stage.caller(tree="/work"), to=["librarian"], **letter)["spawned"][0]
    run = begin(stage, made["id"])
    stage.call("worker.ended", "system", id=made["id"], run=run, reason="ended", exit_code=0)
    stage.call("verdict", subject=f"{made['id']}/x1", action="dismiss", said="good")
    assert stage.call("send", stage.caller(tree="/work"), to=[made["name"]], **letter)["spawned"]
    asked = {"kind": "scout", "reason": "look"}
    assert stage.call("send", stage.caller(tree="/work"), to=["ada"], subject="Help", spawn=asked)["spawned"]


def delivery(stage: Stage) -> None:
    call = stage.call
    stage.join("ada", program="claude", terminal=PANE)
    stage.join("bob")
    job = {"agent": "ada", "channel": "terminal", "owner": OWNER}
    call("delivery.ways", "system")
    sent = stage.send("bob", "ada")["id"]
    call("delivery.own", "system", **job)
    call("delivery.leave", "system", **job)
    offered = call("delivery.offer", "system", agent="ada")
    call("delivery.done", "system", **job, shown=offered["shown"], upto=offered["upto"])
    call("delivery.seen", "system", agent="ada", ids=[sent])
    lost = [stage.send("bob", "ada")["id"] for _ in range(2)]
    for _ in range(TRIES):
        call("delivery.failed", "system", **job, reason="injection-failed")
    call("wake", "bob", name="ada")
    stage.clock.pass_time(2 * MINUTE)
    call("dead.resend", "bob", id=lost[0])
    call("dead.drop", "bob", id=lost[1])
    stage.clock.pass_time(2 * HOUR)
    call("chase", "system")


def tasks(stage: Stage) -> None:
    call = stage.call
    stage.join_all("ada", "bob")
    for title in ("One", "Two", "Three", "Four", "Five", "Six", "Seven"):
        call("task.add", "ada", title=title, resources=[f"src/{title}"])
    call("task.claim", "ada", id="task-0001")
    stage.clock.pass_time(SECOND)
    call("task.renew", "ada", id="task-0001")
    call("task.progress", "ada", id="task-0001", said="half")
    call("task.done", "ada", id="task-0001", summary="all")
    call("task.claim", "ada", next=True)
    call("task.release", "ada", id="task-0002")
    call("task.claim", "ada", id="task-0002")
    call("task.fail", "ada", id="task-0002", reason="no")
    call("task.reset", id="task-0002")
    call("task.claim", "ada", id="task-0003")
    call("task.block", "ada", id="task-0003", reason="no key")
    call("task.unblock", id="task-0003")
    call("task.assign", id="task-0003", to="bob")
    call("task.revise", id="task-0004", title="Other")
    call("task.split", id="task-0005", titles=["a", "b"])
    call("task.cancel", id="task-0006", reason="no")
    call("task.delete", id="task-0007")
    call("plan.new", "ada", goal="Ship", tasks=[{"title": "A"}], review=True)
    call("plan.cancel", id="plan-0001")
    for verdict in ("NEEDS_WORK", "SHIP"):
        review(stage, verdict)
    call("spec.claim", "ada", spec="docs/s.md", item="T1")
    call("spec.release", "ada", spec="docs/s.md", item="T1")
    call("spec.claim", "ada", spec="docs/s.md", item="T1")
    call("spec.done", "ada", spec="docs/s.md", item="T1")
    call("task.claim", "ada", id="task-0002")
    stage.prober.states[stage._joined["ada"]] = "dead"
    stage.clock.pass_time(HOUR)
    call("settle", "system")
    stage.clock.pass_time(DAY)
    call("sweep")


def review(stage: Stage, verdict: str) -> None:
    id = stage.call("plan.new", "ada", goal=verdict, tasks=[{"title": "A"}], review=True)["tasks"][0]["id"]
    stage.call("task.claim", "ada", id=id)
    stage.call("task.done", "ada", id=id, summary="all")
    stage.call("task.review", id=id, verdict=verdict, feedback="looked at")


def guard(stage: Stage) -> None:
    call = stage.call
    stage.join_all("ada", "bob")
    call("reserve", "ada", paths=["lib/"])
    call("transfer", "ada", to="bob", paths=["lib/"])
    call("release", "bob", paths=["lib/"])
    held = call("reserve", "ada", paths=["src/"])["id"]
    waiting = call("reserve", "bob", paths=["src/"], wait=True)["id"]
    stage.clock.pass_time(SECOND)
    call("hold.renew", "ada", id=held)
    call("release", "ada", all=True)
    call("hold.take", "bob", id=waiting)
    call("turn.watch", "ada", call="c1", command="make", looked_at=["src/"], marks={"src/a.py": "1"})
    call("turn.changed", "ada", call="c1", marks={"src/a.py": "2"})
    call("slot.set", name="gpu", capacity=1)
    call("slot.take", "ada", name="gpu")
    call("slot.give", "ada", name="gpu")


def turns(stage: Stage) -> None:
    call = stage.call
    stage.join_all("ada", "bob")
    ada = stage.caller("ada", process=stage._joined["ada"])
    call("turn.program", stage.caller(process=stage.process()))
    call("turn.start", ada, host="claude", host_id="s1", transcript="/records/s1.jsonl", name="ada")
    call("turn.step", "ada", kind="edit")
    call("turn.phase", "ada", phase="idle")
    stage.send("bob", "ada")
    offered = call("turn.offer", "ada", moment="after")
    call("turn.told", "ada", moment="after", shown=offered["shown"], upto=offered["upto"])
    call("turn.wait", "ada", pid=10, started="t10")
    (record,) = call("transcripts.due", "system")["transcripts"]
    place = {"path": record["path"], "session": record["session"], "closed": True}
    call("transcripts.read", "system", **place, place="all of it")
    call("usage_report", "ada", input=10, output=5)
    stage.prober.states[stage._joined["bob"]] = "dead"
    seen = [{"session": each["session"], "cpu": 0} for each in call("monitor.sessions", "system")["sessions"]]
    call("monitor.report", "system", seen=seen)


def settings(stage: Stage) -> None:
    call = stage.call
    stage.join("ada")
    call("team.new", agents=[{"id": "cat", "role": "dev"}])
    call("team.set", leader="ada")
    call("kind.add", written="---\nname: scout\n---\nLook.\n")
    call("kind.drop", name="scout")
    call("rule.add", name="small")
    call("rule.remove", name="small")
    token = call("token.new", agent="ada")["id"]
    call("token.revoke", id=token)
    for scope in ({}, {"agent": "ada"}):
        call("budget.set", **scope, max_tokens=1000)
    call("trust.accept", accepted={"0" * 64: "be in the team"})
    call("trust.revoke")
    call("config.set", name="authority.terminal", value="off")


def evidence(stage: Stage) -> None:
    call = stage.call
    stage.join("ada")
    call("task.add", title="One")
    call("thread.new", "ada", title="Format")
    call("thread.post", "ada", id="thread-0001", body="JSON")
    call("thread.link", "ada", id="thread-0001", task="task-0001")
    call("evidence.take", "ada", found=[{"kind": "command", "ref": "r:1", "title": "ls", "failed": True}])
    call("pin", refs=["c1"])
    call("bundle.save", "ada", refs=["c1"], title="What was seen")
    call("bundle.load", "ada", id="bundle-0001")
    call("expand", "ada", chip="bundle-0001#1")
    call("bundle.unload", "ada", id="bundle-0001")
    call("bundle.consume", "ada", id="bundle-0001")
    call("bundle.delete", "ada", id="bundle-0001")
    call("unpin", refs=["c1"])
    call("artifacts.add", "ada", name="notes.md", content="seen")


def reserved_task(stage: Stage) -> None:
    """A worker is started for a task whose paths somebody holds: its claim is refused, and the worker goes on."""
    stage.join("ada")
    stage.call("reserve", "ada", paths=["src/"])
    stage.call("task.add", title="Parse", resources=["src/a.py"])
    stage.call("spawn", stage.caller(tree="/work"), assignment="task-0001")
    begin(stage, "w1")


def begin(stage: Stage, id: str) -> str:
    run = stage.call("worker.begin", "system", id=id, owner=OWNER)["worker"]["run"]
    pid, since = stage.process()
    stage.call("worker.started", "system", id=id, run=run, pid=pid, since=since, tree=f"/tree/{id}")
    return run


def crew(stage: Stage) -> None:
    stage.call("plan.new", goal="Parser", tasks=[{"title": "A"}, {"title": "B"}])
    stage.call("crew.run", stage.caller(tree="/work"), plan="plan-0001", workers=2)
    stage.call("crew.step", "system", id="crew-0001")
    stage.call("crew.scale", workers=3)
    stage.call("crew.stop")


def lobby(stage: Stage) -> None:
    """A crew starts a worker that waits, and gives it a task once it runs."""
    stage.call("plan.new", goal="Parser", tasks=[{"title": "A"}])
    stage.call("crew.run", stage.caller(tree="/work"), plan="plan-0001", workers=1, lobby=1)
    stage.call("crew.step", "system", id="crew-0001")
    begin(stage, "w1")
    (given,) = stage.call("crew.step", "system", id="crew-0001")["give"]
    stage.call("crew.give", "system", id="w1", task=given["task"], base="")


def supervised(stage: Stage) -> None:
    """What a supervisor says of workers, until nothing of them is left."""
    call = stage.call
    call("spawn", stage.caller(tree="/work"), assignment="Read")
    run = {"id": "w1", "run": begin(stage, "w1")}
    stage.clock.pass_time(MINUTE)
    call("worker.beat", "system", runs={"w1": run["run"]})
    call("worker.used", "system", **run, input=100, output=10, model="m")
    call("tell", id="w1", body="Quickly")
    call("stop", id="w1")
    call("worker.stopping", "system", **run)
    call("worker.record", "system", **run, prompt="Read task.md", output="Done.", events="{}\n", meta={"model": "m"})
    call("worker.ended", "system", **run, reason="crashed", exit_code=9, tail="the last line")
    call("respawn", id="w1")
    again = begin(stage, "w1")
    call("worker.down", "system")
    call("worker.ended", "system", id="w1", run=again, reason="ended", exit_code=0)
    stage.clock.pass_time(HOUR)
    call("worker.evict", "system")
    stage.clock.pass_time(2 * DAY)
    call("worker.keep", "system", id="w1", why="changes")
    call("worker.away", "system", id="w1", owner=OWNER, forget=True)
    call("worker.away", "system", id="w1", owner=OWNER, over=True)
    call("delete", id="w1")
    call("worker.forget", "system", id="w1")
    call("spawn", stage.caller(tree="/work"), assignment="Write")
    runs = {"w2": begin(stage, "w2")}
    call("task.cancel", id="task-0002")
    assert call("worker.beat", "system", runs=runs)["lost"]


def shop_of(stage: Stage) -> Shop:
    stage.prober.states[(1, "t1")] = "running"  # the process of OWNER
    return Shop(stage, Path(stage.store.location).with_suffix(".shop"))


def worker(stage: Stage) -> None:
    """What a worker says until its result is promoted and lands; its user is notified; the landing is undone."""
    shop, call = shop_of(stage), stage.call
    stage.join("bob")
    id = shop.worker()
    shop.call(id, "progress", steps=["doing: the parser"], note="half")
    question = shop.call(id, "ask", question="Which format?")["id"]
    notify(stage)
    call("answer", id=question, said="JSON")
    shop.done(id)
    call("load", "bob", id=id)
    call("expand", "bob", chip="w1#1")
    call("unload", "bob", id=id)
    call("docket.pin", subject="w1/1")
    call("verdict", subject="w1/1", action="promote", said="good")
    land(shop, "land-0001")
    shop.over(id)
    call("worker.reclaim", "system", id=id)
    call("land.undo", id="land-0001")
    take(shop)
    move(shop, "land-0001", COMMITS[::-1])


def notify(stage: Stage) -> None:
    told = {"way": "desktop", "owner": OWNER}
    stage.clock.pass_time(MINUTE)
    stage.call("notify.take", "system", **told)
    stage.call("notify.failed", "system", **told)
    stage.clock.pass_time(MINUTE)
    upto = stage.call("notify.take", "system", **told)["upto"]
    stage.call("notify.done", "system", **told, upto=upto)


def land(shop: Shop, id: str) -> None:
    """The branch can not be moved at first."""
    call, mine = shop.stage.call, {"owner": OWNER, "ids": [id]}
    take(shop)
    call("land.keep", "system", **mine, step="checking")
    call("land.checked", "system", **mine, on=COMMITS[1], argv=["true"], exit=0, ms=1, output="")
    call("land.moving", "system", **mine, links=[COMMITS])
    call("land.waits", "system", **mine, reason="a file is in the way")
    call("land.again", "system", **mine)
    take(shop)
    move(shop, id, COMMITS)


def move(shop: Shop, id: str, link: list[str]) -> None:
    mine = {"owner": OWNER, "ids": [id]}
    shop.stage.call("land.moving", "system", **mine, links=[link])
    shop.stage.call("land.done", "system", **mine)


def failed_work(stage: Stage) -> None:
    """One worker gives up; the change set of another does not land, is tried again and dropped."""
    shop, call = shop_of(stage), stage.call
    shop.call(shop.worker(), "fail", reason="The header has no grammar that could be parsed.")
    call("land.add", change=shop.done(shop.worker())["change"])
    take(shop)
    call("land.failed", "system", owner=OWNER, id="land-0001", reason="it conflicts")
    call("land.retry", id="land-0001")
    call("land.drop", id="land-0001")


def take(shop: Shop) -> None:
    shop.stage.call("land.take", "system", owner=OWNER, root=str(shop.root), branch="main")


SCENES: Mapping[str, Scene] = {
    "mail": Scene(mail),
    "mail to a kind": Scene(mail_to_a_kind, {"spawn__by_message": True}, survives="send"),
    "delivery": Scene(delivery, {"reach": {"eve": {"command": ["/bin/true"]}}}, survives="chase"),
    "tasks": Scene(tasks),
    "guard": Scene(guard),
    "turns": Scene(turns),
    "settings": Scene(settings),
    "evidence": Scene(evidence),
    "reserved task": Scene(reserved_task, survives="worker.started"),
    "crew": Scene(crew, survives="crew.step"),
    "lobby": Scene(lobby),
    "supervised": Scene(supervised),
    "worker": Scene(worker),
    "failed work": Scene(failed_work),
}
