from .batches import TokenBatch as TokenBatch
from .components import Components as Components
from .components import CorpusStatistics as CorpusStatistics
