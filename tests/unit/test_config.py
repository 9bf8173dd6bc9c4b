import dataclasses
import json
import os
import re

import pytest

from gem_index.common.settings import load_settings
from gem_index.errors import ConfigError
from gem_index.gem.config import GemConfig


def test_presets_are_the_papers():
    values = {
        name: (
            c.window,
            c.n_removed,
            c.n_components,
            c.power,
            c.ranking,
            c.removal,
            c.alphas,
            c.prior,
        )
        for name in ("sts", "cqa", "transfer")
        for c in [GemConfig.preset(name)]
    }
    assert values == {
        "sts": (7, 17, 45, 3.0, "singular", "sdr", "nsu", 0.0),
        "cqa": (6, 15, 45, 3.0, "plain", "sdr", "nsu", 0.0),
        "transfer": (7, 17, 45, 3.0, "singular", "none", "nsu", 0.0),
    }


def test_preset_name_ignores_the_prior_only():
    assert GemConfig.cqa(prior=1000).preset_name == "cqa"
    assert GemConfig.cqa(window=7).preset_name == "custom"
    assert GemConfig().preset_name == "sts"


def test_a_share_of_one_is_left_out_of_what_is_hashed():
    """Models from before the field ``share`` existed keep their fingerprints."""
    before = (
        '{"alphas":"nsu","components":45,"power":3.0,"prior":0.0,"ranking":"singular","removal":"sdr",'
        '"removed":17,"window":7}'
    )
    assert GemConfig().to_json() == GemConfig(share=1).to_json() == before
    assert GemConfig.from_json(before).share == 1.0
    half = GemConfig(share=0.5)
    assert '"share":0.5' in half.to_json()
    assert GemConfig.from_json(half.to_json()) == GemConfig.of(half.to_fields()) == half


def test_alphas_are_a_set():
    assert GemConfig(alphas="un") == GemConfig(alphas="nu")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window": -1}, "window is -1; expected a whole number from 0"),
        ({"window": 1.5}, "window is 1.5"),
        ({"window": True}, "window is True"),
        ({"n_components": 0}, "n_components is 0; expected a whole number from 1"),
        ({"n_removed": 46}, "n_removed is 46 and n_components 45"),
        ({"power": 0}, "power is 0; expected a number above 0"),
        ({"power": float("nan")}, "power is nan"),
        ({"prior": -1}, "prior is -1; expected a number of at least 0"),
        ({"removal": "all"}, "removal is 'all'; expected one of sdr, sir, none"),
        ({"ranking": "best"}, "ranking is 'best'; expected singular or plain"),
        ({"share": 1.01}, "share is 1.01; expected a number from 0 to 1"),
        ({"share": -0.1}, "share is -0.1"),
        ({"share": float("nan")}, "share is nan"),
        ({"share": "half"}, "share is 'half'"),
        ({"share": True}, "share is True"),
        ({"alphas": "nx"}, "alphas is 'nx'; expected a subset of 'nsu'"),
    ],
)
def test_refuses_values_out_of_range(changes, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        GemConfig(**changes)


def test_refuses_an_unknown_preset():
    with pytest.raises(ConfigError, match="expected one of sts, cqa, transfer"):
        GemConfig.preset("stsb")


def test_json_round_trip_is_canonical():
    config = GemConfig.cqa(prior=10, alphas="sn")
    assert GemConfig.from_json(config.to_json()) == config
    assert config.to_json() == GemConfig.cqa(prior=10.0, alphas="ns").to_json()


@pytest.mark.parametrize("text", ["{", "[]", '{"windows": 7}'])
def test_refuses_json_that_is_not_a_configuration(text):
    with pytest.raises(ConfigError):
        GemConfig.from_json(text)


def test_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        GemConfig().window = 3


def test_settings_come_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path))
    monkeypatch.setenv("GEM_INDEX_THREADS", "3")
    assert load_settings().home == tmp_path
    assert load_settings().threads == 3


def test_threads_default_to_the_processors_of_this_process():
    assert load_settings().threads == len(os.sched_getaffinity(0))


def test_threads_are_all_processors_where_a_process_cannot_be_asked(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")  # macOS
    assert load_settings().threads == os.cpu_count()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("THREADS", "many", "a whole number from 1 to 1024"),
        ("THREADS", "0", "a whole number from 1 to 1024"),
        ("THREADS", "1025", "a whole number from 1 to 1024"),
        ("MAX_RECORD_BYTES", "1023", "a whole number of at least 1024"),
        ("SYNCHRONOUS", "FULL", "full or normal"),
        ("LOCK_TIMEOUT", "-1", "seconds, at least 0"),
        ("LOCK_TIMEOUT", "nan", "seconds, at least 0"),
        ("LOCK_TIMEOUT", "", "seconds, at least 0"),
        ("LOCK_TIMEOUT", "inf", "seconds, at least 0"),
        ("FILE_MEMORY", "268435455", "a whole number of at least 268435456"),
        ("FILE_SECONDS", "0", "seconds, more than 0"),
        ("FILE_SECONDS", "inf", "seconds, more than 0"),
        ("KERNELS", "x86-64-v2", "baseline, x86-64-v3, x86-64-v4 or debug"),
    ],
)
def test_a_bad_setting_is_named(monkeypatch, name, value, expected):
    monkeypatch.setenv(f"GEM_INDEX_{name}", value)
    with pytest.raises(ConfigError, match=f"GEM_INDEX_{name} is '{value}'; expected {expected}"):
        load_settings()


def test_every_setting_is_read(monkeypatch):
    for name, value in (("LOCK_TIMEOUT", "0"), ("MAX_RECORD_BYTES", "2048"), ("THREADS", "1024")):
        monkeypatch.setenv(f"GEM_INDEX_{name}", value)
    monkeypatch.setenv("GEM_INDEX_SYNCHRONOUS", "normal")
    monkeypatch.setenv("GEM_INDEX_FILE_MEMORY", "268435456")
    monkeypatch.setenv("GEM_INDEX_FILE_SECONDS", "0.5")
    monkeypatch.setenv("GEM_INDEX_KERNELS", "debug")
    found = load_settings()
    assert (found.file_memory, found.file_seconds, found.kernels) == (268_435_456, 0.5, "debug")
    assert (found.lock_timeout, found.max_record_bytes) == (0.0, 2048)
    assert (found.threads, found.synchronous) == (1024, "normal")


def test_fields_leave_a_prior_open_that_was_not_chosen():
    for config in (GemConfig.cqa(), GemConfig.cqa(prior=0.0), GemConfig(prior=10)):
        fields = json.loads(json.dumps(config.to_fields()))
        again = GemConfig.of(fields)
        assert again == config
        assert again.prior_chosen == config.prior_chosen == ("prior" in fields)
