"""Products describe themselves, and are found through entry points of installed packages."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.products import installed, module_of, write_product

from stepwell.errors import ConfigurationError
from stepwell.products import Demo, Product, check_products, installed_products, load_place, payable_graphs

OURS = ["connections", "payments", "research", "tutor", "workspace", "demo"]


def test_ours_are_installed_and_the_demos_come_last():
    assert [product.name for product in installed_products()] == OURS
    assert set(payable_graphs()) == {"deep_research", "deeptutor", "seminar_agent", "simple_agent"}


def test_every_place_that_a_product_names_is_there():
    for product in installed_products():
        places = [*product.graphs.values(), *(demo.place for demo in product.demos.values())]
        places += [chat.place for chat in product.chats.values()]
        places += [place for place in (product.tables, product.service, product.routes, product.commands) if place]
        for place in places:
            assert load_place(place) is not None, place
        assert set(product.payable) <= set(product.graphs)


def test_a_product_of_somebody_else_comes_after_ours(tmp_path: Path):
    with installed(write_product(tmp_path, "another", ["CREATE TABLE another (thread_id TEXT);"])):
        assert [product.name for product in installed_products()] == [
            "connections",
            "payments",
            "research",
            "tutor",
            "workspace",
            "another",
            "demo",
        ]
    assert [product.name for product in installed_products()] == OURS


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            "import no_such_module",
            "'another' of the package 'another_.*' cannot be loaded: ModuleNotFoundError: No module named",
        ),
        ("PRODUCT = 3", "must be a stepwell.products.Product with the name 'another'; '.*' is int"),
        ("from stepwell.products import Product\nPRODUCT = Product('other')", "is one named 'other'"),
    ],
)
def test_a_product_that_cannot_be_used_is_named(tmp_path: Path, source: str, told: str):
    folder = write_product(tmp_path, "another", [])
    module_of(folder).write_text(source)
    with installed(folder), pytest.raises(ConfigurationError, match=told):
        installed_products()


def test_two_products_with_one_graph_are_refused():
    one = Product("one", graphs={"helper": "one:make"})
    two = Product("two", demos={"helper": Demo("two:make", "Helps.")})
    with pytest.raises(ConfigurationError, match="'one' and 'two' both bring graph 'helper'"):
        check_products((one, two))
