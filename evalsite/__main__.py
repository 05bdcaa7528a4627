# SPDX-License-Identifier: Apache-2.0
"""``python -m evalsite``."""

from evalsite.cli.main import main

if __name__ == "__main__":
    main()
