"""Collections and aliases of somebody else, which a push must leave alone."""

from __future__ import annotations

from contextlib import AbstractContextManager
from uuid import UUID

from pymilvus import DataType, MilvusClient


def own_collection(client: MilvusClient, name: str) -> None:
    """Create a collection of a user."""
    fields = MilvusClient.create_schema()
    fields.add_field("n", DataType.INT64, is_primary=True)
    fields.add_field("v", DataType.FLOAT_VECTOR, dim=2)
    index = MilvusClient.prepare_index_params()
    index.add_index("v", index_type="FLAT", metric_type="L2")
    client.create_collection(name, schema=fields, index_params=index)
    client.insert(name, [{"n": 1, "v": [1, 2]}])


class ForeignCollections:
    """What the contract needs of a client of the user."""

    foreign_tables = ("a collection", "an alias", "an alias of a generation")

    def client(self, url: str) -> AbstractContextManager[MilvusClient]:
        """Return a client of the place of a URL."""
        raise NotImplementedError

    def occupy(self, url: str, what: str) -> None:
        name = {"a collection": "faq", "an alias": "mine"}.get(what, "faq__gem_1")
        with self.client(url) as client:
            own_collection(client, name)
            if name != "faq":
                client.create_alias(name, "faq")

    def fill(self, url: str, records) -> None:
        with self.client(url) as client:
            fields = MilvusClient.create_schema(enable_dynamic_field=True)
            fields.add_field("key", DataType.VARCHAR, is_primary=True, max_length=64)
            fields.add_field("body", DataType.VARCHAR, max_length=200)
            fields.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
            index = MilvusClient.prepare_index_params()
            index.add_index("vector", index_type="FLAT", metric_type="L2")
            client.create_collection("faq", schema=fields, index_params=index)
            for begin in range(0, len(records), 1000):
                client.insert("faq", list(records[begin : begin + 1000]))

    def stored(self, url: str) -> tuple:
        with self.client(url) as client:
            client.load_collection("faq")
            names = set(client.list_collections())
            key = client.describe_collection("faq")["fields"][0]["name"]
            # `get` would take the name of the key from pymilvus' cache, which outlives a server on the same port.
            first = "1" if key == "n" else f'"{UUID(int=1)}"'
            found = client.query("faq", filter=f"{key} == {first}", output_fields=["*"])
            return names, [dict(row) for row in found]
