"""Progress of long work, in a terminal and without one."""

from io import StringIO

from attn_course._progress_bar import ProgressBar


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


class Terminal(StringIO):
    def isatty(self):
        return True


def lines_of(total, seconds_each=1.0, show=True):
    clock, stream = Clock(), StringIO()
    with ProgressBar(total, "grading", "notebooks", show, stream, clock) as progress:
        for number in range(total):
            progress.now(f"file {number}")
            clock.seconds += seconds_each
            progress.advance()
    return stream.getvalue().splitlines()


def test_without_a_terminal_there_are_about_ten_whole_lines():
    lines = lines_of(1000, seconds_each=0.01)
    assert len(lines) == 10
    assert lines[0] == "grading: 100 of 1000 notebooks, 100 a second, 9 s left, now: file 99"
    assert lines[-1] == "grading: 1000 of 1000 notebooks, 100 a second, 0 s left, now: file 999"


def test_slow_work_is_never_silent_for_long():
    lines = lines_of(100, seconds_each=31)
    assert len(lines) == 100


def test_few_pieces_get_a_line_each():
    assert len(lines_of(3)) == 3


def test_a_terminal_gets_a_bar_with_what_is_running():
    stream = Terminal()
    with ProgressBar(2, "training", "models", stream=stream) as progress:
        progress.now("key lookup")
        progress.advance(2)
        progress.write("a line of its own")
    assert "100%" in stream.getvalue()
    assert "key lookup" in stream.getvalue()
    assert "a line of its own\n" in stream.getvalue()


def test_hidden_progress_prints_nothing():
    assert lines_of(10, show=False) == []


def test_nothing_to_do_prints_nothing():
    assert lines_of(0) == []
