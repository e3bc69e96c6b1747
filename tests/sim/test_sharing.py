"""Equal shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.sim.sharing import water_fill
from tried import tried

needs = st.lists(st.floats(0, 100), min_size=1, max_size=30)


@given(need=needs, whole=st.floats(1, 500), most=st.floats(1, 100))
@tried(200)
def test_equal_shares_give_all_there_is_and_nobody_too_much(need: list[float], whole: float, most: float) -> None:
    wanted = np.array(need)
    given_ = water_fill(wanted, whole, most)
    assert (given_ <= np.minimum(wanted, most) + 1e-9).all()
    assert given_.sum() == pytest.approx(min(whole, np.minimum(wanted, most).sum()))
    short = given_ < np.minimum(wanted, most) - 1e-6
    if short.any():  # whoever gets less than it could use gets as much as anybody
        assert given_[short].min() >= given_.max() - 1e-6
