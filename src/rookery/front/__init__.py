"""The doors: parse, call, render. Nothing is decided here."""
