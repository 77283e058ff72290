"""Tests of what short measurements show, which a busy machine may hide once."""

import pytest

#: Runs a test whose assertion fails anew, up to twice, with fixtures of its own. The summary names those that were run
#: again. For tests of measured rates alone: where their product is wrong, each run fails.
repeated = pytest.mark.flaky(reruns=2, only_rerun=["AssertionError"])
