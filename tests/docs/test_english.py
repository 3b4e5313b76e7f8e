"""Names and prose use the terms of the field, American spelling and plain English."""

import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUFFIXES = {".py", ".md", ".txt", ".js", ".html", ".yml"}
GENERATED = {
    "_build", "generated", "backreferences", "gallery", "reproduction", "golden", "__pycache__",
}  # fmt: skip

#: Where the glossary holds. The changelog is not listed: it mentions old names.
SCOPES = {
    "front": ["README.md", "CONTRIBUTING.md", "SECURITY.md"],
    "docs": ["docs"],
    "examples": ["examples"],
    "benchmarks": ["benchmarks"],
    "src": ["src"],
    "tests": ["tests"],
}
EVERYWHERE = [
    *(name for names in SCOPES.values() for name in names),
    "CHANGELOG.md", "CODE_OF_CONDUCT.md", "tests", ".github",
]  # fmt: skip

#: Words that no identifier contains, and the terms to use instead.
WORDS = {
    "alien": "foreign",
    "anew": "again",
    "blame": "locate_errors",
    "crossing": "n_cut_edges",
    "doomed": "to_remove",
    "doubtful": "invalidated",
    "doubts": "invalidated",
    "eldest": "oldest",
    "gaps": "distances",
    "hill": "peak",
    "hills": "peaks",
    "holes": "n_deleted, missing",
    "living": "alive",
    "obtain": "fetch",
    "reprice": "update_min_cost",
    "sharpness": "exponent, CostCalibration",
    "tally": "counters",
    "tidy": "compact",
    "undisturbed": "defer_interrupts",
    "ways": "paths, seed_parent",
}

#: Identifiers that were replaced as a whole.
NAMES = {
    "Answering": "Session, ModelReplica",
    "Examples": "ForestStorage",
    "Expected": "InputSchema",
    "Found": "SearchResult",
    "Grown": "DensityForestState",
    "Guard": "SecurityMiddleware",
    "Holder": "ReadWriteLock",
    "How": "ReadOptions",
    "Hub": "EventBroker",
    "Kept": "SearchCache",
    "Kind": "Serializer",
    "KnownExamples": "ForestQueries",
    "Learned": "FittedForest",
    "Measured": "NeighborGraph; a noun",
    "Meter": "RequestMetrics",
    "OpenStore": "Session, ModelReplica",
    "Parts": "ForestState",
    "Reading": "ReadOptions",
    "Round": "PruningStep",
    "Saved": "ModelFile",
    "SharedLock": "ReadWriteLock",
    "TOP": "MAX_DENSITY",
    "Taken": "EstimatorState",
    "find_way_out": "min_outgoing_edge",
    "held_out": "validation_fraction",
    "is_copy": "is_duplicate",
    "join_pieces": "reconnect",
    "largest_below": "heaviest_to_ancestor",
    "put_together": "build_checked",
}

#: Phrases that prose does not use, as regular expressions, and better ones.
PHRASES = {
    r"anew": "again",
    r"at the (most|least)": "at most, at least",
    r"dear(er|est)": "more expensive, largest cost",
    r"distances need scales": "scale your features first",
    r"doomed": "to be removed",
    r"eldest": "oldest",
    r"(falls?|fell|breaks?) into pieces": "splits into components",
    r"hills?": "peak",
    r"is none of": "is not",
    r"says? (so|in a ValueError)": "reports it; raises a ValueError",
    r"(?<!\")sharpness": "exponent",  # model files have the key "sharpness"
    r"so many": "that many",
    r"tall(y|ies)": "counters",
    r"tell whether": "return whether",
    r"way out": "outgoing edge",
    r"whoever|nobody": "the example that; no example",
}

#: Phrases that are used nowhere, not even in tests.
UNCLEAR = {
    r"the same bits|bit by bit": "bit for bit; identical",
    r"the very (model|forest|tree)": "exactly the model",
    r"training on (all|the others|the rest|all examples) would give": "the model refitted on …",
    r"than which": "a lower bound on …",
    r"that the file is not as long as": "never more than the size of the file",
    r"pays? from": "worthwhile above …",
    r"say that you know": "confirm that you accept …",
    r"stood in while": "placeholder",
}

#: British spellings: whole words, and stems before -ise, -ised, -ising or -isation.
BRITISH = re.compile(
    r"\b(un)?label(led|ling)\b|\bmodel(led|ling)\b|\b\w*(colour|behaviour|neighbour|favour)\w*"
    r"|\bcent(re|red|res|ring)\b|\bmetres?\b|\bgrey(er|ed|scale)?\b|\blicence\w*|\bcatalogue\w*"
    r"|\banalys(e|ed|es|ing)\b|\bartefacts?\b|\b(misspelt|learnt|whilst|judgement|programme)\b"
    r"|\b\w*(normal|optim|standard|summar|initial|serial|recogn|minim|maxim|organ|real|token"
    r"|vector|random|general|special|categor|visual|penal|critic|synchron|parallel|final|memo"
    r"|author|emphas|character|discret|regular|custom)is(e|ed|es|er|ing|ations?)\b",
    re.IGNORECASE,
)

#: A comment after code that begins like this goes on with the sentence that the code began.
CONTINUES = re.compile(r"# (has|have|is|are|was|were|compiles|makes|keeps|takes|which|whose)\b")


def texts(names):
    """Yield the files that people read, except generated ones and this one."""
    for name in names:
        paths = [ROOT / name] if name.endswith(".md") else sorted((ROOT / name).rglob("*"))
        for path in paths:
            is_text = path.suffix in SUFFIXES and path.is_file()
            if is_text and not GENERATED & set(path.parts) and path != Path(__file__):
                yield path


@cache
def tokens(path):
    return list(tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline))


@cache
def prose(path):
    """Return a text without its code: of Python files, comments and strings of several words."""
    if path.suffix == ".py":
        kinds = (tokenize.COMMENT, tokenize.STRING)
        found = (token.string for token in tokens(path) if token.type in kinds)
        parts = (text for text in found if " " in text)  # others are keys, such as "sharpness"
        return re.sub(r"``.*?``", "", "\n".join(parts), flags=re.DOTALL)
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        text = re.sub(r"`[^`\n]*`", "", text)
    return text


def find(pattern, text):
    """Return the matches of a phrase, whose words may be on two lines of a comment."""
    pattern = rf"\b({pattern})\b".replace(" ", r"[\s#]+")
    return [" ".join(match[0].split()) for match in re.finditer(pattern, text, re.IGNORECASE)]


@cache
def replaced(identifier):
    """Return the terms to use instead of an identifier, or of the words in it."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier)
    found = [WORDS[word.lower()] for word in words if word.lower() in WORDS]
    return [NAMES[identifier]] if identifier in NAMES else found


@pytest.mark.parametrize("scope", SCOPES)
def test_identifiers_are_terms_of_the_field(scope):
    found = {
        f"{path.relative_to(ROOT)}: {token.string} (use: {', '.join(replaced(token.string))})"
        for path in texts(SCOPES[scope])
        if path.suffix == ".py"
        for token in tokens(path)
        if token.type == tokenize.NAME and replaced(token.string)
    }
    assert sorted(found) == []


@pytest.mark.parametrize("scope", SCOPES)
def test_prose_uses_terms_of_the_field_and_plain_english(scope):
    found = [
        f"{path.relative_to(ROOT)}: {match!r} (write: {better})"
        for path in texts(SCOPES[scope])
        for phrase, better in PHRASES.items()
        for match in find(phrase, prose(path))
    ]
    assert found == []


@pytest.mark.parametrize("scope", SCOPES)
def test_spelling_is_american(scope):
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in texts(SCOPES[scope])
        for match in BRITISH.finditer(prose(path))
    ]
    assert found == []


@pytest.mark.parametrize(("phrase", "better"), UNCLEAR.items())
def test_unclear_phrases_are_not_used(phrase, better):
    found = [
        f"{path.relative_to(ROOT)}: {match!r} (write: {better})"
        for path in texts(EVERYWHERE)
        for match in find(phrase, path.read_text("utf-8"))
    ]
    assert found == []


def test_comments_do_not_continue_the_grammar_of_the_code():
    found = []
    for path in texts(EVERYWHERE):
        if path.suffix != ".py":
            continue
        for token in tokens(path):
            is_after_code = token.line[: token.start[1]].strip()
            if token.type == tokenize.COMMENT and is_after_code and CONTINUES.match(token.string):
                found.append(f"{path.relative_to(ROOT)}:{token.start[0]}: {token.string}")
    assert found == []
