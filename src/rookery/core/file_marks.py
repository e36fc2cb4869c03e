"""A file in a word: what the file system tells of it and, where it was read, a hash of its content.

MTIME.SIZE.INODE.CTIME            it was not read
MTIME.SIZE.INODE.CTIME:HASH       it was
"""


def mark(looks: str, digest: str = "") -> str:
    return f"{looks}:{digest}" if digest else looks


def differs(before: str | None, after: str | None) -> bool:
    """Was the file changed, made or removed between two looks? The content decides where both looks read it: a file
    that was touched, or written anew as it was, has not changed."""
    if before is None or after is None:
        return before is not after
    looks, _, digest = before.partition(":")
    looks_after, _, digest_after = after.partition(":")
    return digest != digest_after if digest and digest_after else looks != looks_after
