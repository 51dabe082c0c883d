"""Runs the command under resource limits and reports the outcome."""

import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

# Documented exit codes (docs/cli.md). 141 means that the reader of a pipe closed it.
DOCUMENTED = {0, 1, 2, 3, 4, 5, 6, 130, 141}
HANG_SECONDS = 20  # of CPU time; the wall-clock limit is several times as long, because the machine may be busy
HANG_CLOCK_SECONDS = 120


@dataclass
class Outcome:
    arguments: list
    code: int  # exit code of the process; negative: minus the number of the signal that ended it
    out: bytes
    err: str
    seconds: float
    peak_kilobytes: int
    hung: bool = False

    def line(self):
        return " ".join(str(a) for a in self.arguments)


@dataclass
class Unfold:
    """The command with the settings shared by all its runs."""

    path: str
    environment: dict = field(default_factory=dict)

    def surroundings(self, env=None):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("UNFOLD_")}
        return {**environment, "UNFOLD_THREADS": "1", **self.environment, **(env or {})}

    def start(self, arguments, *, stdin=None, stdout=None, cwd=None, env=None, limits=None, before=()):
        """Start a process. `limits`: {resource.RLIMIT_X: (soft, hard)}; `before`: a command prefix."""
        environment = self.surroundings(env)

        def restrict():
            os.setpgid(0, 0)
            for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # nohup ignores SIGHUP; children inherit this
                signal.signal(name, signal.SIG_DFL)
            for name, value in (limits or {}).items():
                resource.setrlimit(name, value)

        err = tempfile.TemporaryFile()
        out = stdout if stdout is not None else tempfile.TemporaryFile()
        process = subprocess.Popen([*before, self.path, *map(str, arguments)], stdin=stdin or subprocess.DEVNULL,
                                   stdout=out, stderr=err, cwd=cwd, env=environment, preexec_fn=restrict)
        process.err_file, process.out_file = err, None if stdout is not None else out
        process.started, process.arguments = time.monotonic(), list(arguments)
        return process

    def run(self, arguments, *, clock=HANG_CLOCK_SECONDS, processor=HANG_SECONDS, **how):
        return finish(self.start(arguments, **how), clock, processor)


class Forks(Unfold):
    """Runs the command in forks of one process (forks.cpp), if a run needs only files and a memory limit."""

    def __init__(self, path, forks, folder):
        super().__init__(path)
        self.out_name, self.err_name = os.path.join(folder, "forks.out"), os.path.join(folder, "forks.err")
        self.server = subprocess.Popen([forks], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.surroundings(), text=True)

    def run(self, arguments, *, clock=HANG_CLOCK_SECONDS, processor=HANG_SECONDS, limits=None, **how):
        if how or set(limits or {}) - {resource.RLIMIT_AS}:
            return super().run(arguments, clock=clock, processor=processor, limits=limits, **how)
        began = time.monotonic()
        line = {"arguments": [str(a) for a in arguments], "out": self.out_name, "err": self.err_name, "clock": clock,
                "processor": processor, "memory": limits[resource.RLIMIT_AS][0] if limits else 0}
        self.server.stdin.write(json.dumps(line) + "\n")
        self.server.stdin.flush()
        code, peak = map(int, self.server.stdout.readline().split())
        with open(self.out_name, "rb") as out, open(self.err_name, "rb") as err:
            return Outcome(list(arguments), code, out.read(), err.read().decode("utf-8", "replace"), time.monotonic() - began,
                           peak, hung=code in (-signal.SIGXCPU, -signal.SIGALRM))


def processor_seconds(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            parts = stat.read().rsplit(")", 1)[1].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def finish(process, clock=HANG_CLOCK_SECONDS, processor=HANG_SECONDS):
    """Wait for the process to end. A process that exceeds the time limits is killed and reported as hung."""
    hung, pause = False, 0.002
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            break
        if not hung and (time.monotonic() - process.started > clock or processor_seconds(process.pid) > processor):
            hung = True
            os.kill(process.pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(0.05, pause * 1.3)
    process.returncode = os.waitstatus_to_exitcode(status)

    def contents(file):
        if file is None:
            return b""
        file.seek(0)
        data = file.read()
        file.close()
        return data

    return Outcome(process.arguments, process.returncode, contents(process.out_file),
                   contents(process.err_file).decode("utf-8", "replace"), time.monotonic() - process.started,
                   usage.ru_maxrss, hung)


class Workplace:
    """File access in the working folder `work`."""

    work = None

    def at(self, name):
        return os.path.join(self.work, name)

    def write(self, name, data):
        with open(self.at(name), "wb") as file:
            file.write(data)
        return self.at(name)

    def read(self, name):
        with open(self.at(name), "rb") as file:
            return file.read()
