# SPDX-License-Identifier: MIT
"""The cluster: how many wafers, and the processes that stream samples, of which there is one."""
import operator
from dataclasses import dataclass
from typing import List, Optional


@dataclass
class ClusterConfig:
    """num_csx wafers. The other fields place the vendor's jobs and are not used here."""

    num_csx: int = 1
    max_wgt_servers: Optional[int] = None
    max_act_per_csx: Optional[int] = None
    num_workers_per_csx: Optional[int] = None
    job_labels: Optional[List[str]] = None
    job_time_sec: Optional[int] = None
    job_priority: Optional[str] = None
    mount_dirs: Optional[List[str]] = None
    python_paths: Optional[List[str]] = None
    mgmt_address: Optional[str] = None
    mgmt_namespace: Optional[str] = None
    credentials_path: Optional[str] = None
    cbcore_image: Optional[str] = None
    disable_version_check: bool = False
    workflow_id: Optional[str] = None

    def __post_init__(self) -> None:
        try:
            self.num_csx, said = operator.index(self.num_csx), self.num_csx
        except TypeError:
            self.num_csx, said = 0, self.num_csx
        if self.num_csx < 1:
            raise ValueError(f"num_csx is {said!r}: a number of wafers, from 1 on")


def is_streamer() -> bool:
    """Whether this process only streams samples: there are no such."""
    return False


def get_streaming_rank() -> int:
    """Of the processes that stream samples, this one: the first."""
    return 0


def num_streamers() -> int:
    """One."""
    return 1
