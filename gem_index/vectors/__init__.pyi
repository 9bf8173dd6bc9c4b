from .base import VectorSource as VectorSource
from .formats.gensim import KeyedVectorsLike as KeyedVectorsLike
from .options import SourceOptions as SourceOptions
