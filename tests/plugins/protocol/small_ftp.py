"""An FTP server of a few commands, for one connection at a time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class SmallFtp:
    """Serves files by path; lists `/` and `/sub/` as Unix and as Windows servers do."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.files: dict[str, bytes] = {}
        self.lists: dict[str, str] = {}
        self.breaks_off: set[str] = set()
        """Paths whose last byte never comes."""
        self.named_address = "127,0,0,1"
        self.commands: list[str] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with suppress(OSError), connection, connection.makefile("rw", newline="") as talk:
                    self._serve(talk)

    def _serve(self, talk: object) -> None:
        def say(text: str) -> None:
            talk.write(text + "\r\n")  # type: ignore[attr-defined]
            talk.flush()  # type: ignore[attr-defined]

        folder, data = "/", None
        say("220 Small")
        for line in talk:  # type: ignore[attr-defined]
            self.commands.append(line.strip())
            command, _, argument = line.strip().partition(" ")
            path = argument if argument.startswith("/") else folder + argument
            match command:
                case "USER":
                    say("331 Password?")
                case "PASS":
                    say("230 In" if argument != "wrong" else "530 Out")
                case "PWD":
                    say('257 "/"')
                case "CWD":
                    folder = path.rstrip("/") + "/"
                    say("250 There" if folder in self.lists else "550 Nowhere")
                case "PASV":
                    data = socket.create_server(("127.0.0.1", 0))
                    high, low = divmod(data.getsockname()[1], 256)
                    say(f"227 Entering Passive Mode ({self.named_address},{high},{low})")
                case "MDTM":
                    say("213 20231114221320" if path in self.files else "550 None")
                case "SIZE" if path in self.breaks_off:
                    say(f"213 {len(self.files[path])}")
                case "TYPE":
                    say("200 Yes")
                case "RETR" | "LIST" if data is not None:
                    content = (
                        self.files.get(path) if command == "RETR" else self.lists[folder].encode()
                    )
                    if content is None:
                        say("550 None")
                        continue
                    say("150 Here")
                    taker, _ = data.accept()
                    with suppress(OSError), taker:
                        taker.sendall(content[:-1] if path in self.breaks_off else content)
                    data.close()
                    say("426 Broken" if path in self.breaks_off else "226 Done")
                case "QUIT":
                    say("221 Bye")
                    return
                case _:
                    say("502 No")


@contextmanager
def small_ftp() -> Iterator[SmallFtp]:
    server = SmallFtp()
    try:
        yield server
    finally:
        server.stop()
