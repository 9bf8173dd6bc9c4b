"""Calls of the contract, also in child processes: the texts come in batches, as MTEB passes them."""

from __future__ import annotations

from typing import Any

import mteb
from datasets import Dataset
from torch.utils.data import DataLoader

TASK = mteb.TaskMetadata(
    name="Texts",
    type="STS",
    description="Texts to embed.",
    dataset={"path": "texts", "revision": "1"},
    eval_splits=["test"],
    eval_langs=["eng-Latn"],
    main_score="cosine_spearman",
)


def embed(model: Any, texts: list[str], **kwargs: Any) -> Any:
    batches = DataLoader(Dataset.from_dict({"text": texts}), batch_size=32)
    return model.encode(batches, task_metadata=TASK, hf_split="test", hf_subset="default", **kwargs)


def embed_query(model: Any, text: str) -> Any:
    return embed(model, [text], prompt_type=mteb.types.PromptType.query)[0]
