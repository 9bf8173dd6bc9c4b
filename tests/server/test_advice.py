"""What a server advises: by its routes and parameters, never by calls of Python or by commands."""

import pytest

from gem_index.errors import Action, Advice, DiskError, InputError, UnknownNameError
from gem_index.server.errors import message_for


@pytest.mark.parametrize(
    ("action", "values", "told"),
    [
        (Action.MAKE_COLLECTION, {}, "make one with POST /collections"),
        (Action.REFIT, {"collection": "faq"}, "POST /collections/faq/refit"),
        (Action.NAME_FIELD, {"field": "text"}, "name the field of the text in text_field"),
        (Action.NAME_ENCODING, {"encoding": "auto"}, "name the file's encoding, as encoding=auto"),
        (Action.IMPORT_EXPORT, {}, "import it into the server's home"),
    ],
)
def test_clients_are_told_routes(action, values, told):
    assert message_for(InputError("x", Advice(action, values))) == f"x: {told}"


def test_an_unknown_name():
    error = UnknownNameError("collection", "faq", [], Advice(Action.MAKE_COLLECTION))
    assert message_for(error) == (
        "no collection is named 'faq': there is none yet; make one with POST /collections"
    )


def test_what_clients_are_not_told():
    error = DiskError("/home/x is full", Advice(Action.CHECK_HOME))
    assert message_for(error) == "the disk failed or is full; the server's log says more"
    assert message_for(ValueError("x")) == "x"
