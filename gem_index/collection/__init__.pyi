from .collection import Collection as Collection
from .push.searching import SearchedTarget as SearchedTarget
from .request import SearchOptions as SearchOptions
