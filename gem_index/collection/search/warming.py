"""Load what a first search needs before it is asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from gem_index.collection.state.access import CollectionAccess
from gem_index.index.dense import load_faiss
from gem_index.vectors.subword import SubwordVectors

__all__ = ["warm_up"]


def warm_up(access: CollectionAccess) -> None:
    """Open the encoder, which reads and hashes files without the interpreter's lock, while FAISS is imported."""
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(_open_encoder, access)
        load_faiss()
    opening.result()


def _open_encoder(access: CollectionAccess) -> None:
    for encoder in access.encoder().encoders:
        if isinstance(encoder.vectors, SubwordVectors):
            encoder.vectors.load()
