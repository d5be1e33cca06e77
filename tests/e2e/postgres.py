"""A PostgreSQL server of Debian's package for one test, in a folder of its own, on a free port of loopback."""
import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

import blinktest

PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")
PASSWORD = "sesame-1001"


def missing():
    """Why there can be none here; empty: there can."""
    if not (PROGRAMS / "postgres").exists():
        return "PostgreSQL 15 is not installed: scripts/install-deps brings it"
    with contextlib.suppress(KeyError):
        if os.geteuid() != 0 or pwd.getpwnam("postgres"):
            return ""
    return "there is no user postgres, and the server refuses root"


class Postgres:
    """The server, from __enter__ to __exit__."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-postgres-", dir="/tmp"))
        # The server refuses root.
        self.user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        (self.folder / "password").write_text(PASSWORD + "\n")
        if self.user:
            for path in (self.folder, self.folder / "password"):
                shutil.chown(path, "postgres", "postgres")
        self.port = blinktest.free_port()
        self.log = open(self.folder / "log", "wb")
        subprocess.run([PROGRAMS / "initdb", "--pgdata", self.folder / "data", "--username", "blink", "--auth",
                        "scram-sha-256", "--pwfile", self.folder / "password", "--no-sync"], check=True, cwd="/",
                       stdout=self.log, stderr=self.log, **self.user)
        self.start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.thaw()
        self.server.send_signal(3)
        self.server.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        self.server = subprocess.Popen([PROGRAMS / "postgres", "-D", self.folder / "data", "-p", str(self.port), "-c",
                                        "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="], cwd="/",
                                       stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, **self.user)
        blinktest.wait_until(lambda: self.sql("SELECT 1") == "1", "PostgreSQL to start")

    def stop(self):
        """In order, and at once."""
        self.server.send_signal(2)
        self.server.wait()

    def freeze(self):
        """All of its processes, which then keep their connections and answer nothing."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self):
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number):
        children = pathlib.Path(f"/proc/{self.server.pid}/task/{self.server.pid}/children").read_text()
        for pid in [self.server.pid, *map(int, children.split())]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def uri(self, password=PASSWORD):
        return f"postgresql://blink:{password}@127.0.0.1:{self.port}/postgres"

    def sql(self, statement):
        done = subprocess.run([PROGRAMS / "psql", "--no-psqlrc", "-qtA", self.uri(), "-c", statement],
                              capture_output=True, text=True, check=False)
        return (done.stdout or done.stderr).strip()
