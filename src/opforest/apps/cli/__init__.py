"""The command line, ``opforest``; it needs typer and rich, of the extra ``cli``."""
