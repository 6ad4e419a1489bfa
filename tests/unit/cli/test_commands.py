"""How the command line collects the commands of products."""

from __future__ import annotations

import argparse

import pytest

from stepwell.cli import make_parser
from stepwell.errors import ConfigurationError
from stepwell.products import Product, installed_products
from stepwell.terminal.commands import Commands, whole_number

HERE = __name__


def add_greeting(commands: Commands) -> None:
    parser = commands.add_parser("greet", aliases=["hail"])
    parser.add_argument("name")
    parser.set_defaults(run=lambda arguments: len(arguments.name))


def add_serve(commands: Commands) -> None:
    commands.add_parser("serve")


def add_alias(commands: Commands) -> None:
    commands.add_parser("welcome", aliases=["hail"])


def add_badly(commands: Commands) -> None:
    commands.add_parser("greet", no_such_option=True)


GREETING = Product("greeting", commands=f"{HERE}:add_greeting")


@pytest.mark.parametrize("name", ["greet", "hail"])
def test_a_product_brings_a_command_and_its_function_runs(name: str):
    arguments = make_parser([*installed_products(), GREETING]).parse_args([name, "Ada"])
    assert arguments.run(arguments) == 3


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            Product("manners", commands=f"{HERE}:add_greeting"),
            "The command 'greet' is brought by both the product 'greeting' and the product 'manners'. "
            "Uninstall the product 'greeting' or the product 'manners'.",
        ),
        (
            Product("manners", commands=f"{HERE}:add_alias"),
            "The command 'hail' is brought by both the product 'greeting' and the product 'manners'. "
            "Uninstall the product 'greeting' or the product 'manners'.",
        ),
        (
            Product("kitchen", commands=f"{HERE}:add_serve"),
            "The command 'serve' is brought by both the product 'kitchen' and Stepwell itself. Uninstall the product 'kitchen'.",
        ),
    ],
)
def test_a_name_that_is_taken_is_refused_with_both_owners(other: Product, said: str):
    with pytest.raises(ConfigurationError) as refused:
        make_parser([GREETING, other])
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("place", "why"),
    [("nowhere.at_all:add", "ModuleNotFoundError"), (f"{HERE}:nothing", "AttributeError"), (f"{HERE}:add_badly", "TypeError")],
)
def test_commands_that_cannot_be_loaded_are_refused_with_the_product(place: str, why: str):
    with pytest.raises(
        ConfigurationError, match=rf"The commands of the product 'broken' cannot be (loaded|added): {why}: .* uninstall"
    ):
        make_parser([Product("broken", commands=place)])


def test_every_command_has_a_function():
    parser = make_parser(installed_products())
    (commands,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    assert [name for name, command in commands.choices.items() if not callable(command.get_default("run"))] == []


@pytest.mark.parametrize("text", ["0", "8", "1.5", "-1", "x", "", "٣", "9" * 5000])
def test_a_number_outside_its_range_is_refused(text: str):
    with pytest.raises(argparse.ArgumentTypeError, match=r"^a whole number of days from 1 to 7$"):
        whole_number(1, 7, "days")(text)
    assert whole_number(1, 7)("7") == 7
