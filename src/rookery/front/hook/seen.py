"""What is known of a hook so far: if its decision fails, the answer is made of this."""

from rookery.core.hooks import Event, Moment
from rookery.front.cli.call import Desk
from rookery.hosts.profile import Profile


class Seen:
    def __init__(self, closed: bool = False) -> None:
        self.closed = closed  # installed with --closed
        self.host: Profile | None = None
        self.moment: Moment | None = None  # as the command line says
        self.event: Event | None = None
        self.desk: Desk | None = None  # where the event says the agent is, if that is elsewhere
