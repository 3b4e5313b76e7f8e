"""Read decompression bombs in a process with little memory.

Called with a folder, it prints a line for each: its name, the seconds it took, and the error.
"""

import gzip
import resource
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import zstandard

from opforest.errors import DataFileError
from opforest.io.columns.table import ReadOptions
from opforest.io.tables import read_chunks, read_table

SOME = b"0,0\n" * (1 << 22)  # 16 MB
SPARE = 768 << 20


def make(folder):
    """Return bombs of 256 MB and more; members of gzip and zstandard may simply be repeated."""
    (folder / "a.csv.gz").write_bytes(gzip.compress(SOME) * 16)
    (folder / "a.npy.zst").write_bytes(zstandard.compress(SOME) * 64)
    (folder / "one-row.csv.gz").write_bytes(gzip.compress(bytes([48]) * len(SOME)) * 16)
    np.savez_compressed(folder / "a.npz", X=np.zeros((1 << 20, 32)))
    with zipfile.ZipFile(folder / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * len(SOME) * 16)
    return sorted(folder.iterdir())


def limit():
    """Limit this process to a little more memory than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + SPARE
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    bombs = make(Path(sys.argv[1]))
    (Path(sys.argv[1]) / "small.csv").write_text("a,class\n1,x\n2,y\n")
    read_table(Path(sys.argv[1]) / "small.csv")  # starts all threads
    limit()
    for bomb in bombs:
        begin, said = time.process_time(), "read"
        try:
            for _ in read_chunks(bomb, ReadOptions(label="1")):
                pass
        except DataFileError as error:
            said = str(error)
        print(bomb.name, time.process_time() - begin, said, sep="\t")
