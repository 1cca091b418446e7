"""The pages that are written by a script are what it writes, and hold what they must."""

from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING

import pytest

from muster_core.instances import NetworkCard, lookup, names, nics
from muster_core.rules import catalogue, docs_anchor

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

STALE = "run: python scripts/write_pages.py"


@pytest.fixture(scope="module")
def script(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_pages", repository / "scripts" / "write_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_rules_is_the_script_s(repository: Path, script: ModuleType) -> None:
    assert (repository / "docs" / "rules.md").read_text(encoding="utf-8") == script.rules_page(), STALE


def test_the_page_of_instance_types_is_the_script_s(repository: Path, script: ModuleType) -> None:
    page = (repository / "docs" / "instances.md").read_text(encoding="utf-8")
    assert page == script.instances_page(page), STALE


def test_the_page_of_warnings_is_the_script_s(repository: Path, script: ModuleType) -> None:
    assert (repository / "docs" / "warnings.md").read_text(encoding="utf-8") == script.warnings_page(), STALE
    found = [name for name, _ in script.warnings()]
    assert len(found) == len(set(found))
    assert all(re.fullmatch(r"muster-cdk:[a-z][A-Za-z]+", name) for name in found)


def test_a_warning_whose_text_is_made_elsewhere_is_refused(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "CONSTRUCTS", tmp_path)
    (tmp_path / "a.py").write_text(
        'x.add_warning_v2("muster-cdk:a", f"got {b}; change it")\n', encoding="utf-8"
    )
    assert list(script.warnings()) == [("muster-cdk:a", "got ...; change it")]
    (tmp_path / "a.py").write_text('x.add_warning_v2("muster-cdk:a", text)\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"^a warning's id and text stand where it is added, got text"):
        list(script.warnings())


def test_every_rule_has_its_anchor_once(repository: Path) -> None:
    page = (repository / "docs" / "rules.md").read_text(encoding="utf-8")
    assert re.findall(r'<a id="([^"]+)">', page) == [docs_anchor(rule) for rule in catalogue()]
    assert len({docs_anchor(rule) for rule in catalogue()}) == len(catalogue())


def test_every_link_to_a_rule_leads_somewhere(repository: Path) -> None:
    anchors = {docs_anchor(rule) for rule in catalogue()}
    for page in (repository / "docs").glob("*.md"):
        assert set(re.findall(r"rules\.md#([\w-]+)", page.read_text(encoding="utf-8"))) <= anchors, page.name


def test_every_type_is_on_the_page(repository: Path) -> None:
    page = (repository / "docs" / "instances.md").read_text(encoding="utf-8")
    families = {
        family: sizes.split(", ")
        for family, sizes in re.findall(r"^\| `([\w-]+)` \| (.+) \|$", page, re.MULTILINE)
    }
    for name in names():
        family, _, size = name.partition(".")
        assert (f"\n| `{name}` |" in page) != (size in families.get(family, ())), name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("g5.xlarge", "card 0: `interface`"),
        ("p5.48xlarge", "card 0: `efa`; cards 1 to 31: `efa-only` on device 1"),
        ("p6-b300.48xlarge", "card 0: `interface`; cards 1 to 16: `efa-only`"),
        ("p6e-gb200.36xlarge", "card 0: `interface`; cards 1 to 15 by 2: `efa-only`"),
    ],
)
def test_a_layout_in_words(script: ModuleType, name: str, words: str) -> None:
    assert script._layout(nics(lookup(name))) == words


def test_a_page_without_its_marker_is_refused(script: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"^docs/instances\.md has no marker"):
        script.instances_page("# Instance types\n")


def test_the_script_writes_both(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "DOCS", tmp_path)
    (tmp_path / "instances.md").write_text(f"# By hand\n\n{script.MARKER}\n\nstale\n", encoding="utf-8")
    script.main()
    assert (
        (tmp_path / "instances.md").read_text(encoding="utf-8").startswith("# By hand\n\n<!-- What follows")
    )
    assert "stale" not in (tmp_path / "instances.md").read_text(encoding="utf-8")
    assert (tmp_path / "rules.md").read_text(encoding="utf-8") == script.rules_page()
    assert (tmp_path / "warnings.md").read_text(encoding="utf-8") == script.warnings_page()


# --- what others do, written down from their sources and not from ours -----------------------


def _parallelcluster(cards: tuple[NetworkCard, ...]) -> list[tuple[int, int]]:
    """ParallelCluster's card and device: the primary, then device 0 of cards that hold one interface, else 1."""
    return [(0, 0), *((card.index, 0 if card.max_interfaces == 1 else 1) for card in cards[1:])]


@pytest.mark.parametrize("name", names())
def test_cards_and_devices_are_parallelcluster_s_but_where_the_page_says_why(name: str) -> None:
    facts = lookup(name)
    theirs = _parallelcluster(facts.network_cards)
    try:
        ours = [(nic.network_card_index, nic.device_index) for nic in nics(facts)]
    except ValueError:
        assert name == "hpc6id.32xlarge"
        return
    if name in {"p6-b300.48xlarge", "p6e-gb200.36xlarge"}:
        assert ours != theirs
        assert {device for _, device in ours} == {0}
    else:
        # It attaches every card there is, with EFA or without; Muster those that EFA makes use of.
        assert ours == theirs[: max(facts.max_efa, 1)]


DSTACK_AND_SKYPILOT = {
    "p4d.24xlarge": [(0, 0, "efa"), *((card, 1, "efa-only") for card in range(1, 4))],
    "p6-b200.48xlarge": [(0, 0, "efa"), *((card, 1, "efa-only") for card in range(1, 8))],
    "g6e.24xlarge": [(0, 0, "efa"), (1, 1, "efa-only")],
    "g6e.48xlarge": [(0, 0, "efa"), *((card, 1, "efa-only") for card in range(1, 4))],
}


@pytest.mark.parametrize("name", DSTACK_AND_SKYPILOT)
def test_where_dstack_and_skypilot_are_the_same(name: str) -> None:
    assert [tuple(nic) for nic in nics(lookup(name))] == DSTACK_AND_SKYPILOT[name]


def test_where_dstack_and_skypilot_differ_it_is_every_fourth_card_and_a_device() -> None:
    p5 = {nic.network_card_index: nic.interface_type for nic in nics(lookup("p5.48xlarge"))}
    theirs = {card: "efa" if card % 4 == 0 else "efa-only" for card in range(32)}
    assert {card for card in p5 if p5[card] != theirs[card]} == set(range(4, 32, 4))
    b300 = [tuple(nic) for nic in nics(lookup("p6-b300.48xlarge"))]
    dstack = [(0, 0, "interface"), *((card, 1, "efa-only") for card in range(1, 17))]
    assert [(card, kind) for card, _, kind in b300] == [(card, kind) for card, _, kind in dstack]
    assert [device for _, device, _ in b300] == [0] * 17
