"""Nothing is reported to anyone: set before Haystack is imported."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
