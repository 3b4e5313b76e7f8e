"""Layer 4: the command line, ``opforest``. It needs typer and rich, which are an extra."""
