"""Sources of SQLite's releases: fetched by the real npm, go and cargo from registries of the tests' own, and kept."""

import contextlib
import hashlib
import http.server
import io
import json
import os
import pwd
import shutil
import signal
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from conftest import Cli
from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines.sqlite.amalgamation import source_version
from dbdyno.engines.sqlite.library import find_library
from dbdyno.engines.sqlite.packages import FAMILIES
from dbdyno.engines.sqlite.releases import known_releases, release_source
from dbdyno.engines.sqlite.settings import SqliteSettings

TEXT = '/* An amalgamation, as far as these tests are concerned. */\n#define SQLITE_VERSION        "{}"\n'

VERSIONS = [release.version for release in known_releases()]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DBDYNO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "cache/sources"


def tar(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


@pytest.fixture
def npm_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A registry with `sqlite3` 3.0.6, and 9.0.0 without SQLite in it; and with two ages of `better-sqlite3`."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    archive = tar(
        {
            "sqlite-autoconf-3080900/sqlite3.c": TEXT.format("3.8.9").encode(),
            "sqlite-autoconf-3080900/sqlite3.h": b"/* header */",
            "sqlite-autoconf-3080900/tea/generic/sqlite3.c": TEXT.format("1.1.1").encode(),
            "../../escaped/sqlite3.h": b"/* elsewhere */",
        }
    )
    manifest = b'{"name": "sqlite3", "version": "3.0.6"}'
    packages = {
        "sqlite3": {
            "3.0.6": tar({"package/package.json": manifest, "package/deps/sqlite-autoconf-3080900.tar.gz": archive}),
            "9.0.0": tar({"package/package.json": manifest.replace(b"3.0.6", b"9.0.0")}),
        },
        "better-sqlite3": {
            "8.1.0": tar(
                {
                    "package/package.json": b'{"name": "better-sqlite3", "version": "8.1.0"}',
                    "package/deps/sqlite3/sqlite3.c": TEXT.format("3.40.1").encode(),
                    "package/deps/sqlite3/sqlite3.h": b"/* header */",
                    "package/other/sqlite3.c": TEXT.format("1.1.1").encode(),
                }
            ),
            "7.4.3": tar(
                {
                    "package/package.json": b'{"name": "better-sqlite3", "version": "7.4.3"}',
                    "package/deps/sqlite3.tar.gz": tar({"sqlite3.c": TEXT.format("3.36.0").encode()}),
                }
            ),
        },
    }

    class Registry(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, _, file = self.path.strip("/").partition("/")
            there = packages.get(name, {})
            found = there.get(file.removesuffix(".tgz"))
            here = f"http://127.0.0.1:{self.server.server_address[1]}"
            versions = {
                version: {
                    "name": name,
                    "version": version,
                    "dist": {
                        "tarball": f"{here}/{name}/{version}.tgz",
                        "shasum": hashlib.sha1(content).hexdigest(),
                    },
                }
                for version, content in there.items()
            }
            document = {"name": name, "dist-tags": {"latest": max(versions, default="")}, "versions": versions}
            answer = found or (json.dumps(document).encode() if there and not file else b"")
            self.send_response(200 if answer else 404)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with serving(Registry, monkeypatch):
        yield


@contextlib.contextmanager
def serving(registry: type[http.server.BaseHTTPRequestHandler], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serve a registry, which npm is set to use."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), registry)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    for name in (
        "http_proxy",
        "https_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "npm_config_proxy",
        "npm_config_https_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{server.server_address[1]}/")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def silent_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A registry that never answers; the event says that it has been asked."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    asked, over = threading.Event(), threading.Event()

    class Registry(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.set()
            over.wait(60)

    with serving(Registry, monkeypatch):
        yield asked
        over.set()


@pytest.fixture
def go_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module proxy with go-sqlite3 v1.6.0, whose source is of another version than it is known to be."""
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    versions = tmp_path / "proxy/github.com/mattn/go-sqlite3/@v"
    versions.mkdir(parents=True)
    (versions / "v1.6.0.info").write_text('{"Version": "v1.6.0", "Time": "2018-01-01T00:00:00Z"}')
    (versions / "v1.6.0.mod").write_text("module github.com/mattn/go-sqlite3\n")
    top = "github.com/mattn/go-sqlite3@v1.6.0"
    with zipfile.ZipFile(versions / "v1.6.0.zip", "w") as archive:
        archive.writestr(f"{top}/go.mod", "module github.com/mattn/go-sqlite3\n")
        wrapped = f"#ifndef USE_LIBSQLITE3\n{TEXT.format('3.21.7')}#endif\n"
        archive.writestr(f"{top}/sqlite3-binding.c", wrapped)
        archive.writestr(f"{top}/sqlite3-binding.h", "/* header */")
    monkeypatch.setenv("GOPROXY", (tmp_path / "proxy").as_uri())
    monkeypatch.setenv("GOSUMDB", "off")
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "modules"))
    monkeypatch.setenv("GOFLAGS", "-modcacherw")


@pytest.fixture
def crates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory of crates with libsqlite3-sys 0.9.0, which cargo is set to use."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    crate = tmp_path / "crates/libsqlite3-sys"
    (crate / "sqlite3").mkdir(parents=True)
    (crate / "src").mkdir()
    (crate / "src/lib.rs").touch()
    (crate / "Cargo.toml").write_text('[package]\nname = "libsqlite3-sys"\nversion = "0.9.0"\n')
    (crate / ".cargo-checksum.json").write_text('{"files": {}, "package": "' + "0" * 64 + '"}')
    (crate / "sqlite3/sqlite3.c").write_text(TEXT.format("3.17.0"))
    (crate / "sqlite3/sqlite3.h").write_text("/* header */")
    home = tmp_path / "cargo"
    home.mkdir()
    source = f'[source.crates-io]\nreplace-with = "mine"\n[source.mine]\ndirectory = "{tmp_path / "crates"}"\n'
    (home / "config.toml").write_text(source)
    # The toolchain stays where it is.
    monkeypatch.setenv("RUSTUP_HOME", str(_rustup_home()))
    monkeypatch.setenv("CARGO_HOME", str(home))


def _rustup_home() -> Path:
    return Path(os.environ.get("RUSTUP_HOME", Path(pwd.getpwuid(os.getuid()).pw_dir) / ".rustup"))


def contents(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


@pytest.mark.usefixtures("npm_registry")
@pytest.mark.parametrize(("version", "package"), [("3.40.1", "8.1.0"), ("3.36.0", "7.4.3")])
def test_a_package_may_have_the_source_as_files_or_in_an_archive(cache: Path, version: str, package: str) -> None:
    source = release_source(version)
    assert (source.version, source.family, source.package) == (version, "npm better-sqlite3", package)
    assert source.directory == cache / f"better-{package}"
    assert source.difference is None


@pytest.mark.usefixtures("npm_registry")
def test_npm_fetches_the_archive_within_a_package(cache: Path) -> None:
    source = release_source("3.8.9")
    assert (source.version, source.family, source.package) == ("3.8.9", "npm sqlite3", "3.0.6")
    assert source.difference is None
    assert contents(source.directory) == {"sqlite3.c": TEXT.format("3.8.9"), "sqlite3.h": "/* header */"}
    # Nothing else was left, and nothing of the archive landed elsewhere.
    assert list(cache.iterdir()) == [source.directory]


@pytest.mark.usefixtures("npm_registry")
def test_what_is_cached_is_not_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    source = release_source("npm@3.0.6")
    monkeypatch.setenv("PATH", "")
    assert release_source("3.8.9").directory == source.directory
    assert [each.package for each in known_releases() if each.cached] == ["3.0.6"]
    with pytest.raises(
        SystemFailed, match=r"fetching npm sqlite3 4\.0\.0 needs `npm`, which isn't installed: install it"
    ):
        release_source("npm:3.15.0")


@pytest.mark.usefixtures("go_proxy")
def test_a_package_that_is_not_listed_is_once_it_is_cached(tmp_path: Path) -> None:
    versions = tmp_path / "proxy/github.com/mattn/go-sqlite3/@v"
    (versions / "v1.7.0.info").write_text('{"Version": "v1.7.0", "Time": "2018-02-01T00:00:00Z"}')
    (versions / "v1.7.0.mod").write_text("module github.com/mattn/go-sqlite3\n")
    top = "github.com/mattn/go-sqlite3@v1.7.0"
    with zipfile.ZipFile(versions / "v1.7.0.zip", "w") as archive:
        # As the oldest have it: the package's own file includes the source.
        archive.writestr(
            f"{top}/sqlite3-binding.c", '#ifndef USE_LIBSQLITE3\n# include "code/sqlite3-binding.c"\n#endif\n'
        )
        archive.writestr(f"{top}/code/sqlite3-binding.c", TEXT.format("3.22.0"))
    assert release_source("go@1.7.0").directory == release_source("go@v1.7.0").directory
    assert [each.spec for each in known_releases() if each.cached] == ["go@v1.7.0"]
    assert release_source("3.22").package == "v1.7.0"


@pytest.mark.usefixtures("npm_registry")
def test_a_package_without_sqlite_and_one_that_is_not_there(cache: Path) -> None:
    with pytest.raises(SystemFailed, match=r"npm sqlite3 9.0.0 doesn't contain SQLite's source"):
        release_source("npm@9.0.0")
    with pytest.raises(SystemFailed, match=r"fetching sqlite3@7.0.0: `npm` failed: .*No matching version"):
        release_source("npm@7.0.0")
    assert list(cache.iterdir()) == []


def test_ctrl_c_leaves_nothing_half_done(silent_registry: threading.Event, cache: Path, cli: Cli) -> None:
    process = cli.start("sqlite", "get", "npm@3.0.6")
    assert silent_registry.wait(60)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (130, "", "")
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("go_proxy")
def test_the_version_is_that_of_the_source_and_a_difference_is_told(cli: Cli) -> None:
    source = release_source("3.21.0")
    assert (source.version, source.family, source.package) == ("3.21.7", "go-sqlite3", "v1.6.0")
    told = "SQLite 3.21.0 was requested, but go-sqlite3 v1.6.0 contains 3.21.7"
    assert source.difference == told
    # Line numbers are those of the package's file.
    assert contents(source.directory) == {
        "sqlite3.c": f"#ifndef USE_LIBSQLITE3\n{TEXT.format('3.21.7')}#endif\n",
        "sqlite3.h": "/* header */",
    }
    process = cli.start("sqlite", "get", "3.21.0")
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, f"{source.directory}\n"), errors
    assert errors.splitlines() == ["SQLite 3.21.7, go-sqlite3 v1.6.0", f"note: {told}"]
    # From now on it is shown for what it is.
    (row,) = [line.split() for line in cli("sqlite", "versions").splitlines() if "v1.6.0" in line]
    assert (row[0], row[-1]) == ("3.21.7", "yes")


@pytest.mark.usefixtures("crates")
def test_cargo_fetches_a_crate(cache: Path) -> None:
    source = release_source("crate:3.17")
    assert (source.version, source.family, source.package) == ("3.17.0", "crate libsqlite3-sys", "0.9.0")
    assert contents(source.directory) == {"sqlite3.c": TEXT.format("3.17.0"), "sqlite3.h": "/* header */"}
    assert list(cache.iterdir()) == [source.directory]
    with pytest.raises(SystemFailed, match=r"fetching libsqlite3-sys 0.8.8: `cargo` failed: error"):
        release_source("crate@0.8.8")


def test_a_directory_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "sqlite3.c").write_text(TEXT.format("3.99.1"))
    for spec in (str(tmp_path), str(tmp_path / "sqlite3.c")):
        source = release_source(spec)
        assert (source.directory, source.version, source.family) == (tmp_path, "3.99.1", "directory")


def test_a_file_of_another_name_is_kept_by_its_content(tmp_path: Path) -> None:
    changed = tmp_path / "changed.c"
    changed.write_text(TEXT.format("3.99.1"))
    first = release_source(str(changed)).directory
    assert contents(first) == {"sqlite3.c": changed.read_text()}
    assert release_source(str(changed)).directory == first
    changed.write_text(TEXT.format("3.99.2"))
    assert release_source(str(changed)).directory != first


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("foo:3.21.0", "foo:3.21.0: unknown package family `foo`; known: `npm:`, `go:`, `crate:`, `better:`"),
        (
            "./nothing",
            "./nothing: neither a release nor a file; give a release such as `3.21.0`, or an amalgamation's path",
        ),
        (
            "npm:3.21.0",
            "npm:3.21.0: no known package contains SQLite 3.21.0; the nearest known: `npm:3.15.0` and `npm:3.24",
        ),
        ("npm@1.2.3-../..", "npm@1.2.3-../..: neither a release nor a file"),
    ],
)
def test_what_is_not_known_is_told(spec: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        release_source(spec)
    assert str(caught.value).startswith(told)


def test_what_is_no_amalgamation_is_told(tmp_path: Path) -> None:
    (tmp_path / "other.c").write_text("int main(void) { return 0; }\n")
    with pytest.raises(InputError, match=r"other\.c: not a SQLite amalgamation: it doesn't define SQLITE_VERSION"):
        release_source(str(tmp_path / "other.c"))
    with pytest.raises(InputError, match=r"it doesn't contain a `sqlite3\.c`"):
        release_source(str(tmp_path))


numbers = st.lists(st.integers(0, 60), min_size=1, max_size=2).map(lambda rest: [3, *rest])


@given(numbers)
def test_an_unknown_release_is_answered_with_those_around_it(wanted: list[int]) -> None:
    def padded(version: str) -> list[int]:
        return ([int(each) for each in version.split(".")] + [0, 0])[:3]

    asked = ".".join(map(str, wanted))
    assume(padded(asked) not in map(padded, VERSIONS))
    with pytest.raises(InputError) as caught:
        release_source(asked)
    below = [each for each in VERSIONS if padded(each) < padded(asked)]
    above = [each for each in VERSIONS if padded(each) > padded(asked)]
    near = [*below[-1:], *above[:1]]
    told = str(caught.value).partition("the nearest known: ")[2].partition(";")[0]
    assert [each.strip("`").partition(":")[2] for each in told.split(" and ")] == near


@given(
    st.text(st.characters(exclude_characters="\r\n", codec="utf-8")),
    st.from_regex(r"3(\.[0-9]{1,2}){1,3}", fullmatch=True),
)
def test_the_version_is_found_whatever_stands_around_it(
    tmp_path_factory: pytest.TempPathFactory, other: str, version: str
) -> None:
    assume(not other.lstrip().startswith("#"))
    file = tmp_path_factory.getbasetemp() / "around.c"
    file.write_text(f'{other}\n# define SQLITE_VERSION "{version}" {other}\n#define SQLITE_VERSION "0"\n')
    assert source_version(file) == version


def test_known_releases_are_in_order_and_each_family_has_some() -> None:
    order = [[int(each) for each in version.split(".")] for version in VERSIONS]
    assert order == sorted(order)
    assert {release.family.key for release in known_releases()} == {family.key for family in FAMILIES}


def test_the_bundled_source_wrapped_as_go_has_it_makes_a_library(tmp_path: Path) -> None:
    source = release_source("bundled")
    assert source.family == "bundled"
    assert find_library(SqliteSettings()).identity.split()[0] == source.version
    wrapped = (source.directory / "sqlite3.c").read_text()
    (tmp_path / "sqlite3-binding.c").write_text(f"#ifndef USE_LIBSQLITE3\n{wrapped}\n#endif\n")
    directory = release_source(str(tmp_path)).directory
    built = find_library(SqliteSettings(source=str(directory), cflags="-O0"))
    assert built.identity.split()[0] == source.version
