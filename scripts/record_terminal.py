#!/usr/bin/env python3
"""Records commands in a terminal as an animated SVG, which plays once and rests on the last screen.

    scripts/record_terminal.py --out docs/images/terminal.svg 'wavetune demo --no-open' 'wavetune devices'

Each command is typed at a prompt and run by sh, in a terminal of its own (--columns). Waits longer than --longest-wait seconds
are cut to that. The picture is legible in light and dark pages, and holds no script.
"""

import argparse
import fcntl
import html
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from pathlib import Path

LINE, CHARACTER, RIM = 19, 8.43, 14  # Pixels; of a font of 14.
TYPING_S = 0.03
READ_WAIT_S = 0.05
CONTROL = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")

STYLE = """
  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e6edf3; white-space: pre; }
  .typed { fill: #7ee787; }
"""


class Screen:
    """What a terminal shows: lines that grow downwards. Knows what progress lines need: \\r, \\n, erasing, moving up."""

    def __init__(self, columns):
        self.columns = columns
        self.lines = [""]
        self.row = self.column = 0

    def feed(self, text):
        place = 0
        while place < len(text):
            control = CONTROL.match(text, place)
            if control:
                self.control(control[2], int(re.sub(r"\D.*", "", control[1]) or 0))
                place = control.end()
                continue
            self.put(text[place])
            place += 1

    def control(self, letter, number):
        if letter == "K":
            self.lines[self.row] = self.lines[self.row][: self.column] if number == 0 else ""
        elif letter == "A":
            self.row = max(0, self.row - max(1, number))

    def put(self, character):
        if character == "\n":
            self.row += 1
            if self.row == len(self.lines):
                self.lines.append("")
        elif character == "\r":
            self.column = 0
        elif character >= " ":
            if self.column == self.columns:
                self.column = 0
                self.put("\n")
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
            self.column += 1


class Recording:
    """Versions of each row: [(row, text, typed, from, to)]; `to` is None for what stays."""

    def __init__(self, columns, longest_wait):
        self.columns = columns
        self.longest_wait = longest_wait
        self.screen = Screen(columns)
        self.now = 0.0
        self.shown = {}
        self.versions = []
        self.typed_rows = set()

    def pass_time(self, seconds):
        self.now += min(seconds, self.longest_wait)

    def feed(self, text):
        self.screen.feed(text)
        for row, line in enumerate(self.screen.lines):
            line = line.rstrip()
            before, since = self.shown.get(row, ("", 0.0))
            if line != before:
                if before:
                    self.versions.append((row, before, since, self.now))
                self.shown[row] = (line, self.now)

    def type(self, command):
        self.typed_rows.add(self.screen.row)
        for end in range(len(command) + 1):
            self.feed("\r$ " + command[:end])
            self.pass_time(TYPING_S)
        self.pass_time(0.4)
        self.feed("\r\n")

    def run(self, command):
        """Returns the command's exit code."""
        child, terminal = pty.fork()
        if child == 0:
            os.execvp("sh", ["sh", "-c", command])
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, self.columns, 0, 0))
        last = time.monotonic()
        while True:
            if not select.select([terminal], [], [], READ_WAIT_S)[0]:
                continue
            try:
                data = os.read(terminal, 65536)
            except OSError:  # Linux says so where the child has ended.
                data = b""
            now = time.monotonic()
            self.pass_time(now - last)
            last = now
            if not data:
                os.close(terminal)
                return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            self.feed(data.decode(errors="replace"))

    def svg(self):
        rows = max(row for row, (text, _) in self.shown.items() if text) + 1
        width, height = round(self.columns * CHARACTER + 2 * RIM), rows * LINE + 2 * RIM
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" xml:space="preserve" role="img">',
            f"<style>{STYLE}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117" stroke="#30363d"/>',
        ]
        versions = self.versions + [(row, text, since, None) for row, (text, since) in self.shown.items() if text]
        for row, text, since, until in sorted(versions, key=lambda version: version[2]):
            typed = ' class="typed"' if row in self.typed_rows else ""
            # What stays is shown where nothing is animated; what goes is not.
            animation = f'<set attributeName="visibility" to="hidden" begin="0s" end="{since:.2f}s"/>' if since else ""
            hidden = ""
            if until is not None:
                hidden = ' visibility="hidden"'
                animation = f'<set attributeName="visibility" to="visible" begin="{since:.2f}s" end="{until:.2f}s"/>'
            parts.append(f'<text x="{RIM}" y="{RIM + 14 + row * LINE}"{typed}{hidden}>{html.escape(text)}{animation}</text>')
        return "\n".join([*parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--longest-wait", type=float, default=0.5, help="seconds")
    parser.add_argument("commands", nargs="+", metavar="COMMAND")
    arguments = parser.parse_args()
    recording = Recording(arguments.columns, arguments.longest_wait)
    for command in arguments.commands:
        recording.type(command)
        code = recording.run(command)
        if code != 0:
            sys.exit(f"'{command}' ended with {code}: nothing is written\n" + "\n".join(recording.screen.lines))
        recording.feed("\r\n")
    arguments.out.write_text(recording.svg())
    print(f"{arguments.out}: {recording.now:.0f} s, {arguments.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
