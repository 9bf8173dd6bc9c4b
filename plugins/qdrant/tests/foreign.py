"""Collections and aliases of somebody else, which a push must leave alone."""

from __future__ import annotations

from contextlib import AbstractContextManager

from qdrant_client import QdrantClient, models


class ForeignCollections:
    """What the contract needs of a client of the user."""

    foreign_tables = ("a collection", "an alias", "an alias of a generation")

    def client(self, url: str) -> AbstractContextManager[QdrantClient]:
        """Return a client of the place of a URL."""
        raise NotImplementedError

    def occupy(self, url: str, what: str) -> None:
        name = {"a collection": "faq", "an alias": "mine"}.get(what, "faq__gem_1")
        with self.client(url) as client:
            vectors = models.VectorParams(size=2, distance=models.Distance.DOT)
            client.create_collection(name, vectors)
            if name != "faq":
                alias = models.CreateAlias(collection_name=name, alias_name="faq")
                client.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])
            client.upsert("faq", [models.PointStruct(id=1, vector=[1, 2], payload={"a": 1})])

    id_field = "id"

    def fill(self, url: str, records) -> None:
        with self.client(url) as client:
            vectors = models.VectorParams(size=2, distance=models.Distance.DOT)
            client.create_collection("faq", vectors)
            points = [
                models.PointStruct(
                    id=each["key"],
                    vector=each["vector"],
                    payload={"body": each["body"], "year": each["year"]},
                )
                for each in records
            ]
            client.upsert("faq", points)

    def stored(self, url: str) -> tuple:
        with self.client(url) as client:
            names = {each.name for each in client.get_collections().collections}
            point = client.scroll("faq", with_vectors=True)[0][0]
            return names, point.payload, point.vector
