"""What is raised where a file is not what it should be."""

from opforest.errors import DataFileError, ModelFileError

__all__ = ["DataFileError", "ModelFileError"]
