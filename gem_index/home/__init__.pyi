from .home import Home as Home
from .key_library import KeyLibrary as KeyLibrary
from .model_library import ModelLibrary as ModelLibrary
from .opening import EncoderChoice as EncoderChoice
from .opening import NamedProvider as NamedProvider
from .opening import find_provider as find_provider
from .vector_library import VectorLibrary as VectorLibrary
