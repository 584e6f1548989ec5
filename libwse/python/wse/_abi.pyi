# SPDX-License-Identifier: MIT
# Made of libwse/include/wse by libwse/python/abi-gen (make python): do not edit.
from ctypes import Structure
from typing import Any, Optional

WSE_RELEASE: str
WSE_UAPI_MAJOR: int
WSE_UAPI_MINOR: int
DRM_WSE_QUERY: int
DRM_WSE_BO_CREATE: int
DRM_WSE_BO_MAP: int
DRM_WSE_CTX_CREATE: int
DRM_WSE_CTX_DESTROY: int
DRM_WSE_SUBMIT: int
DRM_WSE_FAULT: int
DRM_WSE_COUNTERS: int
DRM_WSE_CTX_WAIT: int
DRM_WSE_SUBMIT_LOST: int
DRM_WSE_CMD_BROADCAST: int
DRM_WSE_CMD_MASKED: int
DRM_WSE_CMD_DROP_ZERO: int
DRM_WSE_CMD_INDEX_ONLY: int
DRM_WSE_CMD_BOOT: int
DRM_WSE_CMD_CLOSED: int
DRM_WSE_CMD_LINEAR: int
DRM_WSE_WAIT_QUEUE: int
DRM_WSE_SCOPE_TILE: int
DRM_WSE_SCOPE_CORE: int
DRM_WSE_SCOPE_LINK: int
DRM_WSE_SCOPE_QUEUE: int
WSE_CONTEXT_WAIT: int
WSE_FOREVER: int
WSE_NO_VALUE: int
WSE_NO_UNIT: int
WSE_NO_TENSOR: int
WSE_NO_BIAS: int
WSE_PROMPTS: int
WSE_SCHED_MAX: int
WSE_PLAN_SHAPE: int
WSE_PLAN_FORWARD: int
WSE_PLAN_RANKS_SHIFT: int
WSE_STEP_LR: int
WSE_STEP_MAX_NORM: int
WSE_VERIFY_MAX: int
WSE_POST_NONE: int
WSE_POST_BF16: int
WSE_POST_RELU: int
WSE_POST_GELU_NEW: int
WSE_POST_GATE: int
WSE_POST_MUL: int
WSE_POST_ADD16: int
WSE_POST_RELU2: int
WSE_POST_GELU: int
WSE_POST_ADD32: int
WSE_POST_SWIGLU: int
WSE_POST_MUL2: int
WSE_POST_SCALE: int
WSE_RELU: int
WSE_GELU_NEW: int
WSE_SQUARED_RELU: int
WSE_GELU: int
WSE_TENSOR_DECAY: int
WSE_TENSOR_TRANSPOSED: int
WSE_TENSOR_INPUT: int
WSE_TYPE_BF16: int
WSE_TYPE_F32: int
WSE_TYPE_U16: int
WSE_TYPE_BYTE: int
WSE_TYPE_U32: int
WSE_SHAPE_TOKENS: int
WSE_SHAPE_SHARED: int
WSE_SHAPE_VECTOR: int
WSE_SHAPE_WORK: int
WSE_LOG_ERROR: int
WSE_LOG_WARN: int
WSE_LOG_INFO: int
WSE_OPTIM_ADAMW: int
WSE_OPTIM_ADAM: int
WSE_OPTIM_SGD: int
WSE_OPTIM_LION: int
WSE_SCHED_CONSTANT: int
WSE_SCHED_LINEAR: int
WSE_SCHED_COSINE: int
WSE_SCHED_INVERSE_SQRT: int
WSE_CKPT_ALL: int
WSE_CKPT_RATES_NEW: int
WSE_CKPT_MODEL: int
WSE_CKPT_EVAL: int
WSE_MODE_TRAIN: int
WSE_MODE_EVAL: int
WSE_MODE_TRAIN_AND_EVAL: int
WSE_MODE_GENERATE: int
WSE_MODE_CHECK: int
WSE_MODE_EVAL_ALL: int
WSE_EVENT_BEGIN: int
WSE_EVENT_TRAIN: int
WSE_EVENT_EVAL: int
WSE_EVENT_CHECKPOINT: int

class drm_wse_query(Structure):
    ptr: int
    size: int
    pad: int

class drm_wse_info(Structure):
    abi_major: int
    abi_minor: int
    rows: int
    cols: int
    sram_kib: int
    lanes: int
    colors: int
    queues: int
    features: int
    fw_version: int
    fw_end: int
    max_cmds: int
    resets: int
    max_budget: int

class drm_wse_bo_create(Structure):
    size: int
    flags: int
    handle: int

class drm_wse_bo_map(Structure):
    handle: int
    pad: int
    offset: int

class drm_wse_ctx_create(Structure):
    flags: int
    ctx: int

class drm_wse_ctx_destroy(Structure):
    ctx: int
    pad: int

class drm_wse_array(Structure):
    ptr: int
    count: int
    stride: int

class drm_wse_submit(Structure):
    ctx: int
    flags: int
    cmds: drm_wse_array
    in_syncs: drm_wse_array
    out_syncs: drm_wse_array

class drm_wse_sync(Structure):
    handle: int
    pad: int
    point: int

class drm_wse_cmd(Structure):
    op: int
    queue: int
    flags: int
    bo: int
    off: int
    mask_bo: int
    color: int
    moff: int
    budget: int
    row0: int
    col0: int
    rows: int
    cols: int
    sram: int
    len: int
    nline: int
    lstride: int
    sstride: int
    cstride: int
    rstride: int
    mcstride: int
    kcol: int
    nfeat: int
    etype: int
    wait_cmd: int
    wait_queue: int
    pad: int
    arg: Any

class drm_wse_fault(Structure):
    ctx: int
    cmd_op: int
    status: int
    queue: int
    ncores: int
    cause: int
    row: int
    col: int
    pc: int
    addr: int
    color: int
    value: int
    iova: int
    cycle: int

class drm_wse_counters(Structure):
    scope: int
    object: int
    ptr: int
    count: int
    pad: int

class wse_device(Structure): ...

class wse_buffer(Structure): ...

class wse_context(Structure): ...

class wse_fence(Structure): ...

class wse_program(Structure): ...

class wse_counter(Structure):
    name: Optional[bytes]
    unit: Optional[bytes]
    what: Optional[bytes]
    scope: int
    since: int
    exact: int

class wse_copy(Structure):
    buf: Any
    off: int
    queue: int
    row0: int
    col0: int
    rows: int
    cols: int
    sram: int
    len: int
    nline: int
    lstride: int
    sstride: int
    cstride: int
    rstride: int
    broadcast: int
    budget: int

class wse_stream(Structure):
    buf: Any
    mask: Any
    off: int
    moff: int
    queue: int
    color: int
    col0: int
    cols: int
    nblock: int
    nfeat: int
    etype: int
    kcol: int
    lstride: int
    cstride: int
    rstride: int
    mcstride: int
    drop_zero: int
    index_only: int
    run: int
    budget: int

class wse_start(Structure):
    queue: int
    row0: int
    col0: int
    rows: int
    cols: int
    entry: int
    arg: Any
    boot: int
    closed: int
    budget: int

class wse_model(Structure): ...

class wse_graph(Structure): ...

class wse_mlp_shape(Structure):
    vocab: int
    window: int
    embed: int
    nhidden: int
    hidden: Any
    activation: int
    resv: Any

class wse_gpt_shape(Structure):
    vocab: int
    positions: int
    seq: int
    hidden: int
    layers: int
    heads: int
    filter: int
    activation: int
    untied: int
    eps: float
    dev: float
    resv: Any

class wse_param(Structure):
    name: Optional[bytes]
    rows: int
    cols: int
    mean: float
    dev: float
    flags: int
    resv: Any

class wse_batch(Structure):
    tokens: int
    nsamples: int
    samples: Any
    param: Any
    in_: Any
    out: Any
    grad: Any

class wse_builder(Structure):
    graph: Any
    gather: Any
    scatter: Any

class wse_model_shape(Structure):
    name: Optional[bytes]
    vocab: int
    window: int
    span: int
    nparams: int
    params: Any
    macs: int
    resv: Any

class wse_tile(Structure):
    rows: int
    cols: int
    lanes: int
    sram: int
    group: int
    no_linear: int

class wse_linear_op(Structure):
    program: int
    unit: int
    back: int
    x: int
    vec: int
    bias: int
    post: int
    aux: int
    over: int
    scale: float
    nscale: int
    chunk: int
    what: Optional[bytes]
    resv: Any

class wse_norm_op(Structure):
    program: int
    x: int
    vec: int
    gain: int
    bias: int
    eps: float
    mean: int
    rstd: int
    rms: int
    width: int
    resv: Any

class wse_attn_op(Structure):
    program: int
    qkv: int
    d: int
    heads: int
    group: int
    max: int
    recip: int
    kv: int
    scale: float
    slopes: int
    drop: int

class wse_tokenizer(Structure): ...

class wse_tokenizer_info(Structure):
    tokens: int
    longest: int
    begin: int
    pad: int
    sum: int
    resv: Any

class wse_tokenize(Structure):
    progress: Any
    ctx: Optional[int]
    resv: Any

class wse_tokenize_result(Structure):
    bytes: int
    tokens: int
    width: int
    pad: int
    resv: Any

class wse_params(Structure): ...

class wse_trainer(Structure): ...

class wse_prompt(Structure):
    text: Optional[bytes]
    len: int

class wse_override(Structure):
    sets: Any
    nsets: int
    plan: int
    data: Optional[bytes]
    model_dir: Optional[bytes]
    prompt: Optional[bytes]
    prompt_len: int
    forward: int
    tokenizer: Optional[bytes]
    prompts: Any

class wse_sched(Structure):
    kind: int
    from_: float
    to: float
    total_iters: int
    begin: int

class wse_train_shape(Structure):
    data: Optional[bytes]
    val_data: Optional[bytes]
    held_out: int
    model_dir: Optional[bytes]
    batch: int
    micro_batch: int
    max_steps: int
    seed: int
    shuffle_seed: int
    in_order: int
    optimizer: int
    beta1: float
    beta2: float
    eps: float
    momentum: float
    weight_decay: float
    lr: float
    sched: Any
    nsched: int
    log_steps: int
    max_norm: float
    eval_frequency: int
    eval_batches: int
    checkpoint_steps: int
    sample_bytes: int
    prompt: Optional[bytes]
    temperature: float
    forward: int
    tokenizer: Optional[bytes]
    masked: int
    resv: Any

class wse_plan_info(Structure):
    tile: wse_tile
    tokens: int
    micro_batches: int
    ops: int
    units: int
    weights: int
    sram: int
    mode: int
    streamed_in: int
    streamed_out: int
    cycles: int
    useful: float
    columns: int
    resv: Any

class wse_trainer_info(Structure):
    step: int
    devices: int
    tensors: int
    weights: int
    tokens: int
    unigram: float
    bigram: float
    max_steps: int
    vocab: int
    rank: int
    ranks: int
    token_bytes: int
    resv: Any

class wse_step_result(Structure):
    loss: float
    norm: float
    lr: float

class wse_step_shape(Structure):
    samples: Optional[int]
    n: int
    mask: Any
    nmask: int
    own: int
    lr: float
    max_norm: float
    resv: Any

class wse_tensor_info(Structure):
    name: Optional[bytes]
    rows: int
    cols: int
    data: Any

class wse_sampling(Structure):
    prompt: Optional[bytes]
    prompt_len: int
    n: int
    temperature: float
    top_k: int
    top_p: float
    seed: int
    streams: int
    nprompts: int
    prompts: Any

class wse_progress(Structure):
    step: int
    max_steps: int
    loss: float
    rate: float
    eta: float

class wse_event(Structure):
    kind: int
    step: int
    max_steps: int
    seconds: float
    loss: float
    lr: float
    norm: float
    ms: float
    rate: float
    samples: int
    devices: int
    text: Optional[bytes]

class wse_run_shape(Structure):
    mode: int
    checkpoint: Optional[bytes]
    verify: Any
    nverify: int
    verify_uri: Optional[bytes]
    progress: Any
    stop: Any
    event: Any
    ctx: Optional[int]
    chart: int
    check_from: int
    check_to: int
    check_weights: Optional[bytes]
    wave: Optional[bytes]

class wse_run_result(Structure):
    steps: int
    loss: float
    evaluated: int
    held_out: float
    unigram: float
    bigram: float
    checkpoint: Any
    hash: Any
    stopped: int
    resv: Any

wse_message_fn: Any
wse_log_fn: Any

class Library:
    def wse_error(self) -> Optional[bytes]: ...
    def wse_version(self) -> Optional[bytes]: ...
    def wse_device_open(self, uri: Any, dev: Any) -> int: ...
    def wse_device_close(self, dev: Any) -> None: ...
    def wse_device_info(self, dev: Any, info: Any) -> int: ...
    def wse_device_uri(self, dev: Any) -> Optional[bytes]: ...
    def wse_counter(self, scope: Any, i: Any) -> Any: ...
    def wse_device_counters(self, dev: Any, scope: Any, object: Any, values: Any, room: Any, n: Any) -> int: ...
    def wse_device_mmio_read(self, dev: Any, offset: Any, value: Any) -> int: ...
    def wse_device_wave(self, dev: Any, window: Any) -> int: ...
    def wse_buffer_create(self, dev: Any, size: Any, buf: Any) -> int: ...
    def wse_buffer_share(self, dev: Any, buf: Any, shared: Any) -> int: ...
    def wse_buffer_destroy(self, buf: Any) -> None: ...
    def wse_buffer_map(self, buf: Any) -> Optional[int]: ...
    def wse_buffer_size(self, buf: Any) -> int: ...
    def wse_buffer_handle(self, buf: Any) -> int: ...
    def wse_context_create(self, dev: Any, flags: Any, ctx: Any) -> int: ...
    def wse_context_destroy(self, ctx: Any) -> None: ...
    def wse_context_device(self, ctx: Any) -> Any: ...
    def wse_context_fault(self, ctx: Any, fault: Any) -> int: ...
    def wse_submit(self, ctx: Any, cmds: Any, n: Any, in_: Any, nin: Any, fence: Any) -> int: ...
    def wse_fence_wait(self, fence: Any, timeout_ns: Any) -> int: ...
    def wse_fence_poll(self, fence: Any) -> int: ...
    def wse_fence_destroy(self, fence: Any) -> None: ...
    def wse_fence_cycles(self, fence: Any, start: Any, end: Any) -> int: ...
    def wse_submit_wait(self, ctx: Any, cmds: Any, n: Any, timeout_ns: Any) -> int: ...
    def wse_cmd_copy_in(self, c: Any) -> drm_wse_cmd: ...
    def wse_cmd_copy_out(self, c: Any) -> drm_wse_cmd: ...
    def wse_cmd_stream_in(self, s: Any) -> drm_wse_cmd: ...
    def wse_cmd_stream_out(self, s: Any) -> drm_wse_cmd: ...
    def wse_cmd_start(self, s: Any) -> drm_wse_cmd: ...
    def wse_cmd_fence(self, queue: Any, wait_cmd: Any) -> drm_wse_cmd: ...
    def wse_cmd_fence_queue(self, queue: Any, wait_queue: Any) -> drm_wse_cmd: ...
    def wse_cmd_nop(self, queue: Any) -> drm_wse_cmd: ...
    def wse_program_load(self, ctx: Any, path: Any, prog: Any) -> int: ...
    def wse_program_load_memory(self, ctx: Any, image: Any, size: Any, prog: Any) -> int: ...
    def wse_program_create(self, ctx: Any, path: Any, prog: Any) -> int: ...
    def wse_program_copy(self, prog: Any, queue: Any) -> drm_wse_cmd: ...
    def wse_program_symbol(self, prog: Any, name: Any, addr: Any) -> int: ...
    def wse_program_end(self, prog: Any) -> int: ...
    def wse_program_print(self, ctx: Any, prog: Any, fn: Any, arg: Any) -> int: ...
    def wse_program_destroy(self, prog: Any) -> None: ...
    def wse_model_destroy(self, model: Any) -> int: ...
    def wse_model_mlp(self, shape: Any, model: Any) -> int: ...
    def wse_model_gpt(self, shape: Any, model: Any) -> int: ...
    def wse_model_create(self, shape: Any, ops: Any, ctx: Any, model: Any) -> int: ...
    def wse_graph_tile(self, g: Any, tile: Any) -> None: ...
    def wse_graph_tokens(self, g: Any) -> int: ...
    def wse_graph_sequence(self, g: Any, seq: Any) -> None: ...
    def wse_graph_program(self, g: Any, file: Any, end: Any) -> int: ...
    def wse_graph_kernels(self, g: Any) -> int: ...
    def wse_graph_classes(self, g: Any, width: Any, targets: Any, logits: Any) -> None: ...
    def wse_graph_in(self, g: Any, name: Any, bytes: Any) -> int: ...
    def wse_graph_out(self, g: Any, name: Any, bytes: Any) -> int: ...
    def wse_graph_unit(self, g: Any, weight: Any, outs: Any, ins: Any, parts: Any) -> int: ...
    def wse_graph_chunks(self, g: Any, unit: Any, chunks_out: Any, chunks_in: Any) -> None: ...
    def wse_graph_vec(self, g: Any, unit: Any, tensor: Any, width: Any, parts: Any) -> int: ...
    def wse_graph_value(self, g: Any, what: Any, type: Any, shape: Any, rows: Any) -> int: ...
    def wse_op_in(self, g: Any, what: Any, input: Any, type: Any, shape: Any, rows: Any) -> int: ...
    def wse_op_out(self, g: Any, output: Any, value: Any) -> None: ...
    def wse_op_vec_in(self, g: Any, unit: Any) -> int: ...
    def wse_op_vec_out(self, g: Any, unit: Any, grads: Any) -> None: ...
    def wse_op_linear(self, g: Any, l: Any, out2: Any) -> int: ...
    def wse_op_wgrad(self, g: Any, program: Any, unit: Any, x: Any, dy: Any, vec: Any, bias: Any) -> int: ...
    def wse_op_wgrad_chunk(self, g: Any, program: Any, unit: Any, chunk: Any, x: Any, dy: Any, vec: Any, bias: Any) -> int: ...
    def wse_op_add(self, g: Any, program: Any, a: Any, b: Any, what: Any) -> int: ...
    def wse_op_norm(self, g: Any, n: Any, what: Any) -> int: ...
    def wse_op_norm_back(self, g: Any, n: Any, dy: Any, dres: Any) -> int: ...
    def wse_op_attn(self, g: Any, a: Any) -> int: ...
    def wse_op_attn_back(self, g: Any, a: Any, o: Any, dout: Any) -> None: ...
    def wse_op_loss(self, g: Any, program: Any, logits: Any, target: Any) -> int: ...
    def wse_tokenizer_open(self, path: Any, t: Any) -> int: ...
    def wse_tokenizer_close(self, t: Any) -> int: ...
    def wse_tokenizer_info(self, t: Any, info: Any) -> int: ...
    def wse_tokenizer_encode(self, t: Any, text: Any, n: Any, ids: Any, count: Any) -> int: ...
    def wse_tokenizer_decode(self, t: Any, ids: Any, n: Any, text: Any, room: Any, count: Any) -> int: ...
    def wse_tokenize_file(self, t: Any, from_: Any, to: Any, how: Any, result: Any) -> int: ...
    def wse_params_create(self, p: Any) -> int: ...
    def wse_params_destroy(self, p: Any) -> int: ...
    def wse_params_read(self, p: Any, path: Any, over: Any) -> int: ...
    def wse_params_fault(self, p: Any, i: Any) -> Optional[bytes]: ...
    def wse_params_note(self, p: Any, i: Any) -> Optional[bytes]: ...
    def wse_params_devices(self, p: Any) -> int: ...
    def wse_params_make(self, p: Any, model: Any, shape: Any) -> int: ...
    def wse_params_plan(self, p: Any, uri: Any, flags: Any, line: Any, ctx: Any, info: Any) -> int: ...
    def wse_params_check(self, p: Any, checkpoint: Any) -> int: ...
    def wse_trainer_open(self, p: Any, uris: Any, n: Any, log: Any, ctx: Any, t: Any) -> int: ...
    def wse_trainer_close(self, t: Any) -> int: ...
    def wse_trainer_info(self, t: Any, info: Any) -> int: ...
    def wse_trainer_step(self, t: Any, result: Any) -> int: ...
    def wse_trainer_step_on(self, t: Any, samples: Any, n: Any, result: Any) -> int: ...
    def wse_trainer_step_with(self, t: Any, how: Any, result: Any) -> int: ...
    def wse_trainer_loss_on(self, t: Any, how: Any, loss: Any) -> int: ...
    def wse_trainer_eval(self, t: Any, max_batches: Any, loss: Any, samples: Any) -> int: ...
    def wse_trainer_eval_set(self, t: Any, set: Any, max_batches: Any, loss: Any, samples: Any, name: Any) -> int: ...
    def wse_trainer_tensor(self, t: Any, i: Any, info: Any) -> int: ...
    def wse_trainer_set_tensor(self, t: Any, i: Any, data: Any, n: Any) -> int: ...
    def wse_trainer_profile(self, t: Any, dir: Any) -> int: ...
    def wse_trainer_live(self, t: Any, path: Any) -> int: ...
    def wse_trainer_save(self, t: Any, path: Any) -> int: ...
    def wse_trainer_load(self, t: Any, path: Any, what: Any) -> int: ...
    def wse_checkpoint_hash(self, path: Any, hex: Any) -> int: ...
    def wse_trainer_generate(self, t: Any, how: Any, text: Any) -> int: ...
    def wse_trainer_run(self, t: Any, run: Any, result: Any) -> int: ...
    def wse_json_event(self, e: Any, text: Any, size: Any) -> int: ...
    def wse_json_text(self, what: Any, said: Any, text: Any, size: Any) -> int: ...
    def wse_json_end(self, step: Any, stopped: Any, checkpoint: Any, hash: Any, text: Any, size: Any) -> int: ...

lib: Library
