"""The house: documents say what the code does, and imports point down."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
sys.path.insert(0, str(ROOT / "tools"))

import check_purity  # noqa: E402 (a script, found through the line above)
import finding_codes  # noqa: E402 (as above)
import generate_errors  # noqa: E402 (as above)

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
ELLIPSIS = "..."


def run(command: list[str], folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command with our own commands first on the path."""
    path = f"{BIN}:/usr/local/bin:/usr/bin:/bin"
    return subprocess.run(
        command, cwd=folder, env={"PATH": path}, capture_output=True, text=True, check=False
    )


def console_examples(text: str) -> Iterator[tuple[str, list[str]]]:
    """Give each command of the ``console`` blocks with the lines that it should print."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *output = example.replace("\\\n", "").splitlines()
            yield command, output


def missing_line(expected: list[str], printed: str) -> str | None:
    """Give the first expected line that is not printed where it should be.

    Lines follow each other, except that ``...`` stands for any number of lines.
    """
    rest = [line.rstrip() for line in printed.splitlines()]
    anywhere = False
    for line in expected:
        if line.strip() == ELLIPSIS:
            anywhere = True
            continue
        if line.rstrip() not in (rest if anywhere else rest[:1]):
            return line
        rest = rest[rest.index(line.rstrip()) + 1 :]
        anywhere = False
    return None


def test_the_commands_of_the_readme_do_what_it_shows(tmp_path: Path) -> None:
    """Each console example of the README runs, one after another, and prints what is shown."""
    for folder in ("tests", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    examples = list(console_examples((ROOT / "README.md").read_text(encoding="utf-8")))
    ours = [(command, output) for command, output in examples if not command.startswith("make ")]

    for command, output in ours:
        done = run(["bash", "-c", command], tmp_path)

        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert missing_line(output, done.stdout) is None, f"{command}: {done.stdout}"
    assert ours


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", ".ci/run", "docs/errors.md"])
def test_every_make_target_that_is_named_exists(name: str) -> None:
    """A target that a document or CI names is one that make knows."""
    named = set(re.findall(r"\bmake ([a-z]+)\b", (ROOT / name).read_text(encoding="utf-8")))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    known = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))

    assert named
    assert named <= known


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_between_documents_leads_somewhere(document: Path) -> None:
    """A relative link of a document names a file that is there."""
    text = document.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)

    broken = [target for target in targets if not (document.parent / target).exists()]

    assert broken == []


def test_the_examples_of_the_style_are_real() -> None:
    """Each Python example of STYLE.md stands, word for word, in the file that it names."""
    text = (ROOT / "STYLE.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n# (\S+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)

    invented = [
        name for name, code in examples if code not in (ROOT / name).read_text(encoding="utf-8")
    ]

    assert examples
    assert invented == []


def test_every_rule_of_the_specification_stands_once() -> None:
    """The specification holds rules 1 to 68 and r1 to r37, each in one place."""
    files = sorted(ROOT.glob("docs/spec/*.md"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    sections = [part for part in re.split(r"^## ", text, flags=re.MULTILINE) if part[:4] == "Rule"]

    general = [int(found) for found in re.findall(r"^(\d+)\. ", "".join(sections), re.MULTILINE)]
    collectors = [int(found) for found in re.findall(r"^(?:- )?r(\d+)\. ", text, re.MULTILINE)]

    assert sorted(general) == list(range(1, 69))
    assert sorted(collectors) == list(range(1, 38))


def test_no_function_and_no_file_outgrows_the_style() -> None:
    """A function of the package has at most 60 lines and a file at most 500."""
    longest_function, longest_file = 60, 500
    outgrown = []

    for path in sorted((ROOT / "src").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        lines = {path.name: (source.count("\n"), longest_file)}
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                lines[node.name] = ((node.end_lineno or 0) - node.lineno + 1, longest_function)
        outgrown += [f"{path}: {name}" for name, (length, most) in lines.items() if length > most]

    assert outgrown == []


def test_imports_point_down() -> None:
    """The layers and the ban on the outside world hold, as import-linter sees them."""
    done = run([str(BIN / "lint-imports"), "--no-cache", "--no-logo"])

    assert done.returncode == 0, done.stdout


def test_the_core_is_pure() -> None:
    """No file from core to receipt uses a built-in that reads the world."""
    assert check_purity.main() == 0


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("open('x')", "open()"),
        ("print(1)", "print()"),
        ("from datetime import datetime\ndatetime.now()", ".now()"),
        ("import numpy as np\nnp.random.default_rng()", "np.random"),
    ],
)
def test_an_impure_use_is_seen(source: str, name: str) -> None:
    """The purity check sees what it is there to see."""
    assert [found for _, found in check_purity.impurities(source)] == [name]


def test_a_pure_use_is_left_alone() -> None:
    """Methods of our own that share a name with a built-in are no impurity."""
    assert list(check_purity.impurities("accounts.open(entry)\nnp.unique(keys)")) == []


def test_the_list_of_errors_is_current() -> None:
    """`make docs` would change nothing, and no code is made without being explained."""
    assert list(generate_errors.disagreements()) == []
    assert generate_errors.TARGET.read_text(encoding="utf-8") == generate_errors.page()


def test_every_code_has_a_test_that_provokes_it() -> None:
    """Each error and finding code is named, as code or class, by a test or an expected result."""
    errors = {each.code: each.__name__ for each in generate_errors.error_classes()}
    findings = {code for _, _, codes in finding_codes.SECTIONS for code in codes}
    this = Path(__file__)
    texts = [
        path.read_text(encoding="utf-8")
        for pattern in ("**/test_*.py", "**/expected.json")
        for path in this.parent.glob(pattern)
        if path != this
    ]

    def named(*names: str) -> bool:
        word = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names))
        return any(word.search(text) for text in texts)

    unprovoked = [code for code in sorted(findings) if not named(code)]
    unprovoked += [code for code, name in sorted(errors.items()) if not named(code, name)]

    assert unprovoked == []
