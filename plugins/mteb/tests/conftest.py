"""No test asks a server, and none leaves results in the user's cache: set before MTEB is imported."""

from __future__ import annotations

import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="mteb-gem-hub-")
os.environ["MTEB_CACHE"] = tempfile.mkdtemp(prefix="mteb-gem-results-")
