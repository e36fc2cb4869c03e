"""What can be answered instead of a result: few classes, each with a code, a sentence and what to do next.

    RookError
    ├── BadInput            the call itself is wrong                   exit 2, HTTP 422
    │   └── TooLarge        more than a limit allows                   exit 2, HTTP 413
    ├── Refused             a rule said no                             exit 1, HTTP 409
    │   ├── UnknownName     no such agent, message, group ...          exit 1, HTTP 404
    │   ├── NameTaken       someone else lives under that name         exit 1, HTTP 409
    │   ├── SessionFenced   this session was taken over                exit 1, HTTP 403
    │   ├── NotYours        it belongs to someone else                 exit 1, HTTP 403
    │   ├── LeaseLost       the lease lapsed or is someone else's      exit 1, HTTP 403
    │   ├── BudgetSpent     no messages or tokens left                 exit 1, HTTP 429
    │   └── CursorTooOld    the log no longer reaches back that far    exit 1, HTTP 409
    ├── Unreachable         the store did not answer                   exit 3, HTTP 503
    │   ├── StoreBusy       other writers held it past the deadline
    │   ├── StoreFull       the disk is full
    │   ├── StoreReadOnly   it may not be written
    │   ├── StoreCorrupt    it is damaged; nothing was changed
    │   └── StoreUnusable   wrong version, wrong owner, a symlink ...
    └── ForkedHandle        a handle was used after fork

Agents read these too, so `hint` names the next command to try.
"""

from typing import Any


class RookError(Exception):
    code = "ERROR"
    exit_code = 1
    http_status = 500

    def __init__(self, message: str, hint: str = "", *, code: str = "", http: int = 0, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or type(self).code
        self.http_status = http or type(self).http_status
        self.facts = facts

    def as_dict(self) -> dict[str, Any]:
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.hint:
            body["hint"] = self.hint
        return {"error": body | self.facts}


class BadInput(RookError):
    code = "BAD_INPUT"
    exit_code = 2
    http_status = 422


class TooLarge(BadInput):
    code = "TOO_LARGE"
    http_status = 413


class Refused(RookError):
    code = "REFUSED"
    http_status = 409


class UnknownName(Refused):
    code = "UNKNOWN_NAME"
    http_status = 404


class NameTaken(Refused):
    code = "NAME_TAKEN"


class SessionFenced(Refused):
    code = "SESSION_FENCED"
    http_status = 403


class NotYours(Refused):
    code = "NOT_YOURS"
    http_status = 403


class LeaseLost(Refused):
    code = "LEASE_EXPIRED"
    http_status = 403


class BudgetSpent(Refused):
    code = "BUDGET_SPENT"
    http_status = 429


class CursorTooOld(Refused):
    code = "CURSOR_TOO_OLD"


class Unreachable(RookError):
    code = "UNREACHABLE"
    exit_code = 3
    http_status = 503


class StoreBusy(Unreachable):
    code = "STORE_BUSY"


class StoreFull(Unreachable):
    code = "STORE_FULL"


class StoreReadOnly(Unreachable):
    code = "STORE_READ_ONLY"


class StoreCorrupt(Unreachable):
    code = "STORE_CORRUPT"


class StoreUnusable(Unreachable):
    code = "STORE_UNUSABLE"


class ForkedHandle(RookError):
    code = "FORKED_HANDLE"
    exit_code = 2
