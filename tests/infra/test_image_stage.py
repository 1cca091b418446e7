"""The staged copy of an image's folder: what goes in, what stays out, what is refused."""

import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from muster_cdk.image import TrainingImage
from muster_cdk.image_stage import ImageFolder, staged
from muster_core.contract import RUNTIME_PATH

Make = Callable[..., ImageFolder]
DOCKERFILE = 'FROM python:3.11\nCOPY . /app\nENTRYPOINT ["python"]\n'
APPENDED = "\n# Appended by TrainingImage: the runtime, and the job's command without anything in front.\n"
COPY = f"COPY muster-node {RUNTIME_PATH}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Make:
    """Make a folder: ``folder({"Dockerfile": ..., "train.py": ...}, **of_the_image)``."""

    def make(
        files: Mapping[str, str], *, file: str = "Dockerfile", target: str = "", keep: bool = False
    ) -> ImageFolder:
        root = tmp_path / "folder"
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(text.encode())
        return ImageFolder(root, file, target or None, keep)

    return make


@pytest.fixture
def stage(tmp_path: Path) -> Callable[[ImageFolder], dict[str, str]]:
    """Stage a folder and read the copy; the node file's content is left out."""

    def read(image: ImageFolder) -> dict[str, str]:
        assert image.problems() == []
        with staged(image, tmp_path / "cdk.out", keep=False) as copy:
            return dict(_texts(copy))

    return read


def _texts(copy: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(copy.rglob("*")):
        name = path.relative_to(copy).as_posix()
        if path.is_symlink():
            yield name, f"-> {path.readlink()}"
        elif path.is_file():
            yield name, "(node file)" if name == "muster-node" else path.read_text()


def test_the_runtime_goes_in_and_the_entrypoint_out(
    folder: Make, stage: Callable[[ImageFolder], dict[str, str]]
) -> None:
    assert stage(folder({"Dockerfile": DOCKERFILE, "train.py": "T", "src/a.py": "A"})) == {
        "Dockerfile": f"{DOCKERFILE}{APPENDED}{COPY}ENTRYPOINT []\n",
        "muster-node": "(node file)",
        "src/a.py": "A",
        "train.py": "T",
    }


@pytest.mark.parametrize("text", ["FROM a", "FROM a\n\n\n", "FROM a\r\n"])
def test_the_end_of_the_dockerfile_does_not_matter(folder: Make, text: str) -> None:
    assert folder({"Dockerfile": text}).dockerfile_text() == f"FROM a\n{APPENDED}{COPY}ENTRYPOINT []\n"


def test_the_entrypoint_can_be_kept(folder: Make) -> None:
    assert folder({"Dockerfile": DOCKERFILE}, keep=True).dockerfile_text() == f"{DOCKERFILE}{APPENDED}{COPY}"


def test_a_target_gets_a_stage_of_its_own(folder: Make) -> None:
    image = folder({"Dockerfile": "FROM a AS Train\nFROM b AS test\n"}, target="train")
    assert image.dockerfile_text().endswith(f"{APPENDED}FROM train AS muster-runtime\n{COPY}ENTRYPOINT []\n")
    assert (image.build_target, folder({}).build_target) == ("muster-runtime", None)
    by_index = folder({"Dockerfile": "FROM a AS Train\nFROM b\n"}, target="0")
    assert "FROM train AS muster-runtime\n" in by_index.dockerfile_text()


def test_an_ignore_all_file_lets_the_runtime_through(
    folder: Make, stage: Callable[[ImageFolder], dict[str, str]]
) -> None:
    files = {"Dockerfile": DOCKERFILE, "train.py": "T", "data/big": "B", ".dockerignore": "*\n!train.py"}
    found = stage(folder(files))
    assert sorted(found) == [
        ".dockerignore",
        "Dockerfile",
        "Dockerfile.dockerignore",
        "muster-node",
        "train.py",
    ]
    assert found[".dockerignore"] == found["Dockerfile.dockerignore"] == "*\n!train.py\n!muster-node\n"


def test_the_dockerfiles_own_ignore_file_counts(
    folder: Make, stage: Callable[[ImageFolder], dict[str, str]]
) -> None:
    files = {
        "docker/train.Dockerfile": DOCKERFILE,
        "docker/train.Dockerfile.dockerignore": "b\n",
        ".dockerignore": "*\n",
        "a": "A",
        "b": "B",
    }
    found = stage(folder(files, file="docker/train.Dockerfile"))
    assert sorted(found) == [
        ".dockerignore",
        "a",
        "docker/train.Dockerfile",
        "docker/train.Dockerfile.dockerignore",
        "muster-node",
    ]
    assert found[".dockerignore"] == found["docker/train.Dockerfile.dockerignore"] == "b\n!muster-node\n"


def test_what_differs_between_machines_stays_out(
    folder: Make, stage: Callable[[ImageFolder], dict[str, str]]
) -> None:
    files = {
        "Dockerfile": DOCKERFILE,
        "a.pyc": "",
        "src/__pycache__/a.cpython-311.pyc": "",
        "cdk.out/manifest.json": "",
        ".muster/local/images/x": "",
        "keep": "K",
    }
    assert sorted(stage(folder(files))) == ["Dockerfile", "keep", "muster-node"]


def test_an_output_folder_inside_the_folder_stays_out(folder: Make) -> None:
    image = folder({"Dockerfile": DOCKERFILE, "build/old": "O"})
    with staged(image, image.folder / "build" / "out", keep=False) as copy:
        assert sorted(path.name for path in copy.iterdir()) == ["Dockerfile", "build", "muster-node"]
        assert [path.name for path in (copy / "build").iterdir()] == ["old"]


def test_links_stay_links(folder: Make, stage: Callable[[ImageFolder], dict[str, str]]) -> None:
    image = folder({"Dockerfile": DOCKERFILE, "src/a.py": "A"})
    for name, text in {
        "one": "src/a.py",
        "two": str(image.folder / "src"),
        "src/up": "../one",
        "out": "/usr",
    }.items():
        (image.folder / name).symlink_to(text)
    found = stage(image)
    links = {name: text for name, text in found.items() if text.startswith("->")}
    assert links == {"one": "-> src/a.py", "two": "-> src", "src/up": "-> ../one", "out": "-> /usr"}


def test_pipes_are_passed_over(folder: Make, stage: Callable[[ImageFolder], dict[str, str]]) -> None:
    image = folder({"Dockerfile": DOCKERFILE})
    os.mkfifo(image.folder / "pipe")
    assert sorted(stage(image)) == ["Dockerfile", "muster-node"]


def test_modes(folder: Make, tmp_path: Path) -> None:
    image = folder({"Dockerfile": DOCKERFILE, "run.sh": "R", "key": "K"})
    (image.folder / "run.sh").chmod(0o750)
    (image.folder / "key").chmod(0o600)
    with staged(image, tmp_path / "out", keep=False) as copy:
        modes = {path.name: path.stat().st_mode & 0o777 for path in copy.iterdir()}
    assert modes == {"Dockerfile": 0o644, "run.sh": 0o750, "key": 0o600, "muster-node": 0o755}


def test_the_copy_is_named_by_its_content_and_removed(folder: Make, tmp_path: Path) -> None:
    out = tmp_path / "out"
    names = []
    for text in ("one", "one", "two"):
        with staged(folder({"Dockerfile": DOCKERFILE, "a": text}), out, keep=False) as copy:
            names.append(copy.name)
            assert zipfile.is_zipfile(copy / "muster-node")
        assert list(out.iterdir()) == []
    assert names[0] == names[1] != names[2]


def test_a_kept_copy_is_used_again(folder: Make, tmp_path: Path) -> None:
    image = folder({"Dockerfile": DOCKERFILE})
    for _ in range(2):
        with staged(image, tmp_path / "out", keep=True) as copy:
            pass
        assert list((tmp_path / "out").iterdir()) == [copy]


def test_a_failure_leaves_nothing(folder: Make, tmp_path: Path) -> None:
    image = folder({"Dockerfile": "FROM a\nRUN x \\\n"})
    with pytest.raises(ValueError, match="open continuation"), staged(image, tmp_path / "out", keep=False):
        pytest.fail("nothing can be staged")
    assert list((tmp_path / "out").iterdir()) == []


EXTEND = "file is no Dockerfile that can be extended, got 'ROOT/Dockerfile': "


@pytest.mark.parametrize(
    ("files", "values", "problems"),
    [
        (
            {"Dockerfile": DOCKERFILE},
            {"file": "Other"},
            ["file must be a Dockerfile in the folder, got 'Other'; there is no 'ROOT/Other'"],
        ),
        (
            {"Dockerfile": DOCKERFILE},
            {"file": "../Dockerfile"},
            ["file must lie in the folder, got '../Dockerfile'; give its path relative to 'ROOT'"],
        ),
        (
            {"Dockerfile": "FROM a\nRUN b \\\n", "muster-node": ""},
            {},
            [
                "path has a file 'muster-node', got 'ROOT'; the runtime goes into the image under this name; rename yours",
                (
                    f"{EXTEND}line 2: the file ends in an open continuation (\\) of the instruction in line 2; "
                    "remove the character at the end of the line"
                ),
            ],
        ),
        (
            {"Dockerfile": "FROM a\nRUN <<EOF\n"},
            {},
            [f"{EXTEND}line 2: the heredoc 'EOF' is open at the end of the file; end it by a line 'EOF'"],
        ),
        (
            {"Dockerfile": "# nothing\n"},
            {},
            [f"{EXTEND}line 1: there is no FROM, so the file makes no image; begin it with FROM <image>"],
        ),
        (
            {"Dockerfile": "FROM a AS one\nFROM b\n"},
            {"target": "two"},
            [f"{EXTEND}line 2: there is no stage 'two' for target; stages are 'one', '1'"],
        ),
        (
            {"Dockerfile": "FROM a AS one\nFROM b\n"},
            {"target": "1"},
            [f"{EXTEND}line 2: the target's stage has no name; write FROM b AS <name>"],
        ),
        (
            {"Dockerfile": "FROM a AS one\nFROM b AS muster-runtime\n"},
            {"target": "one"},
            [f"{EXTEND}line 2: the name 'muster-runtime' is Muster's own; give the stage another"],
        ),
        (
            {"Dockerfile": "FROM a AS one\nONBUILD RUN x\n"},
            {"target": "one"},
            [
                (
                    f"{EXTEND}line 2: ONBUILD in the target's stage would run when the runtime is added; "
                    "move it to another stage"
                )
            ],
        ),
        (
            {"Dockerfile": DOCKERFILE, ".dockerignore": "a\n!\n"},
            {},
            [
                (
                    "path has an ignore file that cannot be read, got 'ROOT': line 2: '!' without a pattern excepts nothing; "
                    "write !<pattern>"
                )
            ],
        ),
    ],
)
def test_problems(folder: Make, files: dict[str, str], values: dict[str, str], problems: list[str]) -> None:
    image = folder(files, **values)
    assert image.problems() == [problem.replace("ROOT", str(image.folder)) for problem in problems]


def test_a_dockerfile_in_another_encoding_is_refused(folder: Make) -> None:
    image = folder({"Dockerfile": ""})
    (image.folder / "Dockerfile").write_bytes(b"FROM a\n# \xe9\n")
    assert image.problems() == [
        f"file must be text in UTF-8, got '{image.folder / 'Dockerfile'}'; convert it"
    ]


def test_all_problems_are_told_at_once(folder: Make) -> None:
    image = folder({"muster-node": ""})
    with pytest.raises(ValueError, match=r"rename yours\nfile must be a Dockerfile in the folder"):
        TrainingImage.from_directory(image.folder)


def test_a_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  the whole text is compared below
        TrainingImage.from_directory(tmp_path / "none")
    assert (
        str(caught.value)
        == f"path must be a folder, got '{tmp_path / 'none'}'; create it or correct the path"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": 1}, "path must be a str, got int 1; change it"),
        ({"path": ".", "file": 1}, "file must be a str, got int 1; change it"),
        ({"path": ".", "target": 1}, "target must be a str, got int 1; change it"),
        ({"path": "ROOT", "build_args": {"A": 1}}, "build_args['A'] must be a str, got int 1; change it"),
    ],
)
def test_wrong_types_are_named(folder: Make, arguments: dict[str, object], message: str) -> None:
    root = folder({"Dockerfile": DOCKERFILE}).folder
    given = {name: root if value == "ROOT" else value for name, value in arguments.items()}
    with pytest.raises(TypeError) as caught:
        TrainingImage.from_directory(**given)  # type: ignore[arg-type]
    assert str(caught.value) == message
