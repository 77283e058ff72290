"""The experiment with a dictionary, made smaller for tests."""

from dbdyno.base.resources import package_path


def tenth() -> str:
    """The experiment with a tenth of the words in which nothing is searched for."""
    text = package_path("experiments", "dictionary-search.toml").read_text()
    for more, fewer in (("rows = 788_792\n", "rows = 78_792\n"), ("rows = 100_000\n", "rows = 10_000\n")):
        assert text.count(more) == 1
        text = text.replace(more, fewer)
    return text
