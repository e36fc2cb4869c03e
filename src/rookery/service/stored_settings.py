"""Settings that live in the store, for all its teams: no file, variable or flag changes them."""

from typing import Annotated, Any

from rookery.core import authority, errors, names, text

from .tx import Tx
from .verbs import Arg

VALUES = {authority.TERMINAL_RULE: (authority.ON, authority.OFF)}


def put(
    tx: Tx,
    name: Annotated[str, Arg("the setting", positional=True, choices=tuple(VALUES), metavar="NAME")],
    value: Annotated[str, Arg("its new value", positional=True, metavar="VALUE")],
) -> dict[str, Any]:
    if name not in VALUES:
        hint = names.did_you_mean(name, VALUES) or f"One of: {', '.join(VALUES)}. Others are in your config.toml."
        raise errors.BadInput(f"{text.quoted(name)} is not kept in the store.", hint, code="UNKNOWN_SETTING")
    if value not in VALUES[name]:
        raise errors.BadInput(f"{name} is not {text.quoted(value)}.", f"One of: {', '.join(VALUES[name])}.",
                              code="BAD_SETTING")  # fmt: skip
    tx.run("store_put_setting", name=name, value=value)
    tx.event("config.set", tx.me()["name"], ref=name, preview=f"{name} = {value}")
    tx.beat()
    return {"name": name, "value": value}
