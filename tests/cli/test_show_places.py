"""Every way a result is shown is found by the word it is shown as."""

from importlib import import_module

from rookery.front.cli import show


def test_what_a_module_shows_is_looked_for_there() -> None:
    for module in show.PLACES:
        shows = import_module(f"rookery.front.cli.{module}").SHOWS
        assert shows
        for word, way in shows.items():
            assert show._show(word) is way, (module, word)  # pyright: ignore[reportPrivateUsage]


def test_what_nobody_shows_is_told_plainly() -> None:
    assert "some" in show.text("nothing.known", {"some": 1}, 80, terminal=False)
