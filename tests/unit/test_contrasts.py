"""Contrasts of short texts: negations in each language of the list, numbers, and the order of words."""

import pytest

from gem_index.text.contrasts import SHORT, contrast_of, text_facts
from gem_index.text.opposites import opposite_signs
from gem_index.text.tokens import frequent_english, tokenize


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


@pytest.mark.parametrize(
    ("one", "copy", "other"),
    [
        ("2015年黑豹队在哪里比赛", "2015年黑豹队在里哪比赛", "2016年黑豹队在哪里比赛"),
        ("型号A4纸多少钱", "型号A4纸少多钱", "型号A3纸多少钱"),
        ("ロンドンまで3時間です", "ロンンドまで3時間です", "ロンドンまで4時間です"),
        ("กรุงเทพมี50เขต", "กรุงทเพมี50เขต", "กรุงเทพมี51เขต"),
    ],
)
def test_without_blanks_a_typing_error_beside_a_number_is_no_contrast(one, copy, other):
    """There a whole sentence can be one token; only its number is compared."""
    assert contrast(one, copy) is None
    assert contrast(one, other) == "number"


def test_the_facts_of_a_text():
    facts = text_facts("7 3 cats", ["7", "3", "cats"])
    assert (facts.negated, facts.numbers) == (False, ("3", "7"))
    assert contrast("7 cats, 3 dogs", "3 dogs, 7 cats") == "order"
    assert contrast("I DO log in", "I DON'T log in") == "negation"


def test_a_short_text_has_at_most_a_hundred_characters():
    at_most, longer = "7" + "x" * (SHORT - 1), "7" + "x" * SHORT
    assert SHORT == 100
    assert text_facts(at_most, [at_most]).numbers == (at_most,)
    assert text_facts(longer, [longer]) == text_facts("", [])._replace(words=0, order=0)


def test_directions():
    assert opposite_signs(["berlin", "to", "hamburg"]) == {"berlin hamburg": 1}
    assert opposite_signs(["hamburg", "to", "berlin"]) == {"berlin hamburg": -1}
    assert opposite_signs(["berlin", "to", "berlin"]) == {}
    frequent = frequent_english()
    assert opposite_signs(["berlin", "to", frequent[299]]) == {}
    assert len(opposite_signs(["berlin", "to", frequent[300]])) == 1
    one, other = "trains berlin to hamburg", "trains please hamburg to berlin"
    assert contrast(one, other) == "order"


def test_a_number_and_the_order_of_words_are_contrasts():
    assert contrast("form 12 is open", "form 13 is open") == "number"
    assert contrast("Paris to London", "London to Paris") == "order"
    assert contrast("how do I log in", "how can I log in") is None
    assert contrast("where do I log in when I travel", "where do I log in") is None


def test_a_long_text_is_in_contrast_to_no_other_long_text():
    long = "word " * SHORT
    assert contrast(f"{long} 1", f"{long} not 2") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I turn on notifications", "How do I turn off notifications"),
        ("Enable the camera", "Disable the camera"),
        ("Turn on messages on my phone", "Turn off messages on my phone"),
        ("Subscribe to the letter", "Unsubscribe from the letter"),
        ("Wo kann ich ein Konto öffnen", "Wo kann ich ein Konto schließen"),
        ("Comment activer la carte", "Comment désactiver la carte"),
        ("Cómo abrir la cuenta", "Cómo cerrar la cuenta"),
        ("Как включить телефон", "Как выключить телефон"),
        ("When did the movement begin", "Where did the movement begin"),
        ("Wann beginnt der Kurs", "Wo beginnt der Kurs"),
        ("متى يبدأ المعرض", "أين يبدأ المعرض"),
    ],
)
def test_opposites_are_a_contrast(one, other):
    assert contrast(one, other) == contrast(other, one) == "opposite"
    assert contrast(one, one) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Flights from Paris to London please", "A flight from London to Paris"),
        ("Von Berlin nach Hamburg fahren", "Fahren von Hamburg nach Berlin"),
        ("Convert dollars into euros", "How can I convert euros into dollars"),
    ],
)
def test_a_direction_is_a_contrast_in_other_words_too(one, other):
    assert contrast(one, other) == contrast(other, one) == "order"


def test_words_of_both_sides_and_no_direction_are_no_contrast():
    assert contrast("I want to know how to open it", "How to open it, I want to know it") is None
    assert contrast("turn off the light on the stairs", "switch off the light") is None
