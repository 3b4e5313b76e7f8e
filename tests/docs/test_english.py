"""Phrases that readers stumble over are not used, and comments are whole thoughts."""

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "docs", "examples", "benchmarks", ".github")
SUFFIXES = {".py", ".md", ".txt", ".js", ".html", ".yml"}
FRONT = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")

#: What must not be written, and what to write instead.
PHRASES = {
    r"the same bits|bit by bit": "bit for bit; identical",
    r"the very (model|forest|tree)": "exactly the model",
    r"training on (all|the others|the rest|all examples) would give": "the model refitted on …",
    r"than which": "a lower bound on …",
    r"that the file is not as long as": "never more than the size of the file",
    r"pays? from": "worthwhile above …",
    r"say that you know": "confirm that you accept …",
    r"stood in while": "placeholder",
}

#: A comment after code that begins like this goes on with the sentence that the code began.
CONTINUES = re.compile(r"# (has|have|is|are|was|were|compiles|makes|keeps|takes|which|whose)\b")


def texts():
    """Yield all files that people read, but for this one and what is generated."""
    for name in FRONT:
        if (ROOT / name).exists():
            yield ROOT / name
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            made = {"_build", "generated", "backreferences", "gallery", "golden", "__pycache__"}
            if path.suffix in SUFFIXES and not made & set(path.parts) and path != Path(__file__):
                yield path


@pytest.mark.parametrize(("phrase", "better"), PHRASES.items())
def test_phrases_that_must_be_read_twice_are_gone(phrase, better):
    pattern = re.compile(rf"\b({phrase})\b".replace(" ", r"[\s#]+"), re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}: {' '.join(match[0].split())!r} (write: {better})"
        for path in texts()
        for match in pattern.finditer(path.read_text("utf-8"))
    ]
    assert found == []


def test_comments_do_not_go_on_with_the_grammar_of_the_code():
    found = []
    for path in texts():
        if path.suffix != ".py":
            continue
        source = path.read_text("utf-8")
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            is_after_code = token.line[: token.start[1]].strip()
            if token.type == tokenize.COMMENT and is_after_code and CONTINUES.match(token.string):
                found.append(f"{path.relative_to(ROOT)}:{token.start[0]}: {token.string}")
    assert found == []
