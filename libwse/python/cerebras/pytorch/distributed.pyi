# SPDX-License-Identifier: MIT
from dataclasses import dataclass
from typing import List, Optional

@dataclass
class ClusterConfig:
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

def is_streamer() -> bool: ...
def get_streaming_rank() -> int: ...
def num_streamers() -> int: ...
