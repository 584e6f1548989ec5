# SPDX-License-Identifier: MIT
from typing import List, Optional

def main(argv: Optional[List[str]] = None) -> int: ...
