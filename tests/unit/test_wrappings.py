"""Marks of replies and closing greetings, which are no part of a wording."""

import pytest

from gem_index.text.wrappings import unwrap


@pytest.mark.parametrize(
    ("wrapped", "bare"),
    [
        ("FWD: Re: Where is my order? Thanks, Anna", "Where is my order?"),
        ("re[2]: AW: Wo ist mein Paket?\nViele Grüße\nAnna Maria", "Wo ist mein Paket?"),
        ("TR: Où est mon colis ? Cordialement, Anne-Marie", "Où est mon colis ?"),
        ("Fwd: my card is lost. Regards", "my card is lost."),
        ("Please help. Thanks Ann Mary Smith", "Please help."),  # three words of a name
        ("re[12]: hello", "hello"),
        (f"Please help. Vielen Dank, {'x' * 80}", "Please help."),
        ("回复\uff1a我的卡丢了。谢谢", "我的卡丢了。"),
    ],
)
def test_what_is_around_a_text_is_removed(wrapped, bare):
    assert unwrap(wrapped) == bare


@pytest.mark.parametrize(
    "text",
    [
        "How do I say thanks in German?",
        "Thanks, Anna",
        "Please help. Thanks Ann Mary Jane Smith",
        "Re: ",
        "Reset: where is the button?",
        "",
        "thanks to him we won the game yesterday evening",
    ],
)
def test_a_text_without_them_stays(text):
    assert unwrap(text) == text


def test_time_grows_as_the_text_does():
    text = "Thanks, " * 200_000
    assert unwrap(text).startswith("Thanks,")
    assert len(unwrap("Re: " * 200_000 + "a")) == 1
