"""The URL of a target: the engine, the place, and the options after the question mark."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from gem_index.errors import ConfigError, InputError
from gem_index.errors.quoting import quoted, quoted_error
from gem_index.files.inputs import user_path

__all__ = ["TargetUrl"]

_FILE = "_file"  # the ending of an option that names a file with a secret
_VARIABLE = "GEM_INDEX_TARGET_"
_FULL_SCHEMES = {"postgres": "postgresql"}
"""Short schemes that other tools accept too. They are replaced, so that a table has one name in the record of a push."""


@dataclass(frozen=True)
class TargetUrl:
    """A parsed URL such as ``lancedb:///path?table=faq``; its text never shows a password or key.

    Attributes
    ----------
    scheme : str
        In lower case, such as ``qdrant+http``; the full one of a short one (``postgresql`` for ``postgres``).
    host : str
        Host and port, empty for a path.
    path : str
        Absolute where there is no host; ``parquet://./folder`` is relative to the working directory.
    options : mapping of str to str
    user, password : str
        Empty where the URL has none.
    """

    scheme: str
    host: str
    path: str
    options: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    password: str = field(default="", repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a URL.

        Raises
        ------
        ConfigError
            If it has no scheme, or names neither a host nor a path.
        """
        if not isinstance(text, str) or not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text):
            raise ConfigError(
                f"the target is {cls._shown(text)}; expected a URL such as lancedb:///path?table=faq"
            )
        try:
            parts = urlsplit(text)
            port = parts.port
            options = dict(
                parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
            )
        except ValueError as error:  # its text may contain a part of the password
            raise ConfigError(
                f"the target {cls._shown(text)} is not a URL; expected a number as the port, and in a password "
                "%2F, %3F, %23, %40 and %5B instead of / ? # @ and ["
            ) from error
        host, path = parts.hostname or "", unquote(parts.path)
        if parts.netloc in (".", "..", "~"):
            host, path = "", parts.netloc + path
        if not host and not path.strip("/"):
            raise ConfigError(
                f"the target {cls._shown(text)} names neither a host nor a path; expected one of them"
            )
        if not host:
            try:
                path = os.path.realpath(user_path(path))
            except InputError as error:
                raise ConfigError(f"the target {cls._shown(text)} is not a URL: {error}") from error
        if ":" in host:
            host = f"[{host}]"
        scheme = parts.scheme.lower()
        return cls(
            _FULL_SCHEMES.get(scheme, scheme),
            f"{host}:{port}" if port else host,
            path,
            options,
            unquote(parts.username or ""),
            unquote(parts.password or ""),
        )

    @staticmethod
    def _shown(text: object) -> str:
        """Return a URL that could not be parsed, without the part before its last @, which may have a password."""
        if not isinstance(text, str):
            return quoted(text)
        scheme, separator, _ = text.partition(":")
        rest = text.rpartition("@")[2] if "@" in text else text[len(scheme) + len(separator) :]
        hidden = "//***@" if "@" in text else ""
        return quoted(f"{scheme}{separator}{hidden}{rest}".partition("?")[0])

    def option(self, name: str, default: str | None = None) -> str:
        """Return an option.

        Raises
        ------
        ConfigError
            If it is missing and there is no default.
        """
        value = self.options.get(name, default)
        if not value:
            raise ConfigError(f"the target {self} has no {name}; expected ?{name}=NAME")
        return value

    def check_options(self, *known: str, secrets: Sequence[str] = ()) -> None:
        """Raise ConfigError if there are options beside those that the engine knows.

        Parameters
        ----------
        *known : str
            Names of options.
        secrets : sequence of str
            Names for :meth:`secret`, each of which may also be given as the option ``<name>_file``.
        """
        of_secrets = {f"{name}{end}" for name in secrets for end in ("", _FILE)}
        unknown = sorted(set(self.options) - set(known) - of_secrets)
        if unknown:
            names = ", ".join((*known, *secrets)) or "none"
            raise ConfigError(
                f"the target {self.scheme} has no option {quoted(unknown[0])}; expected some of {names}"
            )

    def secret(self, name: str) -> str:
        """Return a credential, from the first of these that has it; empty if none has.

        The URL (``user:password@``, or the option ``?key=``), the file that the option ``?key_file=`` names, the environment
        variable ``GEM_INDEX_TARGET_KEY``, the file that ``GEM_INDEX_TARGET_KEY_FILE`` names.

        Parameters
        ----------
        name : str
            Such as ``key``, ``user`` or ``password``.

        Raises
        ------
        ConfigError
            If a file cannot be read.
        """
        of_url = {"user": self.user, "password": self.password}.get(name)
        variable = f"{_VARIABLE}{name.upper()}"
        return (
            of_url
            or self.options.get(name)
            or _content(self.options.get(f"{name}{_FILE}"), f"the option {name}{_FILE}")
            or os.environ.get(variable)
            or _content(os.environ.get(f"{variable}_FILE"), f"{variable}_FILE")
        )

    def header_secret(self, name: str) -> str:
        """Return a credential that is sent in the header of a request; as :meth:`secret` otherwise.

        Raises
        ------
        ConfigError
            If it has characters that no header can hold.
        """
        value = self.secret(name)
        if not (value.isascii() and value.isprintable()):
            raise ConfigError(
                f"the target {self} has a {name} that no header can hold; expected printable ASCII characters; "
                "check where it comes from"
            )
        return value

    def timeout(self, default: int) -> int:
        """Return the option ``timeout``, in seconds.

        Raises
        ------
        ConfigError
            If it is not a whole number from 1 to 3600.
        """
        text = self.option("timeout", str(default))
        if not text.isdecimal() or not 1 <= int(text) <= 3600:
            raise ConfigError(
                f"found the timeout {quoted(text, 40)}; expected seconds, a whole number from 1 to 3600; change ?timeout="
            )
        return int(text)

    def without_secrets(self) -> Self:
        """Return the URL as it is stored: without user, password and keys."""
        secret = re.compile("key|token|pass|pwd|secret|user|auth", re.IGNORECASE)
        options = {name: value for name, value in self.options.items() if not secret.search(name)}
        return replace(self, user="", password="", options=options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __str__(self) -> str:
        bare = self.without_secrets()
        query = "&".join(f"{name}={value}" for name, value in sorted(bare.options.items()))
        text = urlunsplit((self.scheme, self.host, self.path, query, ""))
        return text if self.host else re.sub(r"^([^:]+):/+", r"\1:///", text)


def _content(path: str | None, source: str) -> str:
    """Return the first line of a file; empty if there is no path."""
    if not path:
        return ""
    try:
        lines = user_path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError, InputError) as error:
        raise ConfigError(
            f"{source} names {quoted(path)}, which cannot be read: {quoted_error(error)}; "
            "expected a text file that holds the secret"
        ) from error
    return lines[0].strip() if lines else ""
