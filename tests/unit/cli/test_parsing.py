"""What the command line says about a slip: the nearest spelling, in the words of the command that was meant."""

from __future__ import annotations

import pytest

from stepwell.cli import main


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["serv"], "stepwell: argument COMMAND: there is no 'serv'. Did you mean 'serve'?"),
        (["reserch", "x"], "stepwell: argument COMMAND: there is no 'reserch'. Did you mean 'research'?"),
        (
            ["init", "x", "--template", "reserch"],
            "stepwell init: argument --template: there is no 'reserch'. Did you mean 'research'?",
        ),
        (["doctor", "--onlin3"], "stepwell doctor: Unknown option '--onlin3'. Did you mean '--online'?"),
        (["serve", "--prot", "1"], "stepwell serve: Unknown option '--prot'. Did you mean '--port'?"),
        (["serve", "--prot=1"], "stepwell serve: Unknown option '--prot=1'. Did you mean '--port'?"),
        (["chat", "tutr"], "stepwell chat: argument APP: there is no 'tutr'. Did you mean 'tutor'?"),
        (["db", "mov"], "stepwell db: argument ACTION: there is no 'mov'. Did you mean 'move'?"),
        (["doctor", "now"], "stepwell doctor: Unknown argument 'now'."),
        (
            ["models", "zzz"],
            "stepwell models: argument ACTION: there is no 'zzz'. Choose from: list, use, test, judge, pull, load, remove.",
        ),
    ],
)
def test_a_slip_is_answered_with_the_nearest_spelling(given: list[str], said: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        main(given)
    told = capsys.readouterr().err.splitlines()
    assert (left.value.code, told[0]) == (2, said)
    assert told[1] == f"See `{said.partition(':')[0]} --help`."
