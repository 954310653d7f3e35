"""Which visits of a point are worth a case each."""

ALL_UP_TO = 11


def spread(visits: int, most: int = ALL_UP_TO) -> list[int]:
    """All visits while they are few, else the first two, some between, and the last three.

    >>> spread(3)
    [1, 2, 3]
    >>> spread(60)
    [1, 2, 15, 30, 45, 58, 59, 60]
    """
    if visits <= most:
        return list(range(1, visits + 1))
    return sorted({1, 2, visits // 4, visits // 2, visits * 3 // 4, visits - 2, visits - 1, visits})
