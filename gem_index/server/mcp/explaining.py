"""The tool that explains a text, or why two match."""

from __future__ import annotations

from pydantic import BaseModel, Field

from gem_index.collection import Collection
from gem_index.collection.push.searching import SearchedTarget
from gem_index.gem.combined import CombinedExplanation, Encoder
from gem_index.gem.matches import MatchExplanation
from gem_index.server.mcp.shared import (
    Answer,
    Arguments,
    CollectionName,
    Rounded,
    SharedCollections,
)

__all__ = ["ExplainAnswer", "ExplainArguments", "WordPair", "explain", "pairs_of"]

_PAIRS = 20  # of two texts' words are returned


class WordPair(BaseModel):
    """A word of each text, and how much the two add to the cosine."""

    first: str = Field(description="A word of the query, or of the first text.")
    second: str = Field(description="A word of the found text, or of the second text.")
    share: Rounded = Field(description="How much the two words add to the cosine.")


class ExplainArguments(Arguments):
    """A text, or two."""

    collection: CollectionName
    text: str = Field(description="A query or any other text.", min_length=1, max_length=4000)
    other: str | None = Field(
        default=None,
        alias="with",
        min_length=1,
        max_length=4000,
        description="Another text; the answer then shows which words make the two texts match.",
    )


class Word(BaseModel):
    """The share of a word in a text's vector, and its weights."""

    token: str
    known: bool = Field(description="Whether the model has a vector of it.")
    share: Rounded = Field(description="How much it adds to the vector; the shares add up to 1.")
    alpha_n: Rounded = Field(
        description="Novelty: how much of its meaning the words around it do not carry."
    )
    alpha_s: Rounded = Field(description="Significance: how large this new part of its meaning is.")
    alpha_u: Rounded = Field(
        description="Uniqueness: how different it is from what all texts have in common."
    )
    alpha: Rounded = Field(description="Its weight, the sum of the three.")


class EncoderWords(BaseModel):
    """The shares and weights of a text's words in one encoder; a collection may have several."""

    weight: Rounded
    words: list[Word]


class Match(BaseModel):
    """Why two texts match."""

    cosine: Rounded = Field(description="How alike the two are in meaning, -1 to 1.")
    pairs: list[WordPair] = Field(description="The strongest pairs of words, strongest first.")


class ExplainAnswer(Answer):
    """The shares and weights of words, or why two texts match."""

    encoders: list[EncoderWords] | None = None
    match: Match | None = None

    @property
    def summary(self) -> str:
        """The collection and the text."""
        if self.match is not None:
            return f"The cosine of the two texts is {self.match.cosine:.3f}."
        return "The share of each word in the vector of the text."


async def explain(shared: SharedCollections, asked: ExplainArguments) -> ExplainAnswer:
    """Return how much each word of a text adds to its vector, or why two texts match."""
    text, *others = shared.context.check_texts(
        [asked.text] if asked.other is None else [asked.text, asked.other]
    )

    def work(collection: Collection | SearchedTarget) -> ExplainAnswer:
        encoder = collection.encoder
        if not others:
            return ExplainAnswer(encoders=_weights(encoder, text))
        found = encoder.explain_match(text, others[0])
        return ExplainAnswer(match=Match(cosine=found.cosine, pairs=pairs_of(found, _PAIRS)))

    return await shared.ask_searched(asked.collection, work, pool="alone")


def _weights(encoder: Encoder, text: str) -> list[EncoderWords]:
    found = encoder.explain(text)
    parts = (
        [(each.weight, each.explanation) for each in found.encoders]
        if isinstance(found, CombinedExplanation)
        else [(1.0, found)]
    )
    return [
        EncoderWords(
            weight=weight,
            words=[
                Word(
                    token=word.token,
                    known=word.known,
                    share=word.share,
                    alpha_n=word.alpha_n,
                    alpha_s=word.alpha_s,
                    alpha_u=word.alpha_u,
                    alpha=word.alpha,
                )
                for word in explanation.words
            ],
        )
        for weight, explanation in parts
    ]


def pairs_of(match: MatchExplanation, most: int) -> list[WordPair]:
    """Return the pairs of words that add most to a cosine."""
    return [
        WordPair(
            first=match.first_words[pair.first].token,
            second=match.second_words[pair.second].token,
            share=pair.share,
        )
        for pair in match.pairs[:most]
    ]
