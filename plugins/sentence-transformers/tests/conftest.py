"""No test asks a server: set before huggingface_hub is imported."""

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"
