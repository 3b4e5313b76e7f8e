"""The command line: ``python -m opforest`` is ``opforest``, for where that is not on the path."""

from opforest.apps.cli.main import main

if __name__ == "__main__":
    main()
