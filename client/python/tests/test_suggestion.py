"""The name that was meant, in errors."""

from wavetune.suggestion import suggestion


def test_the_nearest_name_is_said():
    assert suggestion("BLOCK_Q", ["rows", "BLOCK_R"]) == "; did you mean 'BLOCK_R'?"


def test_where_none_is_near_all_are_listed():
    assert suggestion("tiles", ["m", "n"]) == "; there are m, n"
    assert suggestion("tiles", []) == "; there are none"
    assert suggestion(3, ["m"]) == "; there are m"
