"""Encrypted connections to servers that are named, on those that are installed here."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from authenticated import ENGINES, PASSWORD, Place
from conftest import Cli
from dbdyno.base.errors import InputError
from dbdyno.engines.mysql.settings import TLS
from dbdyno.engines.server.tls import LIBPQ, Tls, split_tls

# Servers are started.
pytestmark = pytest.mark.slow

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make certificates")


OPTIONS = {"postgresql": LIBPQ, "mysql": TLS}


@needs_openssl
@pytest.mark.parametrize("engine", ENGINES)
def test_a_connection_is_as_safe_as_the_mode_says(make_place: Callable[[str], Place], engine: str) -> None:
    here = make_place(engine)
    ca, other = str(here.work / "ca.crt"), str(here.work / "other.crt")
    with here.start("server") as server:
        for host, tls in (
            ("127.0.0.1", {"mode": "prefer"}),
            ("127.0.0.1", {"mode": "require"}),
            ("127.0.0.1", {"mode": "verify-ca", "roots": ca}),
            ("localhost", {"mode": "verify-full", "roots": ca}),
        ):
            assert here.facts(server, host, **tls)["settings"]["tls"].startswith("TLSv1")
        wrong_name = here.refusal(server, "127.0.0.1", mode="verify-full", roots=ca)
        assert "not for `127.0.0.1`, but for localhost" in wrong_name
        for tls in ({"mode": "verify-ca", "roots": other}, {"mode": "verify-full"}):
            assert "the certificate of `localhost` is not signed by any CA in" in here.refusal(
                server, "localhost", **tls
            )
        assert other in here.refusal(server, "localhost", mode="verify-ca", roots=other)
        without = here.refusal(server, "127.0.0.1", mode="disable")
        assert ("no encryption" if engine == "postgresql" else "it may require TLS") in without
        not_one = here.refusal(server, "localhost", mode="verify-ca", roots=str(here.work / "names"))
        assert f"{here.work / 'names'} contains no certificate" in not_one


@needs_openssl
@pytest.mark.parametrize("engine", ENGINES)
def test_a_server_without_tls_is_used_only_where_that_is_allowed(
    make_place: Callable[[str], Place], engine: str
) -> None:
    here = make_place(engine)
    with here.start(None, demanded=False) as server:
        assert "tls" not in here.facts(server, "127.0.0.1", mode="prefer")["settings"]
        for mode in ("require", "verify-ca", "verify-full"):
            assert "the server does not support TLS" in here.refusal(server, "127.0.0.1", mode=mode)


@needs_openssl
@pytest.mark.parametrize("engine", ENGINES)
def test_a_certificate_that_is_its_own_authority_can_be_believed(
    make_place: Callable[[str], Place], engine: str
) -> None:
    here = make_place(engine)
    with here.start("ca") as server:
        own = str(here.work / "ca.crt")
        assert here.facts(server, "127.0.0.1", mode="verify-ca", roots=own)["settings"]["tls"].startswith("TLSv1")
        assert "not for `127.0.0.1`" in here.refusal(server, "127.0.0.1", mode="verify-full", roots=own)
        unknown = here.refusal(server, "localhost", mode="verify-full")
        assert "the certificate of `localhost` is self-signed and not in" in unknown


@needs_openssl
@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_over_tls_loads_measures_and_says_so(
    make_place: Callable[[str], Place], engine: str, small: Callable[..., str]
) -> None:
    here = make_place(engine)
    with here.start("server") as server:
        cli = Cli(here.work)
        # More than one client on a thread, and answers longer than a record of TLS.
        text = small(("clients = [1, 2]", "clients = [8]"))
        text += '\n[[transactions]]\nname = "all"\nsteps = [{ execute = "select * from t" }]\n'
        url = f"{engine}://{here.login}@localhost:{server.port}/?sslmode=verify-full&sslrootcert={here.work / 'ca.crt'}"
        document = cli.run(cli.write("small.toml", text), "--system", url, "--rounds", "1")
        cell = document["cells"][0]
        assert [each["ok"] for each in cell["rounds"]] == [4000]
        assert cell["system"]["settings"]["tls"].startswith("TLSv1")
        assert PASSWORD not in str(document)


@pytest.mark.parametrize(
    ("engine", "given", "tls"),
    [
        ("postgresql", {}, Tls("prefer")),
        ("postgresql", {"sslmode": "Verify-Full"}, Tls("verify-full")),
        ("mysql", {"ssl-mode": "REQUIRED"}, Tls("require")),
        ("mysql", {"ssl-mode": "VERIFY_IDENTITY"}, Tls("verify-full")),
        ("mysql", {"sslmode": "disable"}, Tls("disable")),
    ],
)
def test_the_modes_have_the_names_that_are_known(engine: str, given: dict[str, str], tls: Tls) -> None:
    assert split_tls(OPTIONS[engine], given | {"work_mem": "1MB"}, "url") == (tls, {"work_mem": "1MB"})


def test_naming_an_authority_has_it_asked(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.touch()
    found, _ = split_tls(LIBPQ, {"sslmode": "require", "sslrootcert": str(file)}, "url")
    assert found == Tls("verify-ca", str(file))
    found, _ = split_tls(TLS, {"ssl-mode": "REQUIRED", "ssl-ca": str(file)}, "url")
    assert found == Tls("require", str(file))


@pytest.mark.parametrize(
    ("engine", "given", "words"),
    [
        ("postgresql", {"sslmode": "verify-al"}, "did you mean `verify-"),
        ("postgresql", {"sslmode": "allow"}, "known: disable"),
        ("postgresql", {"sslrootcert": "/nowhere.crt"}, "no such file: /nowhere.crt"),
        ("mysql", {"ssl-mode": "REQUIRED", "sslmode": "require"}, "given twice"),
    ],
)
def test_what_is_no_option_is_told(engine: str, given: dict[str, str], words: str) -> None:
    with pytest.raises(InputError) as wrong:
        split_tls(OPTIONS[engine], given, "url")
    assert words in str(wrong.value)
