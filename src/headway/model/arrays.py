"""Arrays by what is in them."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]  # of rows in a table, or of values in an array
