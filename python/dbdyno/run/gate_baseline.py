"""The baseline of a gate that is measured in the same rounds: an existing system or file, or a commit to build."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno.analysis.measured.cell_pairs import SIDE
from dbdyno.base.errors import InputError, SystemFailed, reason
from dbdyno.engines import engine_named, engine_of
from dbdyno.engines.url import parse_url
from dbdyno.experiment import Experiment, load_experiment
from dbdyno.experiment.design import Cells
from dbdyno.model.experiment.levels import Level
from dbdyno.model.plan.cell import CompiledCell, ResolvedCell
from dbdyno.model.plan.system import SystemSpec
from dbdyno.runtime.supervisor.process import SupervisedProcess
from dbdyno.runtime.supervisor.task import Task
from dbdyno.runtime.workspace.workspace import Workspace

# Lines from the end of a failed build's output that the error shows.
_LINES = 10

# Suffixes of experiment files.
_FILES = (".toml", ".sql")

# Timeout of one wait for the build, in seconds; the wait returns early when the build ends.
_LOOK_S = 60.0


@dataclass(frozen=True)
class Against:
    """The baseline that is measured together with a run's own cells.

    ``name``: as typed; ``what``: a phrase that describes it; ``checkout``: the commit's directory, if it is one.
    """

    name: str
    what: str
    experiment: Experiment
    systems: list[SystemSpec]
    checkout: "Checkout | None" = None


@dataclass(frozen=True)
class Checkout:
    """A commit of the repository at ``root``, checked out at ``tree`` in a workspace."""

    root: Path
    tree: Path
    commit: str
    workspace: Workspace

    @property
    def folder(self) -> Path:
        """The current directory, in the checkout."""
        return self.tree / Path.cwd().relative_to(self.root)

    def path_in_checkout(self, path: str | None) -> str | None:
        """Return the path of a file in the checkout; a path outside the repository stays unchanged."""
        if path is None or not Path(path).absolute().resolve().is_relative_to(self.root):
            return path
        return str(self.tree / Path(path).absolute().resolve().relative_to(self.root))


@contextmanager
def against(
    reference: str,
    experiment: Experiment,
    systems: Sequence[SystemSpec],
    build: str | None,
    read: Callable[[str], Experiment] = load_experiment,
) -> Iterator[Against]:
    """Find or build the baseline: a system's URL, an experiment's file, or a commit of the current repository.

    ``read``: reads an experiment file with the options of this run.

    A commit is checked out into a temporary directory, in which the shell command ``build`` runs. Relative paths of its
    systems and its experiment start there. Raises InputError for an unknown reference, and SystemFailed if the build
    fails.
    """
    if ":" in reference and engine_named(reference.partition(":")[0]) is not None:
        _check_no_build(build, "a system")
        yield Against(reference, "the same experiment on another system", experiment, [parse_url(reference)])
    elif reference.lower().endswith(_FILES):
        _check_no_build(build, "an experiment's file")
        yield Against(reference, "another experiment's file", read(reference), list(systems))
    else:
        with _checked_out(reference) as checkout:
            if build is not None:
                _build(build, checkout, reference)
            own, exists = _experiment_at(experiment, checkout, read)
            words = f"commit {checkout.commit[:10]}" + (
                "" if exists else ", which doesn't contain the experiment, so the current one is used"
            )
            yield Against(reference, words, own, list(systems), checkout)


def _check_no_build(build: str | None, what: str) -> None:
    if build is not None:
        raise InputError("--build", f"`--against` names {what}, so `--build` has no effect", "leave it out")


@contextmanager
def _checked_out(reference: str) -> Iterator[Checkout]:
    location = f"--against {reference}"
    known = "give a commit of the repository here, a URL such as `sqlite:?source=old`, or an experiment's file"
    if shutil.which("git") is None:
        raise InputError(location, "git is not installed, which a commit needs", known)
    top = _git(Path.cwd(), "rev-parse", "--show-toplevel")
    if top.returncode != 0:
        raise InputError(
            location, "this is neither a URL nor a file, and the current directory is not in a repository", known
        )
    root = Path(top.stdout.removesuffix("\n")).resolve()
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}")
    if commit.returncode != 0:
        raise InputError(location, "the repository has no such commit", known)
    with closing(Workspace()) as workspace:
        tree = workspace.path / "tree"
        _check_out(root, commit.stdout.strip(), tree, reference)
        yield Checkout(root, tree, commit.stdout.strip(), workspace)


def _check_out(root: Path, commit: str, tree: Path, reference: str) -> None:
    """Check a commit out into a new repository, which borrows the objects of the repository at ``root``.

    The user's repository stays unchanged, even if dbdyno is killed. A worktree would be recorded in it. Raises
    SystemFailed.
    """

    def git(folder: Path, *arguments: str, given: str | None = None) -> str:
        done = _git(folder, *arguments, given=given)
        if done.returncode != 0:
            raise SystemFailed(f"git could not check out {reference}: {done.stderr.strip()}")
        return done.stdout.removesuffix("\n")

    def path_of(name: str) -> Path:
        return root / git(root, "rev-parse", "--git-path", name)

    try:
        git(root, "init", "--quiet", "--template=", str(tree))
        own = tree / ".git"
        # The configuration contains the object format, and the remote of a partial clone.
        shutil.copyfile(path_of("config"), own / "config")
        (own / "objects" / "info").mkdir(exist_ok=True)
        (own / "objects" / "info" / "alternates").write_bytes(os.fsencode(path_of("objects").resolve()) + b"\n")
        if path_of("shallow").exists():
            shutil.copyfile(path_of("shallow"), own / "shallow")
    except OSError as error:
        raise SystemFailed(f"{error.filename}: {reason(error)}") from error
    settings = {"core.bare": "false", "core.sparseCheckout": "false", "core.fsmonitor": "false"}
    settings |= {"core.worktree": str(tree), "core.hooksPath": os.devnull}
    if path_of("lfs").exists():
        settings["lfs.storage"] = str(path_of("lfs").resolve())
    for name, value in settings.items():
        git(tree, "config", name, value)
    # Builds may ask for tags and branches, as `git describe` does.
    refs = git(root, "for-each-ref", "--format=create %(refname) %(objectname)")
    # Ignore broken references in the user's repository.
    _git(tree, "update-ref", "--stdin", given=refs + "\n" if refs else "")
    git(tree, "checkout", "--quiet", "--force", "--detach", commit)


def _git(folder: Path, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    # In a Git hook, variables such as GIT_DIR would select another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=environment,
        input=given or "",
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        check=False,
    )


def _build(command: str, checkout: Checkout, reference: str) -> None:
    """Run a build in the checkout. Its processes end with dbdyno. Raises SystemFailed with the end of its output."""
    task = Task(
        command=("/bin/sh", "-c", command),
        # The command is the user's own, so it gets the whole environment.
        environment=dict(os.environ),
        directory=str(checkout.folder),
        owner=None,
        stop=(signal.SIGTERM,),
        death_signal=signal.SIGKILL,
        log=str(checkout.workspace.path / "build.log"),
    )
    process = SupervisedProcess(task, checkout.workspace.guard_pipe)
    try:
        while (ended := process.wait(_LOOK_S)) is None:
            pass
    finally:
        process.stop(0.0)
    if ended.code != 0:
        output = "\n".join(ended.output.strip().splitlines()[-_LINES:])
        raise SystemFailed(f"`{command}` ended with {ended.code} in {reference}: {output or 'it printed nothing'}")


def _experiment_at(
    experiment: Experiment, checkout: Checkout, read: Callable[[str], Experiment]
) -> tuple[Experiment, bool]:
    """Return the experiment of a commit, and whether the commit has it. Built-in experiments are always the same."""
    own = (
        checkout.path_in_checkout(experiment.location)
        if experiment.location.lower().endswith(_FILES)
        else experiment.location
    )
    if own is None or own == experiment.location:
        return experiment, True
    return (read(own), True) if Path(own).is_file() else (experiment, False)


def on_side(cells: Cells, side: str, experiment: Experiment) -> Cells:
    """Return the cells of one side of a gate, with a factor that names the side. Raises InputError."""
    if SIDE in experiment.factors:
        raise InputError(
            experiment.location, f"a gate calls a factor `{SIDE}` itself", "give the experiment's another name"
        )
    return replace(cells, cells=tuple(_on_side(cell, side) for cell in cells.cells))


def _on_side(cell: ResolvedCell, side: str) -> ResolvedCell:
    return replace(cell, id=f"{SIDE}={side},{cell.id}", levels={SIDE: Level.of(side), **cell.levels})


def as_checked_out(compiled: CompiledCell, checkout: Checkout | None) -> CompiledCell:
    """Return a cell with its system's files from a commit: a library, its source, a program, a database."""
    if checkout is None:
        return compiled
    system = replace(compiled.cell.system, folder=str(checkout.folder))
    engine = engine_of(system.engine)
    if engine.location == "file":
        path = checkout.path_in_checkout(system.database)
        if path is not None and path != system.database and not Path(path).exists():
            problem = f"commit {checkout.commit[:10]} has no file `{system.database}`, and its build doesn't create it"
            hint = "build it with `--build COMMAND`, or move it out of the repository to use it on both sides"
            raise InputError("--against", problem, hint)
        system = replace(system, database=path)
    settings = engine.at_checkout(compiled.settings, checkout.path_in_checkout)
    return replace(compiled, cell=replace(compiled.cell, system=system, settings=settings))
