"""Calls that a child process can import."""


def embed(vectorizer, texts):
    return vectorizer.transform(texts)


def embed_query(vectorizer, text):
    return vectorizer.transform([text])[0]


def ignore(*report):
    """A progress function that does nothing."""
