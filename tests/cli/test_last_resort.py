"""Errors that no command expects, and interrupts."""

import io
import sys

import pytest
import typer
import typer.core

from gem_index import GemEncoder, Home
from gem_index_cli.main import main


class TestLastResort:
    @pytest.mark.parametrize(
        ("error", "message"),
        [
            (MemoryError(), "out of memory; give the input in smaller files"),
            (OSError(5, "Input/output error", "/dev/sdz"), "input/output error: /dev/sdz"),
            (OSError("strange"), "strange: a file"),
        ],
    )
    def test_system_errors_are_one_line(self, gem, monkeypatch, error, message):
        def refuse(_):
            raise error

        monkeypatch.setattr(Home, "collections", refuse)
        answer = gem("status")
        assert (answer.status, answer.out) == (1, "")
        assert answer.err.startswith(f"Error: {message}")
        assert answer.err.count("\n") == 1

    def test_a_fault_of_ours_is_shown_whole_and_said_to_be_one(self, gem, monkeypatch):
        def fail(_):
            raise ZeroDivisionError("of ours")

        monkeypatch.setattr(Home, "collections", fail)
        answer = gem("status")
        *trace, last = answer.err.splitlines()
        assert answer.status == 1
        assert trace[0].startswith("Traceback")
        assert trace[-1] == "ZeroDivisionError: of ours"
        assert last == "Error: this is a fault in gem-index; please report the lines above"

    def test_an_interrupt_reports_the_stored_documents(self, gem, faq_file, monkeypatch):
        def interrupt(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(GemEncoder, "fit", interrupt)
        answer = gem("build", "faq", faq_file)
        assert (answer.status, answer.out) == (130, "")
        assert answer.err.strip().startswith("Error: interrupted; ")
        assert "gem-index refit faq" in answer.err
        monkeypatch.undo()
        assert gem("search", "faq", "visa", "--json").json[0]["id"].startswith("v")

    def test_an_interrupt_while_arguments_are_parsed_is_told(self, gem, monkeypatch):
        def interrupt(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(typer.core.TyperGroup, "parse_args", interrupt)
        answer = gem("status")
        assert (answer.status, answer.out, answer.err) == (130, "", "Error: interrupted\n")

    def test_a_line_is_never_endless(self, gem):
        answer = gem("x" * 50_000)
        assert answer.status == 2
        assert answer.err.startswith("Error: No such command 'xxx")
        assert answer.err.endswith("x…\n")
        assert len(answer.err) < 2100

    def test_streams_that_are_not_files_are_written_to(self, monkeypatch):
        monkeypatch.setattr(sys, "argv", ["gem-index", "--version"])
        monkeypatch.setattr(sys, "stdout", io.StringIO())
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        assert sys.stdout.getvalue().startswith("gem-index ")
