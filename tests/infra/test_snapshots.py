"""Whole templates of the reference app. ``pytest --snapshot-update`` writes them anew."""

import pytest
from infra_synth import normalise
from syrupy.extensions.json import JSONSnapshotExtension


@pytest.mark.parametrize("name", ["g6.8xlarge", "p5.48xlarge", "p6-b300.48xlarge", "trn1.32xlarge"])
def test_template(reference, snapshot, name):
    assert dict(normalise(reference(name))) == snapshot.use_extension(JSONSnapshotExtension)
