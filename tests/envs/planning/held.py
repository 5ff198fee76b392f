"""What HiGHS holds of a programme once it has solved it."""

from typing import Any

import highspy
import numpy as np
from scipy.sparse import csc_array

from envs.planning.mpc_programme import RecedingProgramme


def matrix(programme: RecedingProgramme) -> csc_array:
    """Factors of the variables in the rows."""
    own = programme._solver.getLp().a_matrix_
    assert own.format_ == highspy.MatrixFormat.kColwise
    return csc_array((own.value_, own.index_, own.start_))


def arguments(programme: RecedingProgramme) -> dict[str, Any]:
    """Arguments of `scipy.optimize.linprog`."""
    model, factors = programme._solver.getLp(), matrix(programme).tocsr()
    low, high = np.array(model.row_lower_), np.array(model.row_upper_)
    equal, limited = low == high, (low < high) & np.isfinite(high)
    return {
        "c": model.col_cost_, "bounds": np.stack([model.col_lower_, model.col_upper_], axis=1),
        "A_eq": factors[equal], "b_eq": high[equal], "A_ub": factors[limited], "b_ub": high[limited],
    }  # fmt: skip
