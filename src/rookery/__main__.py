import sys

from rookery.front.cli.main import main

sys.exit(main())
