"""The distinct keys of a column and the code of each row."""
from typing import final

from paimon_fidx.core.columns import KeyColumn

@final
class Codes:
    """Groups the rows of a column by key; sorts when a format asks."""
    column: KeyColumn
    distinct_count: int
    def __new__(cls, column: KeyColumn) -> Codes: ...
