"""Which statements of a caller about its machine are believed.

Our own code on this machine reads place, host and process from the kernel: `app.House.caller` builds such a caller, and
its host is the host of the store's machine. A request over HTTP can claim anything. So a front end for HTTP passes the
caller through `strip_to_name` (agent's and reader's tokens) or `mark_remote` (the daemon's own token) first, and a verb
that would act on this machine asks `is_local`.
"""

from rookery.core.caller import Caller

REMOTE = "http:"  # before the host that a caller over HTTP claims: no machine has such a name


def strip_to_name(caller: Caller) -> Caller:
    """Keep the agent and the session. A token decides whether the caller may use them."""
    return Caller(agent=caller.agent, session=caller.session)


def mark_remote(caller: Caller) -> Caller:
    """Keep process and host as labels that recognise the caller again; drop the working tree.

    A session that joins with these labels is never local, so it lives by its heartbeat lease and no pid is looked up.
    """
    return caller._replace(host=f"{REMOTE}{caller.host}", tree="")


def is_local(caller: Caller, host: str) -> bool:
    """Did code of this machine observe where the caller is? A token that comes with a request observes nothing."""
    return (caller.grant is None or caller.origin is not None) and bool(host) and caller.host == host
