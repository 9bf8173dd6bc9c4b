"""No test leaves results or data in the user's caches: set before MTEB is imported."""

from __future__ import annotations

import os
import tempfile

os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="mteb-gem-hub-")
os.environ["MTEB_CACHE"] = tempfile.mkdtemp(prefix="mteb-gem-results-")
