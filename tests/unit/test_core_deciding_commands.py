"""Commands in which an agent would decide for the user are found before they run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core import deciding_commands

DECIDES = [
    "rook --as user verdict w1/1 promote", "rook verdict w1/1 promote", "ROOK_AGENT=user rook answer q1 --approve",
    "rook rule add mine --path '**'", "cd x && rook team set --leader me", "rook --json --as=user inbox",
    "\"rook\" 'verdict' w1/1 promote", "python3 -m rookery --as user rule add x",
    "sh -c \"rook token new --role operator\"",
    "env -i setsid rook config set authority.terminal off", "echo 'rook --as user verdict w1/1 promote' | sh",
    "bash <<EOF\nrook land add change-1\nEOF", "/usr/local/bin/rook budget set --max-tokens 5", "rook trust --yes",
    "rook --team t kinds add k.md", "eval rook rule add x",
    # windows of the user's own multiplexer
    "tmux new-window 'rook verdict w1/1 promote'", "tmux send-keys -t 0 'rook answer q-1 --approve' Enter",
    "screen -dm rook verdict w1/1 accept", "tmux split-window -d \"rook task review task-1 SHIP\"",
    "systemd-run --user rook verdict w1/1 accept", "ssh localhost rook answer q1 --approve",
    "script -qc 'rook verdict w2/1 accept' /dev/null",
]  # fmt: skip
HARMLESS = [
    "rook done -m x", "rook inbox", "rook verdict w2/1 accept", "rook answer q1 yes", "rook task review task-1 SHIP",
    "grep -rn 'rook verdict' docs", "git commit -m 'docs: rook verdict w1/1 promote'", "rook task list",
    "cat > d.md <<'EOF'\nrook verdict w1/1 promote\nEOF", "tmux new -d 'npm run dev'", "rook rule list",
    "rook send user -s hi -m 'the rule'", "echo rook verdict w1 promote", "rook task add 'rule add'",
    "ls rook; make test", "rook config", "rook land list", "tmux ls", "rook token list", "cargo build -p rook",
]  # fmt: skip


@pytest.mark.parametrize("command", DECIDES)
def test_h42_a_command_that_decides_is_found(command: str) -> None:
    found = deciding_commands.find(command)
    assert found
    assert "rook escalate" in deciding_commands.denial(found)


@pytest.mark.parametrize("command", HARMLESS)
def test_other_commands_are_let_through(command: str) -> None:
    assert deciding_commands.find(command) == ""


@given(st.text(max_size=200))
def test_whatever_is_typed_is_answered(text: str) -> None:
    deciding_commands.find(text)
    deciding_commands.find(f"rook {text}")


def test_padding_costs_no_more_than_its_length() -> None:
    assert deciding_commands.find("x <<A\n" * 20_000 + "rook verdict w1/1 promote") == "", "only its beginning is read"
    assert deciding_commands.find("#" * 60_000 + "\nrook verdict w1/1 promote")
