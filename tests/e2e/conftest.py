import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "models"))  # the server that goes wrong
