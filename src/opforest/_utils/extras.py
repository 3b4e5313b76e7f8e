"""How to install what a feature needs."""

from pathlib import Path


def install_command(extra: str) -> str:
    """Return the command that installs an extra: of this clone, or of a release.

    Examples
    --------
    >>> from opforest._utils.extras import install_command
    >>> install_command("plot").endswith("[plot]'")
    True
    """
    clone = Path(__file__).resolve().parents[3]
    is_clone = (clone / "pyproject.toml").is_file() and (clone / "src" / "opforest").is_dir()
    return f"pip install -e '{clone}[{extra}]'" if is_clone else f"pip install 'opforest[{extra}]'"
