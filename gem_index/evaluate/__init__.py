"""Evaluation: data sets, metrics, and the baselines that GEM is compared with."""
