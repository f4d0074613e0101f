"""The README's Python runs as it stands, and prints what it says."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_tour_prints_what_it_says(spark, monkeypatch, capsys):
    tour, *_ = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    monkeypatch.chdir(ROOT)
    names = {}
    exec(compile(tour, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    for promise in re.findall(r"print\(.*\) +# (.*[])}e])$", tour, re.MULTILINE):
        assert promise in printed
    assert names["rows"].num_rows == 3 and "ROWS" in printed and "-1003.18" in printed
    assert len(tour.splitlines()) <= 30
