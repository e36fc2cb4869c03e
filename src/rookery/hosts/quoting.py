"""A text in the notation of a settings file."""


def toml(text: str) -> str:
    """A basic string: JSON writes it the same way, but for DEL."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
