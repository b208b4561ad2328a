import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "headers"))
sys.path.insert(0, str(HERE.parent / "abi"))
