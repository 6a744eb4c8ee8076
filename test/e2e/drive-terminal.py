"""Runs a command in a pseudo-terminal by a script of steps, and prints its output and exit code as JSON.

Arguments: JSON of [[step, ...], ...]: ["expect", text] waits for text after what was matched before, ["send", text]
types, ["wait", seconds] pauses. The rest is the command.
"""
import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios
import time

DEADLINE = time.monotonic() + 45

steps, command = json.loads(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    os.execvp(command[0], command)

output, matched, failure = b"", 0, None


def read(timeout):
    """More output, or False at the end of it."""
    global output
    ready, _, _ = select.select([terminal], [], [], timeout)
    if not ready:
        return True
    try:
        data = os.read(terminal, 65536)
    except OSError:
        return False
    output += data
    return bool(data)


for kind, value in steps:
    if kind == "send":
        os.write(terminal, value.encode())
    elif kind == "wait":
        until = time.monotonic() + value
        while time.monotonic() < until and read(0.05):
            pass
    else:
        while True:
            at = output.find(value.encode(), matched)
            if at >= 0:
                matched = at + len(value.encode())
                break
            if time.monotonic() > DEADLINE or not read(0.1):
                failure = f"never saw {value!r}"
                break
    if failure:
        os.kill(pid, 9)
        break
while time.monotonic() < DEADLINE and read(0.1):
    pass
if time.monotonic() >= DEADLINE:
    failure = failure or "did not end"
    os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
text = output.decode("utf-8", "replace")
print(json.dumps({"output": text, "code": os.waitstatus_to_exitcode(status), "failure": failure}))
