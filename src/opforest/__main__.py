"""The command line as ``python -m opforest``, where ``opforest`` is not on the path."""

from opforest.apps.cli.main import main

if __name__ == "__main__":
    main()
