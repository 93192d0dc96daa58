"""``python -m opgen`` is ``opgen``."""

from opgen.cli import main

main()
