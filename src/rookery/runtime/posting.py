"""A signed request to an address of the user's choice. No redirect is followed, no proxy asked, no answer read."""

import hashlib
import hmac
import http.client
import os
import secrets
import time
from urllib.parse import urlsplit

from rookery.core.text import quoted

SIGNATURE, STAMP = "X-Rookery-Signature", "X-Rookery-Timestamp"
SECRET_BYTES = 32


def signature(secret: bytes, stamp: str, body: bytes) -> str:
    """Of the time and the body: an old request can not be passed for a new one."""
    return "sha256=" + hmac.new(secret, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def post(url: str, body: bytes, secret: bytes, limit_s: float) -> str:
    """ "" if it was taken (2xx), otherwise why not."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return f"{quoted(url)} is no address for a webhook"
    make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = make(parts.hostname, parts.port, timeout=limit_s)
    stamp = str(int(time.time()))
    headers = {"Content-Type": "application/json", STAMP: stamp, SIGNATURE: signature(secret, stamp, body)}
    try:
        connection.request("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, headers)
        status = connection.getresponse().status
    except (http.client.HTTPException, OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    return "" if 200 <= status < 300 else f"answered {status}"


def secret_of(path: str) -> bytes:
    """The secret in a private file, made when it is first needed."""
    try:
        with open(path, "rb") as file:
            return file.read(4096).strip()
    except FileNotFoundError:
        made = secrets.token_hex(SECRET_BYTES).encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(made + b"\n")
    return made
