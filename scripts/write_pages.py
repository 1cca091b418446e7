"""Write the pages of the documentation that follow from the code: rules.md, warnings.md and instances.md in docs/.

    python scripts/write_pages.py

Of ``docs/instances.md`` what stands above the marker is written by hand and left as it is.
"""

from __future__ import annotations

import ast
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from muster_core import rules
from muster_core.instances import InstanceType, Nic, ips_per_node, lookup, names, nics, sources, usable_memory
from muster_core.rules import ClusterRequest, Problem, cluster, docs_anchor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
CONSTRUCTS = ROOT / "infra" / "src" / "muster_cdk"
MARKER = "<!-- What follows is written by scripts/write_pages.py: change the catalogue, and run it. -->"
RULES_HEAD = """\
# Rules

<!-- Written by scripts/write_pages.py: change the rules, and run it. -->

What is certainly wrong is found before anything is deployed. Each rule is a pure function in `muster_core.rules`; the
constructs ask it at synth, and `muster submit` before it submits. A synth reports all problems of a stack at once, each with
the path of its construct. What is known only at deployment (a token) is judged by no rule.

Ids are API: `Problem.rule` has them, and the anchors of this page follow from them.
"""

WARNINGS_HEAD = """\
# Warnings

<!-- Written by scripts/write_pages.py: change the warnings, and run it. -->

What is not certain is a warning of the synth. Its id is API; acknowledge it where you know better:

```python
import aws_cdk as cdk
from muster_cdk import GpuCluster

app = cdk.App()
stack = cdk.Stack(app, "Training")
cluster = GpuCluster(stack, "Cluster", instance_type="g6.8xlarge", max_nodes=2)
cdk.Annotations.of(cluster).acknowledge_warning("muster-cdk:firstZone", "the first zone has g6")
app.synth()
```
"""


def main() -> None:
    """Write the pages."""
    page = DOCS / "instances.md"
    page.write_text(instances_page(page.read_text(encoding="utf-8")), encoding="utf-8")
    (DOCS / "rules.md").write_text(rules_page(), encoding="utf-8")
    (DOCS / "warnings.md").write_text(warnings_page(), encoding="utf-8")


def rules_page() -> str:
    """The page of all rules, a section for each concept, in the order of the rules' own catalogue."""
    texts = rules.catalogue()
    sections = [RULES_HEAD]
    for concept, members in itertools.groupby(texts, lambda rule: rule.partition(".")[0]):
        rows = [(f'<a id="{docs_anchor(rule)}"></a>`{rule}`', texts[rule]) for rule in members]
        sections.append(f"## {concept}\n\n{_concept(concept)}\n\n{_table(('rule', 'what it holds'), rows)}\n")
    return "\n".join(sections)


def warnings_page() -> str:
    """The page of all warnings of the constructs, in the order of their ids."""
    rows = [(f"`{name}`", text) for name, text in sorted(warnings())]
    return f"{WARNINGS_HEAD}\n{_table(('id', 'what it says'), rows)}\n"


def warnings() -> Iterator[tuple[str, str]]:
    """Id and text of each warning in the constructs' sources; what is put in at run time is three dots."""
    for path in sorted(CONSTRUCTS.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_warning_v2":
                name, text = map(_literal, node.args)
                yield name, text


def _literal(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else "..." for each in node.values)
    raise ValueError(
        f"a warning's id and text stand where it is added, got {ast.unparse(node)}; write them there"
    )


def instances_page(now: str) -> str:
    """The page of instance types: its head as it is, and tables of the whole catalogue.

    Args:
        now: The page as it stands.

    Raises:
        ValueError: The page has no marker.
    """
    head, marker, _ = now.partition(MARKER)
    if not marker:
        raise ValueError(f"docs/instances.md has no marker, allowed is one line {MARKER!r}; put it back")
    return head + marker + "\n\n" + "\n".join(_tables())


def _concept(name: str) -> str:
    module = vars(rules)[name]
    return str(module.__doc__).partition("\n")[0]


def _tables() -> Iterator[str]:
    found = [(each, _problems(each)) for each in map(lookup, names())]
    yield "## Types that run\n"
    titles = (
        "type",
        "vCPUs",
        "memory",
        "usable",
        "accelerators",
        "EFA",
        "interfaces",
        "addresses",
        "image",
        "sold",
    )
    yield _table(titles, [_row(each) for each, problems in found if not problems]) + "\n"
    yield "## Types that do not\n"
    yield "With an accelerator:\n"
    refused = [(each, problems) for each, problems in found if problems and each.accelerator]
    yield _table(("type", "why"), [(f"`{each.name}`", _why(problems)) for each, problems in refused]) + "\n"
    yield "Without one, yet with EFA ([instance.accelerator](rules.md#instance-accelerator)):\n"
    plain = [each for each, _ in found if each.accelerator is None]
    families = itertools.groupby(plain, lambda each: each.family)
    yield _table(("family", "sizes"), [(f"`{name}`", _sizes(members)) for name, members in families]) + "\n"
    yield "## Sources\n"
    yield "\n".join(f"- {source.name}, read on {source.date}" for source in sources()) + "\n"


def _problems(instance: InstanceType) -> list[Problem]:
    return cluster(instance, ClusterRequest(1))


def _row(each: InstanceType) -> Sequence[str]:
    layout = nics(each)
    return (
        f"`{each.name}`",
        str(each.vcpus),
        f"{each.memory_mib / 1024:g} GiB",
        f"{usable_memory(each)} MiB",
        _accelerator(each),
        str(each.max_efa),
        _layout(layout),
        str(ips_per_node(layout)),
        _image(each),
        ", ".join(_sold(each)),
    )


def _accelerator(each: InstanceType) -> str:
    device = each.accelerator
    return f"{device.count} x {device.name}, {device.memory_mib} MiB" if device else ""


def _image(each: InstanceType) -> str:
    image = each.batch_image
    if image is None:
        return "your own"
    return f"{image.image_type}, Neuron by parameter" if image.ssm_parameter else image.image_type


def _sold(each: InstanceType) -> Iterator[str]:
    if each.on_demand:
        yield "on demand"
    if each.capacity_block:
        yield "Capacity Block"


def _layout(layout: Sequence[Nic]) -> str:
    """The interfaces in words: cards of one kind and device together."""
    groups = itertools.groupby(layout, lambda nic: (nic.interface_type, nic.device_index))
    return "; ".join(
        f"{_numbers([nic.network_card_index for nic in members])}: `{kind}`"
        + (f" on device {device}" if device else "")
        for (kind, device), members in groups
    )


def _numbers(cards: Sequence[int]) -> str:
    if len(cards) == 1:
        return f"card {cards[0]}"
    step = cards[1] - cards[0]
    return f"cards {cards[0]} to {cards[-1]}" + ("" if step == 1 else f" by {step}")


def _why(problems: Iterable[Problem]) -> str:
    """The part of the first sentence that has the reason, and the ids of the rules."""
    first, *rest = problems
    reason = first.message.partition("', ")[2].partition("; ")[0] or first.message.partition("; ")[0]
    links = ", ".join(f"[{each.rule}](rules.md#{docs_anchor(each.rule)})" for each in (first, *rest))
    return f"{reason} ({links})"


def _sizes(members: Iterable[InstanceType]) -> str:
    return ", ".join(each.name.partition(".")[2] for each in members)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


if __name__ == "__main__":
    main()
