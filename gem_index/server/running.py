"""Run a server: its processes, their shared state, their logs."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, cast

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.supervisors import Multiprocess

from gem_index.errors import Action, Advice, ConfigError
from gem_index.errors.quoting import quoted
from gem_index.files.inputs import user_path
from gem_index.home import Home
from gem_index.home.key_library import Permission
from gem_index.index.dense import load_faiss
from gem_index.server.app import create_app
from gem_index.server.backup_folder import BackupFolder
from gem_index.server.metrics import MULTIPROCESS
from gem_index.server.process import leave_out_what_stands, prepare_process
from gem_index.server.responses import to_json
from gem_index.server.settings import Limits
from gem_index.targets.registry import check_target

__all__ = ["ServeOptions", "application", "serve"]

_OPTIONS = "_GEM_INDEX_SERVE"  # the environment variable that passes the options to the processes of a server
_LONGEST_HEAD = 1 << 16
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options of a server.

    Attributes
    ----------
    home : str
    host : str
        The address to listen at.
    port : int
        The port; 0 for any free port.
    workers : int
        Number of processes.
    keys : mapping of str to Permission
        Permissions of keys by their SHA-256 in hexadecimal digits, in addition to the keys of the home.
    insecure : bool
        Allow a start without a key at an address that other machines can reach, or with a name; without names accept any
        host.
    names : tuple of str
        Host names by which clients reach the server, in addition to the address.
    origins : tuple of str
        Pages of other sites that may send requests.
    aliases, targets, tables : mapping of str to str
        Other names of models; vector databases that requests may push to; tables of vector databases to search.
    backups : str, optional
        The folder in which requests may make backups.
    """

    home: str
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    keys: Mapping[str, Permission] = field(default_factory=dict)
    insecure: bool = False
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    targets: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)
    backups: str | None = None

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the address."""
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"

    @property
    def key_required(self) -> bool:
        """Whether requests need a key even if there is none yet.

        With a name, other machines may reach the server through a proxy, even if it listens at this machine's own address.
        """
        return (not self.local or bool(self.names)) and not self.insecure

    @property
    def permissions(self) -> dict[bytes, Permission]:
        """The permissions of the keys by their SHA-256."""
        return {bytes.fromhex(digest): allowed for digest, allowed in self.keys.items()}

    @property
    def hosts(self) -> frozenset[str] | None:
        """The host names that the header Host may have; None for any.

        Any host is accepted without names if keys protect the server from pages with their own host name, or if it is
        insecure.
        """
        if not self.names and (self.insecure or not self.local):
            return None
        host = f"[{self.host}]" if ":" in self.host and "[" not in self.host else self.host
        return frozenset(name.lower() for name in (*_LOOPBACK, host, *self.names))


def serve(
    options: ServeOptions,
    announce: Callable[[str], None],
    build: Callable[[ServeOptions, Home], Any] | None = None,
) -> None:
    """Serve until a signal, then finish the accepted requests.

    Parameters
    ----------
    options : ServeOptions
    announce : callable
        Called with the address when the server accepts requests.
    build : callable, optional
        Returns an application to use instead of the result of :func:`~gem_index.server.app.create_app`, for one process.

    Raises
    ------
    ConfigError
        If other machines could reach it without a key, or if it cannot listen at the address.
    """
    home, limits = Home(options.home), Limits.of_environment()
    if options.key_required and not options.keys and not home.keys.list():
        reached = options.names[0] if options.local else options.host
        raise ConfigError(
            f"{quoted(reached)} can be reached from other machines, and there is no key; expected a key",
            Advice(Action.MAKE_KEY_OR_NONE),
        )
    # reports wrong options here, once
    built = (build or application_of)(options, home)
    config = uvicorn.Config(
        built if build else "gem_index.server.running:application",
        factory=build is None,
        host=options.host,
        port=options.port,
        workers=options.workers,
        http=PatientProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the client's address is not used
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, round(limits.shutdown)),
    )
    os.environ[_OPTIONS] = json.dumps(asdict(options))
    log_as_json()
    with open_listener(options.host, options.port) as listener:
        host, port = listener.getsockname()[:2]
        announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")
        if options.workers == 1:
            uvicorn.Server(config).run(sockets=[listener])
            return
        with tempfile.TemporaryDirectory(prefix="gem-index-metrics-") as shared:
            os.environ[MULTIPROCESS] = shared
            Multiprocess(config, sockets=[listener]).run()


def open_listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address.

    Raises
    ------
    ConfigError
        If this machine does not have the address, or the port is in use.
    """
    bare = host.strip("[]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    try:
        return socket.create_server((bare, port), family=family, backlog=2048)
    except OSError as error:
        known = isinstance(error, socket.gaierror) or error.errno is None
        reason = error.strerror if known else os.strerror(cast("int", error.errno))
        raise ConfigError(
            f"cannot listen at {quoted(host)}, port {port}: {reason}; expected an address of this machine and a free port"
        ) from error


def application() -> FastAPI:
    """Return the application of one process of the server that ``serve`` began."""
    prepare_process()
    found: dict[str, Any] = json.loads(os.environ[_OPTIONS])
    log_as_json()
    options = ServeOptions(
        **{**found, "names": tuple(found["names"]), "origins": tuple(found["origins"])}
    )
    app = application_of(options, Home(options.home))
    # all requests would wait for the first that needs them
    app.openapi()
    load_faiss()
    leave_out_what_stands()
    return app


def application_of(options: ServeOptions, home: Home) -> FastAPI:
    """Return the application for options.

    Raises
    ------
    ConfigError
        If an alias names no model, a target's URL is malformed, a table has the name of a collection, or backups cannot be
        written.
    UnknownNameError, MissingTargetError
        If no installed engine has a target's scheme.
    """
    for url in options.targets.values():
        check_target(url)
    app = create_app(
        home,
        limits=Limits.of_environment(),
        keys=options.permissions,
        key_required=options.key_required,
        hosts=options.hosts,
        origins=options.origins,
        aliases=options.aliases,
        targets=options.targets,
        tables=options.tables,
        backup_folder=None
        if options.backups is None
        else BackupFolder(home, user_path(options.backups)),
        end_process=_end_process,
    )
    app.state.context.models.check_aliases()
    return app


def _end_process() -> None:
    """End without waiting for threads. Their reads are lost; their writes are in the same state as after a crash."""
    logging.getLogger("gem_index.server").warning("ended before all work was finished")
    sys.stderr.flush()
    os._exit(0)


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # chosen when it is imported
    """HTTP that closes a connection if a request's head is too slow or too long, or if nobody reads the answer."""

    _timer: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _head = 0  # bytes

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start the timer for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        if self._is_answering():
            self._stop()
            self._head = 0
            return
        self._head += len(data)
        if self._head > _LONGEST_HEAD:
            self._give_up()
        elif self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop()
        self._stop_sending()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the timer for the client to read what was sent."""
        super().pause_writing()
        transport = cast("asyncio.Transport", self.transport)
        # close() would wait until the rest is read
        self._unread = asyncio.get_running_loop().call_later(_patience(), transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer: the client has read."""
        self._stop_sending()
        super().resume_writing()

    def _stop_sending(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _is_answering(self) -> bool:
        cycle = getattr(self, "cycle", None)
        return cycle is not None and not cycle.response_complete

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_patience(), self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self._is_answering():
            cast("asyncio.Transport", self.transport).close()


@cache
def _patience() -> float:
    return Limits.of_environment().seconds


class JsonFormatter(logging.Formatter):
    """One line of JSON per record: time, level, logger, message, and its ``fields``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        return to_json(line).decode()


def log_as_json() -> None:
    """Log to standard error, one line of JSON per record; errors of uvicorn without quotes of requests."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    levels = {"gem_index.server": logging.INFO, "uvicorn": logging.WARNING, "mcp": logging.WARNING}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
