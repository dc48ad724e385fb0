#!/usr/bin/env python3
"""Checks the layer arrows of src/ and a few rules that no compiler enforces.

Usage: check_layers.py [ROOT]

Rules:
  arrows     a folder of src/ includes only what LAYERS allows; public headers include nothing from src/
  known      every folder of src/ stands in LAYERS
  cuda       .cu and .cuh files live in src/ops/cuda, those of measuring programs in bench/cuda, the renderer's in training
  quiet      library code neither prints, ends the process nor reads the environment, and has no assert
  paths      no tracked text names a folder of somebody's machine
  markers    no tracked text leaves work for later
  length     no source file is longer than MAX_LINES

Prints one line per violation, "file:line: rule: what", and exits with 1 if there is any.
"""

import pathlib
import re
import subprocess
import sys

# The table of docs/architecture.md: what each folder may include besides itself and include/lingbot.
LAYERS = {
    "base": [],
    "tensor": ["base"],
    "ops": ["base", "tensor"],
    "ops/cpu": ["base", "tensor", "ops"],
    "ops/cuda": ["base", "tensor", "ops"],
    "weights": ["base", "tensor"],
    "cache": ["base", "tensor", "ops"],
    "layers": ["base", "tensor", "ops", "weights", "cache"],
    "model": ["base", "tensor", "ops", "weights", "cache", "layers"],
    "heads": ["base", "tensor", "ops", "weights", "cache", "layers", "model"],
    "media": ["base"],
    "preprocess": ["base", "tensor"],
    "geometry": ["base"],
    "engine": ["base", "tensor", "ops", "weights", "cache", "layers", "model", "heads", "preprocess",
               "geometry"],
    "output": ["base", "geometry"],
    "evaluation": ["base", "geometry", "output"],
    "server": ["base", "output"],
    "cli": ["base", "tensor", "preprocess", "geometry", "media", "output", "evaluation", "server"],
}

# The front files of the operators dispatch to the back ends; their headers do not know them.
FRONT_FILE_EXTRA = ["ops/cpu", "ops/cuda"]

# Tests may also read golden files, make weights and call the plain twins of operators.
TEST_EXTRA = ["base", "tensor", "weights", "ops/cpu"]

# Folders of programs, which may print and end.
PROGRAM_FOLDERS = ["cli"]

MAX_LINES = 600

SOURCE_SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
SKIPPED_FOLDERS = {".git", ".deps", "build", "out", "demo-out"}

TOKENS = re.compile(
    r"""(?P<number>\b\d[\w.]*(?:'[\w.]+)+)"""
    r"""|(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<string>R"(?P<tag>[^()\\\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')""",
    re.DOTALL)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)

NOISY = re.compile(
    r"\b(?:std::)?(?:getenv|secure_getenv|setenv|putenv|abort|_?[eE]xit|quick_exit|terminate|"
    r"v?f?printf|puts|fputs|putchar|fputc|perror|assert)\s*\("
    r"|\b(?:std::)?(?:cout|cerr|clog)\b|\bfmt::print\b|\bstd::print(?:ln)?\b")

MACHINE_PATH = re.compile(r"(?<![\w.$}~])/(?:work|home|root|Users)/\w|\b[A-Z]:\\\\?Users\b")
MARKER = re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X]|HAC[K])\b")


def blank(text):
    """Spaces of the same shape, so that line numbers stay."""
    return re.sub(r"[^\n]", " ", text)


def strip(text, strings):
    """`text` without comments and, if asked for, without the contents of literals."""
    def replace(match):
        if match.group("comment") or (strings and match.group("string")):
            return blank(match.group(0))
        return match.group(0)
    return TOKENS.sub(replace, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def layer_of(parts):
    """The longest entry of LAYERS that the folders `parts` begin with, or None."""
    for length in (2, 1):
        name = "/".join(parts[:length])
        if len(parts) >= length and name in LAYERS:
            return name
    return None


def allowed_layers(layer, path):
    allowed = {layer, *LAYERS[layer]}
    if layer == "ops" and path.suffix == ".cc":
        allowed.update(FRONT_FILE_EXTRA)
    if path.stem.endswith("_test"):
        allowed.update(TEST_EXTRA)
    return allowed


class Checker:
    def __init__(self, root):
        self.root = root
        self.violations = []

    def report(self, path, line, rule, message):
        name = path.relative_to(self.root).as_posix()
        self.violations.append(f"{name}:{line}: {rule}: {message}")

    def run(self):
        for path in self.tracked_files():
            try:
                text = path.read_text(encoding="utf-8")
            except (UnicodeDecodeError, FileNotFoundError):
                continue
            self.check_text(path, text)
            if path.suffix in SOURCE_SUFFIXES:
                self.check_source(path, text)
        return self.violations

    def tracked_files(self):
        listing = subprocess.run(
            ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, check=False)
        if listing.returncode == 0 and (self.root / ".git").exists():
            names = [name for name in listing.stdout.decode().split("\0") if name]
            return [self.root / name for name in sorted(names) if (self.root / name).is_file()]
        return [path for path in sorted(self.root.rglob("*")) if path.is_file()
                and not SKIPPED_FOLDERS & set(path.relative_to(self.root).parts)]

    def check_text(self, path, text):
        for rule, pattern in (("paths", MACHINE_PATH), ("markers", MARKER)):
            for match in pattern.finditer(text):
                self.report(path, line_of(text, match.start()), rule, f"'{match.group(0)}'")

    def check_source(self, path, text):
        lines = text.count("\n")
        if lines > MAX_LINES:
            self.report(path, lines, "length", f"{lines} lines, at most {MAX_LINES}")
        parts = path.relative_to(self.root).parts
        in_place = parts[:3] == ("src", "ops", "cuda") or parts[:2] == ("bench", "cuda") or parts[0] == "training"
        if path.suffix in {".cu", ".cuh"} and not in_place:
            self.report(path, 1, "cuda", "device code belongs to src/ops/cuda")
        if parts[:2] == ("include", "lingbot"):
            self.check_public_header(path, text)
        elif parts[0] == "src":
            self.check_library_source(path, parts[1:-1], text)

    def check_public_header(self, path, text):
        code = strip(text, strings=False)
        for match in INCLUDE.finditer(code):
            quote, target = match.groups()
            inside = self.source_layer(target)
            if inside or (quote == '"' and not target.startswith("lingbot/")):
                self.report(path, line_of(code, match.start()), "arrows",
                            f"a public header includes {target}")
        self.check_quiet(path, text)

    def check_library_source(self, path, folders, text):
        layer = layer_of(folders)
        if layer is None:
            name = "src/" + "/".join(folders)
            self.report(path, 1, "known", f"{name} is not in the table of layers")
            return
        self.check_arrows(path, layer, text)
        if layer not in PROGRAM_FOLDERS and not path.stem.endswith("_test"):
            self.check_quiet(path, text)

    def check_arrows(self, path, layer, text):
        code = strip(text, strings=False)
        allowed = allowed_layers(layer, path)
        for match in INCLUDE.finditer(code):
            quote, target = match.groups()
            line = line_of(code, match.start())
            included = self.source_layer(target)
            if included and included not in allowed:
                self.report(path, line, "arrows", f"{layer} must not include {included} ({target})")
            elif quote == '"' and not included and (path.parent / target).exists():
                self.report(path, line, "arrows", f"include {target} by its path from src/")

    def source_layer(self, target):
        """The layer of the file that an include names, or None if it is not one of src/."""
        layer = layer_of(pathlib.PurePosixPath(target).parts[:-1])
        return layer if layer and (self.root / "src" / target).exists() else None

    def check_quiet(self, path, text):
        code = strip(text, strings=True)
        for match in NOISY.finditer(code):
            self.report(path, line_of(code, match.start()), "quiet",
                        f"'{match.group(0)}' in library code")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    violations = Checker(root.resolve()).run()
    for violation in violations:
        print(violation)
    print(f"check_layers: {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
