"""COPY and ADD, as a build does them."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from muster_cli.local.errors import LocalCloudError
from muster_cli.local.images import LocalImage, NodeRoot

FILES = {"a.py": "A", "b.py": "B", "c.txt": "C", "d/x.py": "X", "d/e/y.py": "Y"}
Lay = Callable[..., NodeRoot]
Tree = Callable[[], dict[str, str]]


@pytest.mark.parametrize(
    ("lines", "files"),
    [
        ("COPY a.py /app", {"app": "A"}),
        ("COPY a.py /app/", {"app/": "", "app/a.py": "A"}),
        ("COPY a.py b.py /app/", {"app/": "", "app/a.py": "A", "app/b.py": "B"}),
        ("COPY *.py /app/", {"app/": "", "app/a.py": "A", "app/b.py": "B"}),
        ("COPY [ab].py /app/", {"app/": "", "app/a.py": "A", "app/b.py": "B"}),
        ("COPY [^a].py /app/", {"app/": "", "app/b.py": "B"}),
        ("COPY ?.txt /one", {"one": "C"}),
        ("COPY d /app", {"app/": "", "app/e/": "", "app/e/y.py": "Y", "app/x.py": "X"}),
        ("COPY d/ /app/", {"app/": "", "app/e/": "", "app/e/y.py": "Y", "app/x.py": "X"}),
        ("COPY d/*/*.py /app/", {"app/": "", "app/y.py": "Y"}),
        ("COPY ./d/../a.py ../../x", {"x": "A"}),
        ("COPY /a.py /x", {"x": "A"}),
        ("WORKDIR /w/one\nCOPY a.py .", {"w/": "", "w/one/": "", "w/one/a.py": "A"}),
        (
            "WORKDIR /w\nWORKDIR one\nCOPY a.py two/",
            {"w/": "", "w/one/": "", "w/one/two/": "", "w/one/two/a.py": "A"},
        ),
        ("WORKDIR /w\nCOPY a.py /w", {"w/": "", "w/a.py": "A"}),
        ("ENV WHERE=/v\nCOPY a.py ${WHERE}/", {"v/": "", "v/a.py": "A"}),
        ('COPY ["a.py", "/with space/"]', {"with space/": "", "with space/a.py": "A"}),
        ("COPY a.py /x\nCOPY b.py /x", {"x": "B"}),
        ("COPY --link --chown=1:1 a.py /x", {"x": "A"}),
        ("ADD a.py /x", {"x": "A"}),
        ("ENV A=1\nCOPY <<ONE <<'TWO' /h/\n$A\nONE\n$A\nTWO", {"h/": "", "h/ONE": "1\n", "h/TWO": "$A\n"}),
        ("COPY <<EOF /h/one\ntext\nEOF", {"h/": "", "h/one": "text\n"}),
    ],
)
def test_what_lies_where(lay: Lay, tree: Tree, lines: str, files: dict[str, str]) -> None:
    lay(f"FROM base\n{lines}\n", FILES)
    assert tree() == files


def test_a_whole_folder_is_copied_as_the_ignore_file_says(lay: Lay, tree: Tree) -> None:
    lay("FROM base\nCOPY . /app/\n", FILES | {".dockerignore": "*\n!a.py\n!d/e\n"})
    assert tree() == {"app/": "", "app/a.py": "A", "app/d/": "", "app/d/e/": "", "app/d/e/y.py": "Y"}


def test_modes_are_kept_or_set(image: Callable[..., LocalImage], tmp_path: Path) -> None:
    made = image(
        "FROM base\nCOPY a.py /kept\nCOPY --chmod=0640 a.py /set\nCOPY --chmod=700 <<E /doc\nE\n", FILES
    )
    (made.folder / "a.py").chmod(0o755)
    root = made.materialise(tmp_path / "root").root
    assert [(root / name).stat().st_mode & 0o777 for name in ("kept", "set", "doc")] == [0o755, 0o640, 0o700]


def test_nodes_share_no_files(image: Callable[..., LocalImage], tmp_path: Path) -> None:
    made = image("FROM base\nCOPY a.py /x\n", FILES)
    one, two = (made.materialise(tmp_path / name).root / "x" for name in ("one", "two"))
    one.write_text("changed")
    assert (two.read_text(), (made.folder / "a.py").read_text()) == ("A", "A")


def test_links_inside_a_folder_stay_links(image: Callable[..., LocalImage], tmp_path: Path) -> None:
    made = image("FROM base\nCOPY d /d\nCOPY d/link.py /file\nCOPY there /there\n", FILES)
    (made.folder / "d" / "link.py").symlink_to("x.py")
    (made.folder / "there").symlink_to("d/e")
    root = made.materialise(tmp_path / "root").root
    assert (root / "d" / "link.py").readlink() == Path("x.py")
    assert (root / "file").read_text() == "X"
    assert not (root / "file").is_symlink()
    assert (root / "there" / "y.py").read_text() == "Y"


def test_add_extracts_a_local_archive(image: Callable[..., LocalImage], tmp_path: Path) -> None:
    made = image("FROM base\nADD data.tar.gz /data\nCOPY data.tar.gz /kept\n")
    with tarfile.open(made.folder / "data.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("in/file")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"abc"))
    root = made.materialise(tmp_path / "root").root
    assert (root / "data" / "in" / "file").read_text() == "abc"
    assert tarfile.is_tarfile(root / "kept")


def test_copying_from_a_stage(lay: Lay, tree: Tree) -> None:
    lay(
        "FROM base AS one\nWORKDIR /src\nCOPY a.py .\n"
        "FROM one AS two\nCOPY b.py .\n"
        "FROM base\nCOPY --from=two /src /both\nCOPY --from=0 src/*.py /first/\nCOPY --from=two /src/b.py /b\n",
        FILES,
    )
    assert tree() == {
        "b": "B",
        "both/": "",
        "both/a.py": "A",
        "both/b.py": "B",
        "first/": "",
        "first/a.py": "A",
    }


def test_a_stage_that_nobody_needs_is_not_followed(lay: Lay, tree: Tree) -> None:
    lay("FROM base AS other\nRUN make\nFROM base\nCOPY a.py /x\n", FILES)
    assert tree() == {"x": "A"}


@pytest.mark.parametrize(
    ("lines", "files", "message"),
    [
        ("COPY z /x", {}, "line 2: COPY finds no 'z' in the image's folder"),
        ("COPY *.md /x/", {}, "line 2: COPY finds no '*.md' in the image's folder"),
        (
            "COPY a.py /x",
            {".dockerignore": "*"},
            "line 2: COPY finds no 'a.py' in the image's folder; the ignore file hides it",
        ),
        (
            "COPY --from=nginx /etc/x /x",
            {},
            (
                "line 2: COPY /etc/x /x cannot be followed without a container engine: 'nginx' is no stage of this file, "
                "and other images are not here; COPY from the folder; "
                "or name a folder that stands for the image by --image-map IMAGE=FOLDER"
            ),
        ),
        (
            "FROM base\nCOPY --from=0 /usr/lib /x",
            {},
            (
                "line 3: COPY /usr/lib /x cannot be followed without a container engine: '/usr/lib' is not among the files "
                "that were copied to the stage '0': its base image or a RUN would bring it; copy it from the folder; "
                "or name a folder that stands for the image by --image-map IMAGE=FOLDER"
            ),
        ),
        (
            "ADD https://example.com/x /x",
            {},
            (
                "line 2: ADD https://example.com/x /x cannot be followed without a container engine: "
                "'https://example.com/x' would be downloaded; download it into the folder and COPY it; "
                "or name a folder that stands for the image by --image-map IMAGE=FOLDER"
            ),
        ),
        (
            "COPY a.py /w\nCOPY d /w/",
            {},
            (
                "line 3: COPY needs the folder '/w', but that or a folder above it is a file already; "
                "name another destination"
            ),
        ),
        (
            "COPY a.py /w\nCOPY b.py /w/deep/er/",
            {},
            (
                "line 3: COPY needs the folder '/w/deep/er', but that or a folder above it is a file already; "
                "name another destination"
            ),
        ),
        (
            "COPY b.py /w/a.py/b.py\nCOPY a.py /w/",
            {},
            (
                "line 3: COPY cannot write the file '/w/a.py', as a folder is there already; "
                "name another destination"
            ),
        ),
        (
            "COPY b.py /w/h/b.py\nCOPY <<h /w/\nh\n",
            {},
            "line 3: COPY cannot write the file '/w/h', as a folder is there already; name another destination",
        ),
        (
            "COPY --parents a.py /x/",
            {},
            (
                "line 2: COPY a.py /x/ cannot be followed without a container engine: --parents is not known here; "
                "copy without it; or name a folder that stands for the image by --image-map IMAGE=FOLDER"
            ),
        ),
        (
            "COPY --chmod=u+x a.py /x",
            {},
            (
                "line 2: COPY a.py /x cannot be followed without a container engine: --chmod=u+x is not octal; "
                "write it as digits such as 755; or name a folder that stands for the image by --image-map IMAGE=FOLDER"
            ),
        ),
    ],
)
def test_refusals(lay: Lay, tmp_path: Path, lines: str, files: dict[str, str], message: str) -> None:
    with pytest.raises(LocalCloudError) as caught:
        lay(f"FROM base\n{lines}\n", FILES | files)
    assert str(caught.value) == f"image repo/image:tag: {tmp_path / 'context' / 'Dockerfile'}, {message}"


def test_a_named_link_that_leads_out_is_refused(image: Callable[..., LocalImage], tmp_path: Path) -> None:
    made = image("FROM base\nCOPY out /x\n")
    (made.folder / "out").symlink_to(tmp_path)
    with pytest.raises(
        LocalCloudError, match=r"line 2: 'out' is a link that leads nowhere in the image's folder\Z"
    ):
        made.materialise(tmp_path / "root")


def test_nothing_is_written_through_a_link_that_leads_out(
    image: Callable[..., LocalImage], tmp_path: Path
) -> None:
    made = image("FROM base\nCOPY d /d\nCOPY a.py /d/out/a.py\n", FILES)
    (tmp_path / "outside").mkdir()
    (made.folder / "d" / "out").symlink_to(tmp_path / "outside")
    with pytest.raises(
        LocalCloudError, match=r"'/d/out/a\.py' lies behind a link that leads out of the image"
    ):
        made.materialise(tmp_path / "root")
    assert list((tmp_path / "outside").iterdir()) == []
