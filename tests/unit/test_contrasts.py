"""Contrasts of short texts: negations in each language of the list, numbers, and the order of words."""

import pytest

from gem_index.text.contrasts import SHORT, contrast_of, text_facts
from gem_index.text.tokens import tokenize


def contrast(one, other):
    return contrast_of(text_facts(one, tokenize(one)), text_facts(other, tokenize(other)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I can log in", "I can not log in"),
        ("I do log in", "I don't log in"),
        ("Ich kann das Konto öffnen", "Ich kann das Konto nicht öffnen"),
        ("Je peux ouvrir le compte", "Je ne peux pas ouvrir le compte"),
        ("Lo he recibido", "Nunca lo he recibido"),
        ("posso aprire senza chiave", "posso aprire con chiave"),
        ("Posso abrir a conta", "Não posso abrir a conta"),
        ("Ik kan inloggen", "Ik kan niet inloggen"),
        ("Jag kan logga in", "Jag kan inte logga in"),
        ("Jeg kan logge ind", "Jeg kan ikke logge ind"),
        ("Jeg har vært der", "Jeg har aldri vært der"),
        ("Я могу войти", "Я не могу войти"),
        ("Bu hesap yeni", "Bu hesap yeni değil"),
        ("أستطيع الدخول", "لا أستطيع الدخول"),
        ("我能登录", "我不能登录"),
        ("開きます", "開きません"),
    ],
)
def test_a_negation_is_a_contrast_in_each_language(one, other):
    assert contrast(one, other) == contrast(other, one) == "negation"
    assert contrast(one, one) is None


def test_a_number_and_the_order_of_words_are_contrasts():
    assert contrast("form 12 is open", "form 13 is open") == "number"
    assert contrast("Paris to London", "London to Paris") == "order"
    assert contrast("how do I log in", "how can I log in") is None


def test_a_long_text_is_in_contrast_to_no_other_long_text():
    long = "word " * SHORT
    assert contrast(f"{long} 1", f"{long} not 2") is None
