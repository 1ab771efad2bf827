"""What is said of every call, by the name of its route's function."""

from __future__ import annotations

from typing import Final

from onward.http.operations import OPERATIONS
from onward.http.operations_access import ACCESS_OPERATIONS
from onward.http.operations_delivery import DELIVERY_OPERATIONS

ALL: Final = OPERATIONS | DELIVERY_OPERATIONS | ACCESS_OPERATIONS
