"""The command line: ``python -m opforest`` is the same as ``opforest``."""

from opforest.apps.cli.main import main

if __name__ == "__main__":
    main()
