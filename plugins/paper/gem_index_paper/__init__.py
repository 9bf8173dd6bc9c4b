"""The paper's tables again: its supervised tasks, its ablation, its figure, its examples and its running times."""
