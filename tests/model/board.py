"""Leases as a person would explain them, in plain values: the model that the ledger is compared with."""

from dataclasses import dataclass, field

TTL_EXTENSIONS = 6
ATTEMPTS = 5


class No(Exception):
    """A refusal, by its code."""


@dataclass
class Job:
    id: str
    after: str = ""  # the one it waits for
    status: str = "pending"
    holder: str = ""
    session: int = 0
    epoch: int = 0
    until: int = 0
    ttl: int = 0
    renewed: int = 0
    attempts: int = 0
    why: str = ""


@dataclass
class Board:
    jobs: dict[str, Job]
    now: int = 0
    sessions: dict[str, int] = field(default_factory=dict[str, int])  # of each agent, the one it has now
    processes: dict[int, str] = field(default_factory=dict[int, str])  # running, stopped, dead; none when it ended
    lapses: int = 0

    def __post_init__(self) -> None:
        for job in self.jobs.values():
            job.status = self.opening(job)

    # -- agents ------------------------------------------------------------------------------------------------------

    def join(self, name: str, session: int) -> None:
        if self.processes.get(self.sessions.get(name, 0)) != "dead":
            self.processes.pop(self.sessions.get(name, 0), None)
        self.sessions[name] = session
        self.processes[session] = "running"

    def beat(self, name: str) -> None:
        """Whatever a session does renews what it holds, once half its time is over."""
        for job in self.jobs.values():
            mine = job.holder == name and job.session == self.sessions[name] and self.is_live(job)
            if mine and job.until < self.now + job.ttl // 2:
                job.until, job.renewed = self.now + job.ttl, self.now

    # -- looking -----------------------------------------------------------------------------------------------------

    def is_live(self, job: Job) -> bool:
        return job.status == "in_progress" and job.until > self.now

    def seen(self, job: Job) -> str:
        return "pending" if job.status == "in_progress" and not self.is_live(job) else job.status

    def opening(self, job: Job) -> str:
        return "blocked" if job.why or (job.after and self.jobs[job.after].status != "completed") else "pending"

    def ready(self) -> list[Job]:
        """The longest chain first, then the oldest."""
        free = [job for job in self.jobs.values() if job.status == "pending"]
        return sorted(free, key=lambda job: (not any(other.after == job.id for other in self.jobs.values()), job.id))

    # -- lapsing -----------------------------------------------------------------------------------------------------

    def extend(self, job: Job) -> bool:
        limit = job.renewed + TTL_EXTENSIONS * job.ttl
        if self.processes.get(job.session) != "running" or self.now >= limit:
            return False
        job.until = min(self.now + job.ttl, limit)
        return True

    def is_dead(self, job: Job) -> bool:
        """Its holder's process; of a session that ended, that of the session after it."""
        return self.processes.get(job.session, self.processes.get(self.sessions.get(job.holder, 0))) == "dead"

    def settle(self, job: Job) -> None:
        dead = self.is_dead(job)
        if job.status != "in_progress" or (self.is_live(job) and not dead) or (not dead and self.extend(job)):
            return
        job.until = min(job.until, self.now)
        job.why = "given up" if job.attempts >= ATTEMPTS else ""
        job.status = self.opening(job)
        self.lapses += 1

    def settle_all(self) -> None:
        for job in self.jobs.values():
            self.settle(job)

    # -- claiming ----------------------------------------------------------------------------------------------------

    def claim(self, name: str, job: Job, ttl: int) -> int:
        self.settle(job)
        if job.status != "pending":
            raise No("TASK_NOT_CLAIMABLE")
        job.status, job.holder, job.session = "in_progress", name, self.sessions[name]
        job.until, job.ttl, job.renewed = self.now + ttl, ttl, self.now
        job.epoch += 1
        job.attempts += 1
        return job.epoch

    def claim_next(self, name: str, ttl: int) -> str | None:
        for job in self.jobs.values():
            if not self.is_live(job):
                self.settle(job)
        if not self.ready():
            self.settle_all()
        if not self.ready():
            return None
        job = self.ready()[0]
        self.claim(name, job, ttl)
        return job.id

    # -- under a lease -----------------------------------------------------------------------------------------------

    def fence(self, name: str, job: Job, epoch: int | None) -> None:
        if epoch is None:
            another = job.holder == name and job.session != self.sessions[name]
            epoch = job.epoch - 1 if another else job.epoch
        before = job.until
        if job.holder == name and job.status == "in_progress" and not self.is_live(job):
            self.extend(job)
        refusal = self._refusal(name, job, epoch)
        if refusal:
            job.until = before
            raise No(refusal)

    def _refusal(self, name: str, job: Job, epoch: int) -> str:
        if job.holder and job.until <= self.now:
            return "LEASE_EXPIRED"
        if job.status != "in_progress":
            return "TASK_NOT_IN_PROGRESS"
        if job.holder != name:
            return "LEASE_HOLDER_MISMATCH"
        return "EPOCH_MISMATCH" if job.epoch != epoch else ""

    def renew(self, name: str, job: Job, epoch: int | None) -> None:
        self.fence(name, job, epoch)
        job.until, job.renewed = self.now + job.ttl, self.now

    def end(self, name: str, job: Job, epoch: int | None, status: str, why: str = "") -> None:
        self.fence(name, job, epoch)
        if status == "failed" and job.attempts >= ATTEMPTS:
            status = "blocked"
        job.status, job.why, job.holder, job.until = status, why, "", 0
        if status == "completed":
            for other in self.jobs.values():
                if other.after == job.id and other.status == "blocked":
                    other.status = self.opening(other)

    def release(self, name: str, job: Job, epoch: int | None) -> None:
        self.fence(name, job, epoch)
        self.move(job, attempts=max(0, job.attempts - 1))

    # -- the owner's hand --------------------------------------------------------------------------------------------

    def move(self, job: Job, attempts: int) -> None:
        job.why, job.holder, job.until, job.attempts = "", "", 0, attempts
        job.epoch += 1
        job.status = self.opening(job)

    def unblock(self, job: Job) -> None:
        if job.status != "blocked" or not job.why:
            raise No("NOT_BLOCKED")
        self.move(job, attempts=0)

    def reset(self, job: Job) -> None:
        job.status = "pending"
        self.move(job, attempts=0)
        for other in self.jobs.values():
            if other.after == job.id and other.status == "pending":
                other.status = "blocked"
