"""Repeat the paper's tables: its supervised tasks, its ablation, its figure, its examples and its running times."""
