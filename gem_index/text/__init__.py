"""Text before it becomes vectors or terms: tokens, weights, pieces, sections, and normal forms."""
