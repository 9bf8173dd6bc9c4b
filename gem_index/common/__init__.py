"""What every layer may use: checks of values, JSON of unknown origin, settings, array types, fork safety, HTML tables."""
