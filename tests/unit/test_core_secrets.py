"""Secrets are taken out of text, and text that only looks or sounds like one stays. No secret is written here: each is
put together from pieces when the test runs."""

import base64
import json
import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import secrets, tokens
from rookery.core.caller import Role

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ALNUM = LETTERS + "0123456789"
dice = Random(12)


def chance(length: int, alphabet: str = ALNUM) -> str:
    return "".join(dice.choice(alphabet) for _ in range(length - 2)) + "a7"


def upper(length: int) -> str:
    return chance(length).upper()


def b64(value: str) -> str:
    return base64.urlsafe_b64encode(value.encode()).decode().rstrip("=")


JWT = ".".join((b64(json.dumps({"alg": "HS256"})), b64(json.dumps({"sub": "1234567890"})), chance(43)))
BODY = "\n".join(chance(64, ALNUM + "+/") for _ in range(5))


def pem(kind: str, end: bool = True, body: str = BODY) -> str:
    dashes = "-" * 5
    last = f"\n{dashes}END {kind}{dashes}" if end else ""
    return f"{dashes}BEGIN {kind}{dashes}\n{body}{last}"


# By name: what is to be gone. Each stands by itself.
FORMS = {
    "aws": "AK" + "IA" + upper(16),
    "aws session": "AS" + "IA" + upper(16),
    "github": "gh" + "p_" + chance(36),
    "github app": "gh" + "s_" + chance(36),
    "github fine-grained": "github" + "_pat_" + chance(22) + "_" + chance(59),
    "gitlab": "gl" + "pat-" + chance(20),
    "slack": "xo" + "xb-" + "123456789012-" + chance(24),
    "slack app": "xa" + "pp-1-" + chance(40),
    "anthropic": "sk-" + "ant-api03-" + chance(80, ALNUM + "_-"),
    "openai": "sk-" + chance(48),
    "openai project": "sk-" + "proj-" + chance(60, ALNUM + "_-"),
    "google": "AI" + "za" + chance(35, ALNUM + "_-"),
    "google oauth": "ya" + "29." + chance(60),
    "stripe": "sk" + "_live_" + chance(24),
    "stripe test": "rk" + "_test_" + chance(24),
    "stripe webhook": "wh" + "sec_" + chance(32),
    "npm": "np" + "m_" + chance(36),
    "pypi": "py" + "pi-" + "AgEIcHlwaS5vcmc" + chance(90, ALNUM + "_-"),
    "jwt": JWT,
    "agent": tokens.written(Role.AGENT, Random(1).getrandbits(256)),
    "reader": tokens.written(Role.VIEWER, Random(2).getrandbits(256)),
}
PLACES = ("{}", "key is {} .", "export X='{}'", '{{"a": "{}"}}', "https://x.example/?k={}&b=1", "a\n{}\nb", "({}),")


@pytest.mark.parametrize("name", FORMS)
def test_a_key_goes_wherever_it_stands(name: str) -> None:
    for place in PLACES:
        whole = place.format(FORMS[name])
        told, count = secrets.redacted(whole)
        assert count >= 1, whole
        assert FORMS[name][12:] not in told
        assert secrets.MARK in told
        assert secrets.redacted(told) == (told, 0), "done again it changes nothing"


@pytest.mark.parametrize("kind", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY",
                                  "PGP PRIVATE KEY BLOCK"])  # fmt: skip
def test_private_keys(kind: str) -> None:
    headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n"
    for whole in (pem(kind), pem(kind, body=headers + BODY), pem(kind).replace("\n", "\\n"), pem(kind, end=False)):
        told, count = secrets.redacted(f"before\n{whole}\nafter, a line of prose")
        assert count == 1
        assert not any(line in told for line in BODY.split("\n"))
        assert told.startswith("before\n")
        assert told.endswith("after, a line of prose")


# What is given to a name: (text, what goes).
VALUE = "hunter2" + "Zq9"
WORD = "correcthorse"
GIVEN = [
    (f"password={VALUE}", VALUE), (f"password = {VALUE}", VALUE), (f"Password: {VALUE}", VALUE),
    (f"PGPASSWORD={WORD}", WORD),
    (f"DB_PASSWORD={WORD}", WORD), (f"export API_TOKEN={WORD} && run", WORD), (f"--password={VALUE} --x", VALUE),
    (f"password: {WORD}", WORD), (f"db:\n  password: {WORD}\n  user: x", WORD), (f'password = "{WORD}"', WORD),
    (f"'token': '{WORD}'", WORD), (json.dumps({"apiKey": WORD}), WORD), (json.dumps({"api_key": WORD}), WORD),
    (json.dumps({"client_secret": "two words here"}), "two words here"),
    (json.dumps(json.dumps({"token": WORD})), WORD),
    (f"aws_secret_access_key = {chance(40, ALNUM + '/+')}", "7"), (f"curl -d 'user=a&password={WORD}&x=1'", WORD),
    (f"x-api-key: {VALUE}", VALUE), (f"secret: {VALUE}", VALUE), (f"token: {chance(24)}", "a7"),
    (f"os.environ['TOKEN'] = '{WORD}'", WORD), (f'passphrase => "{WORD}"', WORD),
    (f"AccountKey={chance(40)}==;", "a7"),
    (f"Authorization: Bearer {chance(30)}", "a7"),
    (f'"Authorization": "Basic {b64("user:" + VALUE)}"', b64("user:" + VALUE)),
    (f"-H 'authorization: token {chance(20)}'", "a7"), (f"used Bearer {chance(24)} there", "a7"),
    (f"postgres://me:{VALUE}@db/x", VALUE), (f"https://:{VALUE}@host", VALUE), (f"redis://u:p@{WORD}@h:1/0", WORD),
    ("https://hooks.slack.com" + "/services/" + "T0" + upper(8) + "/B0" + upper(8) + "/" + chance(24), "a7"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "gone"), GIVEN)
def test_what_is_given_to_a_name_goes(text: str, gone: str) -> None:
    told, count = secrets.redacted(text)
    assert count == 1, told
    assert gone not in told
    assert secrets.redacted(told) == (told, 0)


def test_the_rest_stays_as_it_was() -> None:
    assert secrets.redacted(f"a\npassword={VALUE}, b") == (f"a\npassword={secrets.MARK}, b", 1)
    assert secrets.redacted(json.dumps({"token": WORD, "n": 1})) == (json.dumps({"token": secrets.MARK, "n": 1}), 1)
    assert secrets.redacted(f"git://me:{VALUE}@h/x") == (f"git://me:{secrets.MARK}@h/x", 1)


HARMLESS = [
    "commit 3f786850e387550fdab836ed7e6dc881de23001b\n", "b1946ac92492d2347c6235b4d2611184  file",
    "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "sha256:" + "0123456789abcdef" * 4, "task-0001 w3/2 e3 MSG-01h2xcejqtf2",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    "The password must have at least 12 characters.", "password: must be at least 8 characters long",
    "Your token: a string that you keep to yourself", "passwords, tokens and secrets are taken out",
    "Forgot password?",
    "a bearer token is needed", "Bearer tokens expire", "basic authentication", "basic responsibilities",
    "max_tokens=4096", "tokens: 1234 in, 5678 out", '"input_tokens": 1520', "token_type: bearer", "total tokens = 12",
    "token = lexer.next()", "token = self.token", "password = getpass.getpass()", "password: str", "token: Token",
    "def login(user, password=None):", "token=token", "login(password=password)", "secret = os.environ['SECRET']",
    "password=$PASSWORD", "password=${DB_PASSWORD}", "TOKEN=$(cat file)", "password: <your password>",
    "token: {{ token }}",
    'api_key="${API_KEY}"', "PASSWORD=", 'password=""', "password=****", "password: null", 'if token == "":',
    "postgres://me:$PASSWORD@db/x", "http://localhost:8080/a@b", "https://example.com:443/", "ssh://git@host:22/x",
    "task-force sk-learn risk-averse-and-other-long-words-with-dashes", "Authorization: required",
    "the secret: patience",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "secret sauce = ketchup", "npm_config_registry",
    "interface A { token: string; password?: string }", "eyJ is how a JSON object begins in base64",
    "for token in tokens:\n    print(token)", "class Token: ...", "token := scanner.Scan()", "pypi-publish",
    "ghp_ is a prefix",
]  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays(text: str) -> None:
    assert secrets.redacted(text) == (text, 0)


def test_control_the_corpus_is_told_apart() -> None:
    """The same words with a value in them: a redactor that does nothing, or everything, fails here or above."""
    assert secrets.redacted(f"password: {VALUE}")[1] == 1
    assert secrets.redacted("password: must be at least 8 characters long")[1] == 0


@given(st.text(alphabet="ab7AK-_.:=@/\"'\\\n eyJsk", max_size=400))
def test_done_again_it_changes_nothing(text: str) -> None:
    told, _ = secrets.redacted(text)
    assert secrets.redacted(told)[0] == told


# Beginnings of patterns, over and over: where one of them is tried at every place and reads on from there, the time
# grows with the square of the length.
BEGIN = "-" * 5 + "BEGIN PRIVATE KEY" + "-" * 5
HOSTILE = ["eyJ", "eyJaaaaaaaa.", "password=\"", "password=", "token: ", BEGIN, "sk-ant-", "://a:b", "://",
           "://:", "a:", "authorization: ", "bearer ", "\\\"", f"{BEGIN}\n{'A' * 16}\n",
           "xoxb-", "github_pat_", "=", " ", "-", "hooks.slack.com/services/", "glpat-" + "a" * 16 + ".",
           "token\\\\\\",
           "AKIA", "password" + " " * 7]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_text(piece: str) -> None:
    """32 times the text takes about 32 times as long, not 1,024 times; the best of some tries is compared."""

    def best(size: int) -> float:
        text = piece * (size // len(piece)) + " password eyJ sk- :// bearer"
        return min(taken(text) for _ in range(5))

    best(1000)  # patterns are compiled once
    assert best(96_000) < 200 * best(3_000)


def taken(text: str) -> float:
    begun = time.process_time()
    secrets.redacted(text)
    return time.process_time() - begun


@pytest.mark.slow
def test_control_the_measure_finds_a_square(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_FORMS", ((("eyJ",), r"eyJ[A-Za-z0-9_-]{8,}+\."),))  # begun anew inside of a run
    small, large = "eyJ" * 300, "eyJ" * 9_600
    taken(small)
    assert min(taken(large) for _ in range(2)) > 200 * min(taken(small) for _ in range(5))


@pytest.mark.slow
def test_megabytes_of_everything() -> None:
    text = "".join(Random(3).choice(HOSTILE) for _ in range(400_000))
    small = text[: len(text) // 8]
    taken(small[:1000])
    assert taken(text) < 40 * min(taken(small) for _ in range(3))
