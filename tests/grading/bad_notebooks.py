"""Makers of bad input: each puts one thing that is no good notebook where a notebook should be."""

import json
import os

from tests.grading.fixture_chapter import notebook, notebook_bytes, sources


def not_json(path):
    path.write_text("my homework is in the other file")


def cut_off(path):
    path.write_bytes(notebook_bytes()[:-100])


def format_3(path):
    path.write_text(json.dumps({"nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": []}]}))


def format_5(path):
    path.write_text(json.dumps(notebook(sources()) | {"nbformat": 5}))


def utf_16(path):
    path.write_text(notebook_bytes().decode(), encoding="utf-16")


def byte_order_mark(path):
    path.write_bytes(b"\xef\xbb\xbf" + notebook_bytes())


def nul_bytes(path):
    path.write_bytes(notebook_bytes().replace(b"import numpy", b"import\0numpy"))


def only_nul_bytes(path):
    path.write_bytes(bytes(4096))


def empty(path):
    path.write_bytes(b"")


def large_outputs(path):
    """Write 200 MB, most of which the disk need not hold."""
    with path.open("wb") as file:
        file.write(b'{"cells": [{"cell_type": "code", "source": "x = 1", "outputs": ["')
        file.truncate(200 * 2**20)


def many_cells(path):
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": "x = 1"}
    path.write_text(json.dumps(notebook([]) | {"cells": [cell] * 100_000}))


def many_items(path):
    path.write_bytes(b'{"nbformat": 4, "cells": [' + b"[]," * 4_500_000 + b"[]]}")


def much_code(path):
    path.write_text(json.dumps(notebook(["x = 1\n" * 2_000_000])))


def deep(path):
    path.write_bytes(b'{"nbformat": 4, "cells": ' + b"[" * 200_000 + b"]" * 200_000 + b"}")


def broken_cell(path):
    path.write_text(json.dumps(notebook([]) | {"cells": [{"cell_type": "code", "source": 7}]}))


def json_of_something_else(path):
    path.write_text('{"grades": "all"}')


def folder(path):
    path.mkdir()


def link(path):
    other = path.with_name("elsewhere.txt")
    other.write_bytes(notebook_bytes())
    path.symlink_to(other)


def dangling_link(path):
    path.symlink_to("nowhere")


def pipe(path):
    os.mkfifo(path)


def device_link(path):
    path.symlink_to("/dev/zero")


# What the sentence about each must contain.
SENTENCES = {
    not_json: "is JSON, and this text is not",
    cut_off: "breaks off before its end",
    format_3: "has nbformat 3",
    format_5: "has nbformat 5",
    utf_16: "stored as UTF-16",
    byte_order_mark: "stored as UTF-8 with a mark",
    nul_bytes: "not a notebook",
    only_nul_bytes: "not a notebook",
    empty: "is empty",
    large_outputs: "has 200 MB, and 64 MB are read at most: clear all outputs",
    many_cells: "has 100000 cells",
    many_items: "contains more than 4000000 items",
    much_code: "characters of code",
    deep: "nested too deeply",
    broken_cell: "Cell 1 of",
    json_of_something_else: "is JSON but not a notebook",
    folder: "is not a file but a folder",
    link: "is a link",
    dangling_link: "is a link",
    pipe: "is not a file but a pipe",
    device_link: "is a link",
}
