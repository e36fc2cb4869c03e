"""Who may write into a conversation: whoever takes part in it."""

import pytest

from rookery.core import errors
from tests.support.stage import Build


@pytest.mark.parametrize("by", ["thread", "reply_to"])
def test_nobody_writes_into_a_conversation_of_others_to_read_it(build: Build, by: str) -> None:
    stage = build()
    for name in ("ada", "bob", "eve"):
        stage.join(name)
    id = stage.call("send", "ada", to=["bob"], subject="plan", body="secret")["id"]
    with pytest.raises(errors.NotYours):
        stage.call("send", "eve", to=["eve"], subject="x", body="y", **{by: id})
    with pytest.raises(errors.NotYours):
        stage.call("broadcast", "eve", subject="x", body="y", **{by: id})
    with pytest.raises(errors.NotYours):
        stage.call("thread", "eve", id=id)
    assert stage.call("send", "bob", to=["ada"], subject="x", body="y", **{by: id})["thread"] == id
