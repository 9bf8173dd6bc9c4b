"""The examples at the end of each command's help."""

from __future__ import annotations

from collections.abc import Iterator

import typer

__all__ = ["EXAMPLES", "add_examples"]

EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("gem-index demo",),
    "build": (
        "gem-index build faq questions.jsonl",
        "gem-index build faq posts.csv --id-field number --text-field subject --text-field body",
        """gem-index build faq courses.csv --types '{"tags": "list:;", "*": "auto"}'""",
        "gem-index build faq mails.jsonl --clean auto,quotes,signatures --duplicates last",
        "gem-index build faq big.csv --on-error skip --report problems.jsonl",
        "gem-index build notes ~/notes --exclude drafts/",
        "gem-index build manuals ~/manuals --chunk 200 --overlap 40",
        "gem-index build faq 'questions/*.jsonl' --scheduler local",
        "gem-index build faq sql:postgresql://me@host/db --query 'SELECT id, text FROM faq'",
    ),
    "add": (
        "gem-index add faq more-questions.csv",
        "gem-index add faq old.txt --encoding cp1252",
        "gem-index add notes ~/notes --prune",
        "gem-index add notes ~/notes --no-gitignore",
    ),
    "inspect": ("gem-index inspect tickets.csv", "gem-index inspect news.csv --no-header"),
    "watch": ("gem-index watch notes", "gem-index watch notes ~/notes --glob '*.md'"),
    "search": (
        'gem-index search faq "how do I renew a visa?" -k 5',
        'gem-index search faq "renew a visa" --where \'{"year": {"$gte": 2020}}\' --json',
        'gem-index search faq "visa form 27b" --why',
        'gem-index search faq "renew a visa" --collapse',
        'gem-index search faq "visa form 27b" --mode lexical --rerank',
        'gem-index search manuals "how do I renew a visa?" --pieces',
        'gem-index search faq "renew a visa" --min-score auto',
        'gem-index search faq "renew a visa" --boost created_at:30d --snippets --show year',
        'gem-index search faq,tickets "renew a visa" --sort-by -year',
        "gem-index search faq --queries questions.txt -k 3 -o results.jsonl",
    ),
    "calibrate": ("gem-index calibrate faq", "gem-index calibrate faq expected.csv"),
    "delete": (
        "gem-index delete faq 17 42",
        'gem-index delete faq --where \'{"year": {"$lt": 2015}}\'',
    ),
    "show": ("gem-index show faq visa",),
    "list": (
        "gem-index list faq --limit 5",
        'gem-index list faq --where \'{"tags": "law"}\' --jsonl',
        "gem-index list faq -o faq.csv --show year,topic",
        "gem-index list faq -o faq.parquet --vectors",
    ),
    "count": (
        "gem-index count faq",
        'gem-index count faq --where \'{"topic": {"$exists": false}}\'',
        "gem-index count faq --by topic",
        "gem-index count faq --by 'month(created)' -o months.csv",
    ),
    "similar": ("gem-index similar faq visa -k 5",),
    "duplicates": (
        "gem-index duplicates faq",
        "gem-index duplicates faq --threshold 0.9 --jsonl",
        "gem-index duplicates faq --view wording --overlap 0.8",
        "gem-index duplicates faq --contrasts",
        "gem-index duplicates faq -o groups.csv --show year",
    ),
    "topics": (
        "gem-index topics faq -n 3",
        "gem-index topics faq -n 3 --main 2",
        "gem-index topics faq --plot topics.html",
        "gem-index topics faq --documents --jsonl",
        "gem-index topics faq --save-as topic",
        "gem-index topics faq --labels names.txt --by 'month(created)'",
    ),
    "label": (
        "gem-index label calls labeled.csv --field team --dry-run",
        "gem-index label calls labeled.csv --field team",
    ),
    "map": (
        "gem-index map faq -o map.html",
        "gem-index map faq -o map.png --color topic",
        "gem-index map faq -o places.csv --again",
    ),
    "refit": ("gem-index refit faq",),
    "status": ("gem-index status", "gem-index status faq --json"),
    "describe": (
        "gem-index describe faq",
        'gem-index describe faq "Questions of travellers about visas"',
    ),
    "synonyms": ("gem-index synonyms faq", "gem-index synonyms faq synonyms.txt"),
    "drift": ("gem-index drift faq",),
    "verify": ("gem-index verify", "gem-index verify faq --fix"),
    "compact": ("gem-index compact", "gem-index compact faq"),
    "export": ("gem-index export faq -o faq.jsonl", "gem-index export faq -o faq.parquet"),
    "import": ("gem-index import faq.jsonl", "gem-index import faq.jsonl another-name"),
    "backup": ("gem-index backup my-backup",),
    "drop": ("gem-index drop faq --yes",),
    "push": ("gem-index push faq parquet://./faq", "gem-index push faq parquet://./faq --dry-run"),
    "pull": ("gem-index pull parquet://./faq faq-again",),
    "embed": (
        "gem-index embed questions.jsonl --to parquet://./questions",
        "gem-index embed ~/manuals --to parquet://./manuals --chunk 200 --overlap 40 --headings",
        "gem-index embed 'faq/*.jsonl' --to postgresql://me@host/db?table=faq --scheduler local",
    ),
    "targets": ("gem-index targets",),
    "serve": (
        "gem-index serve --port 8080",
        "gem-index serve --host 0.0.0.0 --key-file keys.txt --name search.example.org",
        "gem-index serve --alias text-embedding-3-small=gem-index",
        "gem-index serve --backups /var/backups/gem-index",
    ),
    "keys add": (
        "gem-index keys add shop --allow write",
        "gem-index keys add team-lead --allow keys",
    ),
    "keys list": ("gem-index keys list",),
    "keys remove": ("gem-index keys remove shop", "gem-index keys remove team-lead --made"),
    "mcp": (
        "gem-index mcp --collection faq",
        "gem-index mcp --http --port 8081 --allow-add",
    ),
    "fit": (
        "gem-index fit my-model texts.txt",
        "gem-index fit my-model texts.txt --preset cqa",
        "gem-index fit my-model 's3://corpus/*.jsonl' --scheduler tcp://host:8786",
    ),
    "encode": (
        "gem-index encode texts.txt -o vectors.npy --fit",
        "gem-index encode more.txt -o more.npy --model my-model",
        "gem-index encode 'logs/*.jsonl' -o vectors --model my-model --scheduler local",
    ),
    "explain": (
        'gem-index explain "There are two ducks swimming in the river."',
        'gem-index explain "how do I renew a visa?" --collection faq',
        'gem-index explain "a cheap flight" --with "a low-cost plane ticket"',
    ),
    "similarity": ('gem-index similarity "a cheap flight" "a low-cost plane ticket"',),
    "rerank": (
        "gem-index rerank candidates.jsonl --collection faq --json",
        'gem-index search faq "renew a visa" -k 50 --json | gem-index rerank --top-n 5',
    ),
    "models list": ("gem-index models list",),
    "models remove": ("gem-index models remove my-model",),
    "vectors add": (
        "gem-index vectors add glove.840B.300d",
        "gem-index vectors add mine my-vectors.vec.gz --case fallback --dtype float16",
    ),
    "vectors list": ("gem-index vectors list",),
    "vectors catalogue": ("gem-index vectors catalogue",),
    "vectors show": ("gem-index vectors show mine --coverage questions.jsonl",),
    "vectors remove": ("gem-index vectors remove mine",),
    "vectors neighbors": ("gem-index vectors neighbors river --vectors mine",),
    "vectors analogy": ("gem-index vectors analogy man king woman --vectors mine",),
    "vectors fit-vocabulary": (
        "gem-index vectors fit-vocabulary small questions.jsonl --vectors mine --frequent 20000",
    ),
    "vectors export": ("gem-index vectors export small -o small.vec.gz",),
    "eval sts": ("gem-index eval sts sts-dev.csv",),
    "eval collection": (
        "gem-index eval collection faq expected.csv",
        "gem-index eval collection faq,faq-small expected.csv --json",
    ),
    "eval pairs": ("gem-index eval pairs pairs.csv --collection faq",),
    "eval cqa": ("gem-index eval cqa SemEval2016-Task3-CQA-QL-dev.xml",),
    "eval retrieval": ("gem-index eval retrieval scifact/",),
    "eval suite": ("gem-index eval suite dev-sets.toml --plot gains.png",),
    "eval tune": ("gem-index eval tune sts-dev.csv -o best.json",),
    "db current": ("gem-index db current",),
    "db upgrade": ("gem-index db upgrade",),
}
"""Command lines by command; each of them parses (a test)."""


def add_examples(app: typer.Typer) -> None:
    """Let the help of every command end with its examples; a command of a plugin has them already."""
    for path, command in _commands(app):
        if path in EXAMPLES:
            # a blank line between them: the help joins lines that follow one another
            command.epilog = "\n\n".join(("Examples:", *EXAMPLES[path]))


def _commands(app: typer.Typer, prefix: str = "") -> Iterator[tuple[str, typer.models.CommandInfo]]:
    for command in app.registered_commands:
        name = str(command.name or getattr(command.callback, "__name__", ""))
        yield prefix + name.replace("_", "-"), command
    for group in app.registered_groups:
        assert group.typer_instance is not None  # add_typer was given one
        yield from _commands(group.typer_instance, f"{group.name} ")
