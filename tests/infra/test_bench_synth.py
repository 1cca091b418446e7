"""The bench of the synth compares like with like."""

import importlib.util
import json

import aws_cdk as cdk
from infra_synth import REPOSITORY, context, normalise, template_of

WRITER = "run: python bench/synth_l1/write.py"


def program(path):
    spec = importlib.util.spec_from_file_location(f"bench_{path.stem}", REPOSITORY / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_app_by_hand_has_the_reference_app_s_template(reference, tmp_path):
    by_hand = program(REPOSITORY / "bench" / "synth_l1" / "app.py")
    app = cdk.App(context=context(), outdir=str(tmp_path))
    by_hand.L1Stack(app, "Muster")
    ours, theirs = normalise(reference("g6.8xlarge")), normalise(template_of(app, "Muster"))
    assert ours == theirs, WRITER


def test_one_round_gives_every_field(tmp_path, monkeypatch):
    bench = program(REPOSITORY / "bench" / "synth.py")
    monkeypatch.setattr(bench, "OUT", tmp_path / "out" / "synth.json")
    monkeypatch.setattr(bench, "child", lambda *arguments, **_: json.dumps(answers[arguments[0]]))
    monkeypatch.setattr(bench, "import_ms", lambda _: 0.5)
    answers = {
        "--warm": {"muster": [1.0, 3.0, 1.2], "l1": [1.0, 2.0, 1.0]},
        "--cold": 1,
        "--many": {"10": 1.0, "20": 2.0, "30": 3.0},
    }
    bench.main(1)
    found = json.loads((tmp_path / "out" / "synth.json").read_text())
    assert (found["muster_s"], found["l1_s"], found["ratio"]) == (1.2, 1.0, 1.2)
    assert {"cold_muster_s", "cold_l1_s"} <= set(found)
    assert set(found["validated"]) == {"muster_s", "l1_s", "ratio", "cold_muster_s", "cold_l1_s"}
    assert (found["clusters"]["seconds_per_cluster"], found["clusters"]["r_squared"]) == (0.1, 1.0)
