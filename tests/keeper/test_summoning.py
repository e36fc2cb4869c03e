"""A letter to nobody who is there starts a real process, which answers it; and so does the next one."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.panes import until
from tests.support.supervised import site

# What an agent program would do: it reads its mail, answers what it was asked, and reports.
READER = """\
#!/bin/sh
cat >/dev/null
ids='import json, sys; [print(each["id"]) for each in json.load(sys.stdin)["messages"]]'
for id in $({rook} inbox --json | {python} -c "$ids")
do {rook} reply "$id" -m "It is in src/parser.py."; done
{rook} done --outcome findings --test 'pytest -q: 3 passed' -m 'The parser is in src/parser.py, its only module.'
"""
KIND = """\
---
name: librarian
host: claude
on_mail: true
read_only: true
---
Know where things are.
"""


@pytest.mark.slow
def test_a_letter_starts_its_reader_and_the_next_one_starts_it_anew(tmp_path: Path) -> None:
    rook = Path(sys.executable).with_name("rook")
    (tmp_path / "claude").write_text(READER.format(rook=rook, python=sys.executable))
    (tmp_path / "claude").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    with site(ROOK_SPAWN_BY_MESSAGE="true", ROOK_WORKER_BACKEND="headless") as here, here.up(PATH=path):
        here.call(
            "kind.add", written="---\nname: librarian\nhost: claude\non_mail: true\nread_only: true\n---\nKnow.\n"
        )

        def answered(to: str, subject: str) -> dict[str, Any]:
            sent = here.call("send", to=[to], subject=subject)
            until(lambda: f"Re: {subject}" in [each["subject"] for each in here.call("inbox")["messages"]], here.log)
            return sent

        sent = answered("librarian", "Where is the parser?")
        assert [each["id"] for each in sent["spawned"]] == ["w1"]
        here.becomes("ended")
        here.call("verdict", subject="w1/1", action="accept")
        again = answered(sent["recipients"][0]["name"], "And where are its tests?")
        assert again["spawned"] == sent["spawned"]
        here.becomes("ended")
        assert [each["state"] for each in here.call("workers", all=True)["workers"]] == ["ended"]
        assert len(here.card()["runs"]) == 2
