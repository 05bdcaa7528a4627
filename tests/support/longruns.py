# SPDX-License-Identifier: Apache-2.0
"""Long sealed runs, as the benchmarks make them."""

import sys
from pathlib import Path

_BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if str(_BENCHMARKS) not in sys.path:
    sys.path.append(str(_BENCHMARKS))

import synthetic  # noqa: E402 - found in the folder above
import whole  # noqa: E402

RUN = synthetic.RUN
make_run = synthetic.make_run
make_whole_project = whole.make_project
