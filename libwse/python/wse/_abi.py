# SPDX-License-Identifier: MIT
# Made of libwse/include/wse by libwse/python/abi-gen (make python): do not edit.
"""libwse's public headers for ctypes: constants, structs, and the functions of the loaded library."""
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint, c_uint16, c_uint32, c_uint64, c_uint8, c_void_p)

from ._library import bind, lib

# ---- constants ----

WSE_RELEASE = "0.1.0"
WSE_UAPI_MAJOR = 1
WSE_UAPI_MINOR = 3
DRM_WSE_QUERY = 0x00  # properties of device and driver
DRM_WSE_BO_CREATE = 0x01  # a buffer
DRM_WSE_BO_MAP = 0x02  # its offset for mmap()
DRM_WSE_CTX_CREATE = 0x03  # lease the device
DRM_WSE_CTX_DESTROY = 0x04  # give it back
DRM_WSE_SUBMIT = 0x05  # commands
DRM_WSE_FAULT = 0x06  # the first fault of a lost context
DRM_WSE_COUNTERS = 0x07  # counters of the device; since 1.2
DRM_WSE_CTX_WAIT = 1 << 0  # wait for the lease
DRM_WSE_SUBMIT_LOST = 1 << 0  # COPY_OUT alone, also of a lost context
DRM_WSE_CMD_BROADCAST = 1 << 0  # COPY_IN: every core gets the same bytes
DRM_WSE_CMD_MASKED = 1 << 1  # streams: only elements whose mask bit is 1
DRM_WSE_CMD_DROP_ZERO = 1 << 2  # STREAM_IN: does not send zeros
DRM_WSE_CMD_INDEX_ONLY = 1 << 3  # STREAM_IN: sends 0 and reads no memory
DRM_WSE_CMD_BOOT = 1 << 4  # START: reset the cores and run from the entry
DRM_WSE_CMD_CLOSED = 1 << 5  # START: no later submit has input of it
DRM_WSE_CMD_LINEAR = 1 << 6  # streams: elements lie as they are sent
DRM_WSE_WAIT_QUEUE = 0xffffffff  # wait_cmd of a FENCE
DRM_WSE_SCOPE_TILE = 0  # object 0
DRM_WSE_SCOPE_CORE = 1  # row * cols + col
DRM_WSE_SCOPE_LINK = 2  # 4 * core + port: 0 N, 1 E, 2 S, 3 W
DRM_WSE_SCOPE_QUEUE = 3  # 0 (the driver's own) ... info.queues
WSE_CONTEXT_WAIT = DRM_WSE_CTX_WAIT  # wait until the device is free
WSE_FOREVER = 0x7fffffffffffffff
WSE_NO_VALUE = 0xffffffff
WSE_NO_UNIT = 0xffffffff
WSE_NO_TENSOR = 0xffffffff
WSE_NO_BIAS = 0xffffffff
WSE_PROMPTS = 64  # of a run, 32 KiB in all
WSE_SCHED_MAX = 8
WSE_PLAN_SHAPE = 1  # plan for the shape that the URI names; no device is opened
WSE_PLAN_FORWARD = 2  # the forward pass alone, as for eval and generate
WSE_PLAN_RANKS_SHIFT = 16
WSE_STEP_LR = 1
WSE_STEP_MAX_NORM = 2
WSE_VERIFY_MAX = 16

# enum wse_post: a linear layer's pass over its sums, after the last block; s = sum, or sum + bias where there is a bias
WSE_POST_NONE = 0  # y = s
WSE_POST_BF16 = 1  # out = bf16(s); the first nscale features bf16(s * scale)
WSE_POST_RELU = 2  # out = bf16(max(0, s)), NaN gets through
WSE_POST_GELU_NEW = 3  # out = bf16(gelu(s)), out2 = bf16(gelu'(s)); gelu's tanh form
WSE_POST_GATE = 4
WSE_POST_MUL = 5
WSE_POST_ADD16 = 6  # y = aux + s; aux bf16; out2 = bf16(y) if out2 is not 0
WSE_POST_RELU2 = 8
WSE_POST_GELU = 9  # as GELU_NEW, of the exact form, by erf
WSE_POST_ADD32 = 7  # y = aux + s; aux binary32; out2 = bf16(y) if out2 is not 0
WSE_POST_SWIGLU = 10
WSE_POST_MUL2 = 11
WSE_POST_SCALE = 12

# enum wse_activation
WSE_RELU = 0
WSE_GELU_NEW = 1  # GELU's tanh form: Hugging Face's gelu_new, approximate="tanh"
WSE_SQUARED_RELU = 2  # of a GPT alone
WSE_GELU = 3  # y Phi(y), by erf: PyTorch's and the Model Zoo's gelu

# enum wse_tensor_flags
WSE_TENSOR_DECAY = 1  # weight decay applies
WSE_TENSOR_TRANSPOSED = 2  # a Hugging Face file has it as [in][out]; ours is [out][in]
WSE_TENSOR_INPUT = 4

# enum wse_type
WSE_TYPE_BF16 = 0
WSE_TYPE_F32 = 1
WSE_TYPE_U16 = 2
WSE_TYPE_BYTE = 3
WSE_TYPE_U32 = 4

# enum wse_shape
WSE_SHAPE_TOKENS = 0  # [rows][T] on each core: width rows * COLS, token index fastest
WSE_SHAPE_SHARED = 1  # [rows][T], the same in every column of a row
WSE_SHAPE_VECTOR = 2  # [rows] on each core, the same in every row
WSE_SHAPE_WORK = 3  # rows bytes of scratch for one operation

# enum wse_log_level
WSE_LOG_ERROR = 0
WSE_LOG_WARN = 1
WSE_LOG_INFO = 2

# enum wse_optim_kind
WSE_OPTIM_ADAMW = 0
WSE_OPTIM_ADAM = 1
WSE_OPTIM_SGD = 2
WSE_OPTIM_LION = 3

# enum wse_sched_kind
WSE_SCHED_CONSTANT = 0
WSE_SCHED_LINEAR = 1
WSE_SCHED_COSINE = 2
WSE_SCHED_INVERSE_SQRT = 3  # from / the root of the larger one of step and total_iters

# enum wse_ckpt_load: what to take out of a checkpoint
WSE_CKPT_ALL = 0  # go on as if there had been no break
WSE_CKPT_RATES_NEW = 1  # betas, weight decay, clipping and schedule are the trainer's
WSE_CKPT_MODEL = 2  # weights alone; step and state are those of a start
WSE_CKPT_EVAL = 3  # weights, and the step they are of, if the file tells

# enum wse_mode
WSE_MODE_TRAIN = 0
WSE_MODE_EVAL = 1
WSE_MODE_TRAIN_AND_EVAL = 2
WSE_MODE_GENERATE = 3
WSE_MODE_CHECK = 4  # was another run what it says? See check_from
WSE_MODE_EVAL_ALL = 5  # each checkpoint of validate_all on each of its sets; forward 2

# enum wse_event_kind: what the lines of a run say, in numbers
WSE_EVENT_BEGIN = 0  # step: the one to go on from; samples: held out, of all sets
WSE_EVENT_TRAIN = 1  # after every step
WSE_EVENT_EVAL = 2  # loss, samples; text: the held-out set's name, NULL without
WSE_EVENT_CHECKPOINT = 3  # step, text: its path


# ---- structs ----


class drm_wse_query(Structure):
    """
    DRM_IOCTL_WSE_QUERY: fills the first min(size, bytes that the driver knows) bytes of struct
    drm_wse_info at ptr and returns in size the number that it knows.

    -EINVAL      pad
    -EFAULT      ptr

    ptr: address of a struct drm_wse_info
    size: in: bytes there; out: bytes that the driver knows
    pad: 0
    """


class drm_wse_info(Structure):
    """
    abi_major: ABI of the device: register ABI of BAR0
    rows: rows of cores
    cols: columns
    sram_kib: SRAM of a core in KiB
    lanes: lanes of a tensor unit
    colors: colors of the fabric
    queues: I/O queues, numbered from 1
    features: register FEATURES
    fw_version: of the firmware that contexts boot; 0: not loaded yet
    fw_end: first SRAM offset behind the firmware; 0: not loaded yet
    max_cmds: commands in one submit: entries of a ring less one
    resets: device resets since probe
    max_budget: device cycles that a command may be given; since 1.1
    """


class drm_wse_bo_create(Structure):
    """
    DRM_IOCTL_WSE_BO_CREATE: zeroed host memory, pinned and mapped for the device until the last
    handle, mapping and command releases it. On a host that would copy mapped memory for a
    device (swiotlb=force; encrypted guests, untested) the driver allocates the pages for the
    device, so that nothing is copied there either. The memory cgroup of their creator is charged
    for buffers and their page lists, jobs and fences. RLIMIT_MEMLOCK does not apply: it limits
    pinned pages of a process, and these are none.

    -EINVAL      flags, or size 0
    -ENOMEM      no memory, or a size above the machine's memory
    -EINTR       a signal
    -EOPNOTSUPP  a host whose caches are not coherent with the device

    size: bytes, rounded up to pages
    flags: 0
    handle: out: GEM handle
    """


class drm_wse_bo_map(Structure):
    """
    DRM_IOCTL_WSE_BO_MAP: the offset for mmap(NULL, length, prot, MAP_SHARED, fd, offset): cached
    memory, coherent with the device, up to the buffer's size. mmap() gives -EINVAL beyond it and
    for MAP_PRIVATE, -EACCES for an offset of a buffer of which this file has no handle. No
    flush is needed: commands see all writes before their DRM_IOCTL_WSE_SUBMIT, and the process
    sees all writes of a command once its fence has signalled.

    -EINVAL      pad
    -ENOENT      no such handle

    pad: 0
    offset: out: for mmap() on the device node
    """


class drm_wse_ctx_create(Structure):
    """
    DRM_IOCTL_WSE_CTX_CREATE: the lease. This file gets the whole device until
    DRM_IOCTL_WSE_CTX_DESTROY or close(); a device has one context at a time, in all files.
    Before the ioctl returns, it resets queues, cores and routers, zeroes SRAM, and loads and
    boots the firmware: every core waits for a START.

    With DRM_WSE_CTX_WAIT the call waits for the lease, in the order of the calls; a file that
    holds the lease itself waits until another of its threads destroys the context. A file has
    one place in line, however many threads it has. While the driver cleans the device up after
    a closed owner, the call waits without the flag, too. After -ENOENT, -ENOEXEC and
    -EOPNOTSUPP the driver looks for the firmware at most ten times in five seconds.

    -EBUSY       leased, or other files wait, and DRM_WSE_CTX_WAIT was not given; or another thread
                 of this file waits, even with the flag
    -EINTR       a signal while it waited, for the lease or for the firmware to boot
    -EINVAL      an unknown flag
    -ENOENT      there is no firmware wse/wse-fw.bin
    -ENOEXEC     that file is not a firmware, or damaged
    -EOPNOTSUPP  the firmware needs another ABI
    -EIO         the firmware did not boot
    -ENODEV      the device is gone, or has been given up
    -ENOMEM

    flags: DRM_WSE_CTX_*
    ctx: out: id, never 0; valid in this file alone
    """


class drm_wse_ctx_destroy(Structure):
    """
    DRM_IOCTL_WSE_CTX_DESTROY: waits until the context's commands have ended, resets queues,
    cores and routers, scrubs SRAM. close() does not wait for commands: it aborts those that still
    execute, and their fences carry -ECANCELED. A process that is being killed does not wait at
    all: a worker cleans up after it, and the next owner waits for that worker.

    -EINVAL      pad
    -ENOENT      no such context of this file
    -EINTR       a signal while it waited; the context stays

    pad: 0
    """


class drm_wse_array(Structure):
    """
    An array in user memory.

    ptr: address of the first element; ignored when count is 0
    count: elements
    stride: bytes from one to the next, at least the size known to user space
    """


class drm_wse_submit(Structure):
    """
    flags: DRM_WSE_SUBMIT_*
    cmds: 1 ... max_cmds of struct drm_wse_cmd
    in_syncs: struct drm_wse_sync: have signalled before it starts
    out_syncs: struct drm_wse_sync: get the submit's fence
    """


class drm_wse_sync(Structure):
    """
    A syncobj, or a point of a timeline syncobj; up to 1024 in and 1024 out.

    pad: 0
    point: of a timeline; 0: a binary syncobj
    """


class drm_wse_cmd(Structure):
    """
    One command. Members have the meaning of those of the same name in the submission entry;
    handles name buffers. Members that op does not use must be 0. op is one of WSE_OP_NOP
    ... WSE_OP_FENCE: 0 NOP, 1 COPY_IN, 2 COPY_OUT, 3 STREAM_IN, 4 STREAM_OUT, 5 START, 6 FENCE.

    A FENCE waits for an earlier command of the same submit on another queue (wait_cmd is its
    index, wait_queue is 0), or for all commands accepted on another queue before this submit
    (wait_cmd is DRM_WSE_WAIT_QUEUE, wait_queue is that queue).

    With CLOSED all input of a START is in this submit or an earlier one, so a START that stands
    still is a deadlock at once. On a device older than ABI 1.3 CLOSED has no effect.
    INDEX_ONLY excludes DROP_ZERO.

    A BROADCAST has cstride and rstride 0, and every core gets the same lines. Since 1.2, where
    info.features has BCAST_DIM, one of them may be other than 0: with cstride all rows of a column
    get the same lines, with rstride all columns of a row.

    LINEAR, since 1.3 and where info.features has LINEAR: a column's elements lie one behind the
    other in the order in which they are sent, with MASKED those alone that the mask selects. The
    run of column c is len bytes at off + c * cstride, lstride is 0, and the device goes no further:
    without MASKED all elements fit, with it a column that has more waits until the budget ends.
    LINEAR excludes INDEX_ONLY.

    queue: 1 ... info.queues
    flags: DRM_WSE_CMD_*
    bo: GEM handle: copies and streams; with INDEX_ONLY it may be 0
    off: first byte in bo
    mask_bo: GEM handle, with DRM_WSE_CMD_MASKED
    color: streams
    moff: first byte in mask_bo
    budget: device cycles, 1 ... info.max_budget; 0 for NOP and FENCE
    row0: first row of the rectangle: copies, START
    col0: first column: copies, START, streams
    rows: copies, START
    cols: copies, START, streams
    sram: copies: SRAM offset; START: entry address (absolute)
    len: copies: bytes of a line; LINEAR: bytes of a column's run
    nline: copies: lines; streams: blocks
    lstride: host memory: bytes between lines, or feature rows
    sstride: copies: bytes between lines in SRAM
    cstride: host memory: bytes between columns of cores
    rstride: host: bytes between rows of cores; streams: mask rows
    mcstride: streams: bytes between the masks of two columns
    kcol: streams: elements k of one column
    nfeat: streams: features per block
    etype: streams: WSE_ETYPE_*
    wait_cmd, wait_queue: FENCE
    pad: 0
    arg: START: argument words
    """


class drm_wse_fault(Structure):
    """
    DRM_IOCTL_WSE_FAULT: the first fault of a lost context, available once the failed submit's
    fence has signalled. The driver keeps no other record of a failure. Members other than status,
    queue and cmd_op are those of the device's fault record; if the device wrote none, or one that
    does not fit the command, they are 0 and color is 0xffffffff.

    -ENOENT      no such context of this file
    -ENODATA     no command of the context has failed (also when the device was reset or lost for
                 another reason)

    ctx: in, and out
    cmd_op: op of the command
    status: WSE_ST_*
    ncores: cores in the same state
    cause: WSE_CAUSE_*
    pc: of a core that faulted; 0: unknown
    addr: bad address, instruction, or offset of the bad member of the entry
    color: 0xffffffff: none
    value: wavelet, or value of DONE
    iova: bus address of a DMA error; 0 for users without CAP_SYS_ADMIN
    cycle: device cycle
    """


class drm_wse_counters(Structure):
    """
    DRM_IOCTL_WSE_COUNTERS: the counters of one object of a scope, in the order of the device's
    list (WSE_COUNTER_KINDS). The scope of the tile has all counters, each added over its objects.
    Fills the first min(count, number of counters) values of 64 bits at ptr and returns in count
    the number of counters that both this driver and the device know. The order never changes;
    new counters come last.

    Counters belong to the device, over all users: a reset of the device (resets) sets them to 0,
    a new context does not. No context is needed.

    -EINVAL      pad, an unknown scope, no such object, or one of 2^24 and above, of which the
                 device only has the totals
    -EFAULT      ptr
    -EINTR       the process is being killed

    scope: DRM_WSE_SCOPE_*
    object: of the scope, from 0
    ptr: address of the first value
    count: in: room at ptr, in values; out: number of counters
    pad: 0
    """


class wse_device(Structure):
    pass


class wse_buffer(Structure):
    pass


class wse_context(Structure):
    pass


class wse_fence(Structure):
    pass


class wse_program(Structure):
    pass


class wse_counter(Structure):
    """
    Counters, for the whole device (DRM_WSE_SCOPE_TILE) or kept for each core, link or queue
    (drm/wse_accel.h says how these are numbered). This is what is known about the i-th of a scope,
    NULL behind the last; of scope tile all are, the others as sums over their objects.

    name, unit, what: "mac", "lane-cycles", a line for people
    scope: the finest that it is kept for
    since: minor version of the device's ABI that has it first
    exact: the RTL and the twin count the same; else the twin's is an estimate
    """


class wse_copy(Structure):
    """
    off: of the first line of the first core in buf
    sram: SRAM offset of the first line
    len, nline: bytes of a line, lines
    lstride, sstride: from line to line: in buf, in SRAM
    cstride, rstride: in buf: from one column (row) of cores to the next
    broadcast: in: every core gets the same lines, cstride and rstride are 0. Where info.features has WSE_FEATURES_BCAST_DIM_MASK one of them may be other than 0: each column has lines of its own for all its rows, or each row for all its columns
    budget: cycles; default 64 for each 8 bytes, and 100,000
    """


class wse_stream(Structure):
    """
    buf: NULL: index_only without a buffer
    mask: NULL: dense
    nblock: blocks
    nfeat: features of a block: 1, 2 or 4
    etype: WSE_ETYPE_*
    kcol: elements of a column
    lstride, cstride: of buf: from feature to feature, column to column
    rstride, mcstride: of mask
    drop_zero, index_only: in
    run: bytes of a column's run, where info.features has WSE_FEATURES_LINEAR_MASK: its elements lie one behind the other as they are sent, with a mask those alone that it selects, and lstride is 0; 0: features lie in rows
    budget: cycles; default 1024 for each element of a column, and 1,000,000
    """


class wse_start(Structure):
    """
    entry: absolute, from wse_program_symbol()
    budget: cycles; default 1,000,000,000
    """


class wse_model(Structure):
    pass


class wse_graph(Structure):
    pass


class wse_mlp_shape(Structure):
    """
    The last `window` tokens are looked up in an embedding table, concatenated, and go through linear
    layers with an activation to a softmax. Widths (window * embed, hidden, vocab) are multiples of
    4 * C of the tile that it is trained on.

    vocab: 1 ... 65536
    window: tokens of context
    embed: width of an embedding row
    nhidden: hidden layers, 0 ... 31
    hidden: [nhidden] their widths
    activation: enum wse_activation
    """


class wse_gpt_shape(Structure):
    """
    A decoder-only transformer of GPT-2's form: learned positions, layer norm before each half of a
    block, causal attention, a feed-forward layer, residuals. The plan says which sizes
    a tile takes: its columns are a multiple or a divisor of the heads, or the model takes fewer of
    them. Widths that do not divide over those are padded.

    vocab: 1 ... 262144
    positions: rows of the position table
    seq: tokens of a sequence in training; 0: positions
    filter: width of the feed-forward layer; 0: 4 * hidden
    activation: enum wse_activation
    untied: 1: the output layer has weights of its own, 0: the embedding's
    eps: of the norms; 0: 1e-5
    dev: standard deviation of initial weights; 0: 0.02
    """


class wse_param(Structure):
    """
    A parameter: MemoryX keeps it, its moments and its gradient, and updates it after every step.

    name: in checkpoints; less than 64 characters, unique
    cols: [rows][cols]; 0: a vector [rows]
    mean, dev: initial values: mean + dev * normal(seed, parameter, element)
    flags: WSE_TENSOR_*
    """


class wse_batch(Structure):
    """
    One micro-batch, as gather() and scatter() see it.

    tokens: T
    nsamples: T / span
    samples: [nsamples] first target of each; [-window] ... [span - 1] are there
    param: gather: [nparams]; NULL for parameters without WSE_TENSOR_INPUT
    in_: [inputs], in order of wse_graph_in(); the targets are filled in already
    out: scatter: [outputs], as the cores made them
    grad: scatter: [nparams]; NULL for parameters without WSE_TENSOR_INPUT
    """


class wse_builder(Structure):
    """
    graph: Lists the operations of a micro-batch for a tile (wse_graph_tile()) and a number of tokens (wse_graph_tokens()), with the calls below. The planner calls it for every number of tokens that it tries, and again for the one that it takes; a result other than 0 is the error of that try. Where all numbers of tokens give -EINVAL, the planner tries the tile with a column less, and so on: widths need not divide by all columns of a device.
    gather: writes the inputs of a micro-batch, which depend on b alone. It is called when a device begins the micro-batch: within a step in any order, and again for one that is repeated
    scatter: adds up the gradients of what gather() read, from 0 on and in token order, of one micro-batch. It is called when the micro-batch is complete; NULL: there are none
    """


class wse_model_shape(Structure):
    """
    name: in plans and checkpoints: another name is another model
    params: [nparams]
    macs: multiply-adds of a token forward, for the plan's efficiency; 0: unknown
    """


class wse_tile(Structure):
    """
    A graph is filled in by graph() alone. Calls return numbers; after a failure they are harmless,
    and the call that asked for the graph returns the error: which operation, and what does not fit.
    Strings must live as long as the model.

    A value lies in the cores' SRAM from the operation that makes it to the last one that reads it;
    the library finds its place. A unit is what streams: a weight matrix, and vectors (biases, gains)
    that are copied in; each needs an operation that makes its gradient.

    lanes: 4 or 8: tokens of a core are a multiple
    sram: bytes of a core; no sum depends on it
    group: columns that share a bus to the host, 0: all; time alone depends on it
    no_linear: the device has no LINEAR streams: likewise
    """


class wse_linear_op(Structure):
    """
    y = pass(x W^T + b): the streamed product

    back: to the data: with the transposed image
    x: bf16
    vec, bias: value with the vectors, place of the bias in it; WSE_NO_BIAS
    post: enum wse_post
    aux: its second operand, or WSE_NO_VALUE
    over: the result takes the place of aux, which ends; the sums are the operation's own
    scale: WSE_POST_BF16
    chunk: of the unit
    """


class wse_norm_op(Structure):
    """
    layer norm over the width; rms: RMS norm, of x without its mean

    x: bf16
    vec, gain, bias: value with the vectors, places in it; bias: or WSE_NO_BIAS
    mean, rstd: out: kept for the backward pass; rms: no mean
    width: features that are there, of all columns: those behind them are padding, whose x, gains and biases are 0, and stay so; 0: all are
    """


class wse_attn_op(Structure):
    """
    causal attention within sequences (wse_graph_sequence())

    qkv: bf16, [3][heads * d] rows
    d, heads: features of a head that a column has, heads of a column
    group: columns of a head
    max, recip: out: kept for the backward pass
    kv: heads of keys and values, each shared by heads / kv of queries; 0: heads. qkv has (heads + 2 kv) * d rows
    scale: by which q is scaled already; 0: 1 / sqrt(d * group)
    slopes: ALiBi: 1 + a value with a table of slopes (struct wse_attn_args); 0: there are none
    drop: dropout of P: 1 + a value with a table (struct wse_drop_args); 0: there is none
    """


class wse_tokenizer(Structure):
    pass


class wse_tokenizer_info(Structure):
    """
    tokens: all numbers from 0 on below it are tokens
    longest: bytes of the longest one
    begin: what a text begins after: <|endoftext|>, <s>, or else a newline
    sum: of all that a token's number depends on: equal for equal tokenizers
    """


class wse_tokenize(Structure):
    """progress: after each MiB; total is 0 where it is not known. Not 0: give up. May be NULL"""


class wse_tokenize_result(Structure):
    """width: bytes of a token in the file"""


class wse_params(Structure):
    pass


class wse_trainer(Structure):
    pass


class wse_prompt(Structure):
    """
    What a text goes on from: bytes as they are.

    len: 0: up to the first NUL
    """


class wse_override(Structure):
    """
    What overrides a parameter file.

    sets: [nsets] "key.path=value"; "trainer.init." and "trainer.fit." may be left out
    plan: 1: nothing will be trained: sections that training would refuse become notes
    data: text file, directory of text files, or tokens (*.bin); NULL: the file's
    model_dir: likewise
    prompt: likewise; bytes as they are
    prompt_len: 0: up to its first NUL
    forward: 1: trainers evaluate and generate only, without memory for optimizer state and gradients: they take the weights of a checkpoint (WSE_CKPT_MODEL, _EVAL), and refuse steps. Held-out sets and checkpoint are those of the file's validate, where it has one; 2: the same with those of validate_all, for WSE_MODE_EVAL_ALL
    tokenizer: as for wse_tokenizer_open(); NULL: the file's
    prompts: several, instead of prompt; one with text NULL is their end
    """


class wse_sched(Structure):
    """
    from_, to: learning rates at its first step and from total_iters on
    total_iters: at least 1
    begin: step at which it takes over; ascending, the first is 0
    """


class wse_train_shape(Structure):
    """
    The same from C.

    data: text file, directory of text files, or tokens (*.bin); NULL: none, for plans and text
    val_data: held-out text; NULL: held_out tokens are cut out of data
    held_out: 0: 2048
    model_dir: of runs: checkpoints, metrics.csv, loss.svg; NULL: "model_dir"
    batch: samples of a step; the only member that is needed, with a learning rate
    micro_batch: samples that a wafer takes at once; 0: one that divides batch
    max_steps: of a run; 0: 1
    seed: of the initial weights; 0: 1
    shuffle_seed: 0: 1
    in_order: 1: samples are not shuffled
    optimizer: enum wse_optim_kind
    beta1, beta2, eps: 0: 0.9, 0.999 (Lion: 0.99), 1e-8 (Lion has none)
    momentum: SGD
    lr: constant, where there is no schedule
    sched: [nsched]
    log_steps: 0: 10
    max_norm: gradients are clipped to it; 0: not
    eval_frequency: steps between evaluations of a run; 0: at its end
    eval_batches: of an evaluation; 0: all held-out samples
    checkpoint_steps: 0: at its end
    sample_bytes: tokens of text that a run shows at its end; 0: none
    prompt: of that; NULL: none
    temperature: likewise; 0: 0.8
    forward: as that of struct wse_override
    tokenizer: makes tokens of text; NULL: bytes are tokens
    masked: 1: batches of the caller's have loss masks
    """


class wse_plan_info(Structure):
    """
    tokens: of a micro-batch
    micro_batches: of a step
    weights: parameters in all
    sram: bytes of a core that are used, of tile.sram
    mode: 0: all of it is kept, in one piece; more: parts are made again, or in chunks
    streamed_in, streamed_out: bytes of a micro-batch
    cycles: predicted, of a micro-batch
    useful: multiply-adds / (cycles * lanes * cores that are used)
    columns: of tile.cols that the model takes: the first ones
    """


class wse_trainer_info(Structure):
    """
    step: committed steps
    devices: that are alive, of all ranks
    weights: parameters in all
    tokens: of the text
    unigram, bigram: entropies of the text, nats a token
    max_steps: of a run, as the parameters say
    vocab: tokens are below it
    rank, ranks: of this process, under mpirun or srun; else 0 and 1
    token_bytes: of the longest token: 1 without a tokenizer
    """


class wse_step_result(Structure):
    """
    loss: mean over the batch, nats per token
    norm: of the gradient before clipping
    """


class wse_step_shape(Structure):
    """
    A batch of the caller's, and what its step has in place of the parameters'.

    samples: [batch][window + span], as of wse_trainer_step_on()
    n: tokens of samples in all
    mask: [batch][span]: a target with a 0 does not count; NULL: all do. Params have masked 1
    nmask: of it in all
    own: WSE_STEP_*: which of the members that follow are of this step
    lr: in place of the schedule's
    max_norm: of clipping; 0: none
    """


class wse_tensor_info(Structure):
    """
    Parameter number i of the model. data: binary32 [rows][cols], of the committed step, valid until
    the next call.

    rows, cols: cols 1: a vector
    """


class wse_sampling(Structure):
    """
    prompt: bytes as they are
    n: tokens to make: bytes, without a tokenizer
    temperature: 0: the most likely token
    top_k: of the most likely ones; 0: all
    top_p: of the fewest that have this share; 0, 1: all
    streams: texts
    nprompts: [nprompts] instead of prompt, where that is NULL; each has `streams` texts
    """


class wse_progress(Structure):
    """
    rate: samples a second
    eta: seconds
    """


class wse_event(Structure):
    """
    seconds: of the run, over resumes
    loss: nats per token
    lr, norm: norm: of the gradient, before clipping
    ms: of this step, without evaluations and checkpoints
    rate: samples a second of this step
    devices: alive
    """


class wse_run_shape(Structure):
    """
    checkpoint: NULL: the file's ckpt_path, if any; "auto": the last one in model_dir, if any. A run that does not go on from the last one there refuses a model_dir that has some
    verify: [nverify] steps (1...) to do again on another device: every bit is compared
    nverify: at most WSE_VERIFY_MAX
    verify_uri: that device; NULL: sim:rtl of the same shape
    progress: after a step; may be NULL
    stop: between steps; not 0: checkpoint and end. May be NULL
    event: what the lines say, for programs; may be NULL
    chart: not 0: at the end the loss curve goes to the log, in braille, for a terminal
    check_from, check_to: WSE_MODE_CHECK: checkpoint is one of the run in question, in its folder; steps check_from + 1 ... check_to are made again from the checkpoint of step check_from beside it (0: from the initial weights), and compared with the hashes in metrics.csv there, and the weights with the checkpoint of step check_to, if it is there. Nothing is written.
    check_weights: where it began with weights of a file: that file; else NULL
    wave: "FILE.fst,step=S[,from=A][,to=B][,core=COLUMN.ROW]": step S is replayed on the RTL as by verify, with waves (wse_device_wave()) of its cycles A to B - 1; NULL: none. With "step=fault" and no A and B the step whose fault, deadlock or budget ends the run, with waves of the last 10000 cycles before that; the run's error stays what it is
    """


class wse_run_result(Structure):
    """
    steps: committed in all
    loss: of the last step
    held_out: of the last evaluation, if evaluated; of the first set
    unigram, bigram: entropies of the text, nats
    checkpoint: the last one written or read, "" if none
    hash: of that checkpoint
    stopped: by stop()
    """


# ---- callbacks ----

# Takes what the cores have said with wse_printf() (wse_print.h) since the last call, or since the program was copied: fn gets each message of each core, cores by rows, a core's in its order, on the calling thread. The text of a message does not depend on timing where the program does not. It copies from and to all cores on queue 1: call it when no command runs the program. A core whose area (512 bytes, if the program does not say other) is full drops messages, and the last text of the core says how many. On a context that one of its commands has lost it still tells what there is, at each call; behind a driver older than 1.3 it fails. -ENODATA the program has no wse_printf(), or no symbols -EBADMSG a core's messages are damaged (wse_error() says which); the others were handed over and what wse_submit() and wse_fence_wait() return
wse_message_fn = CFUNCTYPE(None, c_void_p, c_uint32, c_uint32, c_char_p)
# one line of text without the newline; may be called from any thread
wse_log_fn = CFUNCTYPE(None, c_void_p, c_uint, c_char_p)


# ---- members ----

drm_wse_query._fields_ = [
    ("ptr", c_uint64),
    ("size", c_uint32),
    ("pad", c_uint32),
]

drm_wse_info._fields_ = [
    ("abi_major", c_uint32),
    ("abi_minor", c_uint32),
    ("rows", c_uint32),
    ("cols", c_uint32),
    ("sram_kib", c_uint32),
    ("lanes", c_uint32),
    ("colors", c_uint32),
    ("queues", c_uint32),
    ("features", c_uint32),
    ("fw_version", c_uint32),
    ("fw_end", c_uint32),
    ("max_cmds", c_uint32),
    ("resets", c_uint64),
    ("max_budget", c_uint64),
]

drm_wse_bo_create._fields_ = [
    ("size", c_uint64),
    ("flags", c_uint32),
    ("handle", c_uint32),
]

drm_wse_bo_map._fields_ = [
    ("handle", c_uint32),
    ("pad", c_uint32),
    ("offset", c_uint64),
]

drm_wse_ctx_create._fields_ = [
    ("flags", c_uint32),
    ("ctx", c_uint32),
]

drm_wse_ctx_destroy._fields_ = [
    ("ctx", c_uint32),
    ("pad", c_uint32),
]

drm_wse_array._fields_ = [
    ("ptr", c_uint64),
    ("count", c_uint32),
    ("stride", c_uint32),
]

drm_wse_submit._fields_ = [
    ("ctx", c_uint32),
    ("flags", c_uint32),
    ("cmds", drm_wse_array),
    ("in_syncs", drm_wse_array),
    ("out_syncs", drm_wse_array),
]

drm_wse_sync._fields_ = [
    ("handle", c_uint32),
    ("pad", c_uint32),
    ("point", c_uint64),
]

drm_wse_cmd._fields_ = [
    ("op", c_uint32),
    ("queue", c_uint32),
    ("flags", c_uint32),
    ("bo", c_uint32),
    ("off", c_uint64),
    ("mask_bo", c_uint32),
    ("color", c_uint32),
    ("moff", c_uint64),
    ("budget", c_uint64),
    ("row0", c_uint16),
    ("col0", c_uint16),
    ("rows", c_uint16),
    ("cols", c_uint16),
    ("sram", c_uint32),
    ("len", c_uint32),
    ("nline", c_uint32),
    ("lstride", c_uint32),
    ("sstride", c_uint32),
    ("cstride", c_uint32),
    ("rstride", c_uint32),
    ("mcstride", c_uint32),
    ("kcol", c_uint16),
    ("nfeat", c_uint8),
    ("etype", c_uint8),
    ("wait_cmd", c_uint32),
    ("wait_queue", c_uint32),
    ("pad", c_uint32),
    ("arg", c_uint32 * 16),
]

drm_wse_fault._fields_ = [
    ("ctx", c_uint32),
    ("cmd_op", c_uint32),
    ("status", c_uint32),
    ("queue", c_uint32),
    ("ncores", c_uint32),
    ("cause", c_uint32),
    ("row", c_uint32),
    ("col", c_uint32),
    ("pc", c_uint32),
    ("addr", c_uint32),
    ("color", c_uint32),
    ("value", c_uint32),
    ("iova", c_uint64),
    ("cycle", c_uint64),
]

drm_wse_counters._fields_ = [
    ("scope", c_uint32),
    ("object", c_uint32),
    ("ptr", c_uint64),
    ("count", c_uint32),
    ("pad", c_uint32),
]

wse_counter._fields_ = [
    ("name", c_char_p),
    ("unit", c_char_p),
    ("what", c_char_p),
    ("scope", c_uint32),
    ("since", c_uint32),
    ("exact", c_int),
]

wse_copy._fields_ = [
    ("buf", POINTER(wse_buffer)),
    ("off", c_uint64),
    ("queue", c_uint32),
    ("row0", c_uint16),
    ("col0", c_uint16),
    ("rows", c_uint16),
    ("cols", c_uint16),
    ("sram", c_uint32),
    ("len", c_uint32),
    ("nline", c_uint32),
    ("lstride", c_uint32),
    ("sstride", c_uint32),
    ("cstride", c_uint32),
    ("rstride", c_uint32),
    ("broadcast", c_int),
    ("budget", c_uint64),
]

wse_stream._fields_ = [
    ("buf", POINTER(wse_buffer)),
    ("mask", POINTER(wse_buffer)),
    ("off", c_uint64),
    ("moff", c_uint64),
    ("queue", c_uint32),
    ("color", c_uint32),
    ("col0", c_uint16),
    ("cols", c_uint16),
    ("nblock", c_uint32),
    ("nfeat", c_uint8),
    ("etype", c_uint8),
    ("kcol", c_uint16),
    ("lstride", c_uint32),
    ("cstride", c_uint32),
    ("rstride", c_uint32),
    ("mcstride", c_uint32),
    ("drop_zero", c_int),
    ("index_only", c_int),
    ("run", c_uint32),
    ("budget", c_uint64),
]

wse_start._fields_ = [
    ("queue", c_uint32),
    ("row0", c_uint16),
    ("col0", c_uint16),
    ("rows", c_uint16),
    ("cols", c_uint16),
    ("entry", c_uint32),
    ("arg", c_uint32 * 16),
    ("boot", c_int),
    ("closed", c_int),
    ("budget", c_uint64),
]

wse_mlp_shape._fields_ = [
    ("vocab", c_uint32),
    ("window", c_uint32),
    ("embed", c_uint32),
    ("nhidden", c_uint32),
    ("hidden", POINTER(c_uint32)),
    ("activation", c_uint32),
    ("resv", c_uint32 * 7),
]

wse_gpt_shape._fields_ = [
    ("vocab", c_uint32),
    ("positions", c_uint32),
    ("seq", c_uint32),
    ("hidden", c_uint32),
    ("layers", c_uint32),
    ("heads", c_uint32),
    ("filter", c_uint32),
    ("activation", c_uint32),
    ("untied", c_uint32),
    ("eps", c_float),
    ("dev", c_float),
    ("resv", c_uint32 * 5),
]

wse_param._fields_ = [
    ("name", c_char_p),
    ("rows", c_uint32),
    ("cols", c_uint32),
    ("mean", c_float),
    ("dev", c_float),
    ("flags", c_uint32),
    ("resv", c_uint32 * 3),
]

wse_batch._fields_ = [
    ("tokens", c_uint32),
    ("nsamples", c_uint32),
    ("samples", POINTER(POINTER(c_uint16))),
    ("param", POINTER(POINTER(c_float))),
    ("in_", POINTER(c_void_p)),
    ("out", POINTER(c_void_p)),
    ("grad", POINTER(POINTER(c_float))),
]

wse_builder._fields_ = [
    ("graph", CFUNCTYPE(c_int, c_void_p, POINTER(wse_graph))),
    ("gather", CFUNCTYPE(None, c_void_p, POINTER(wse_batch))),
    ("scatter", CFUNCTYPE(None, c_void_p, POINTER(wse_batch))),
]

wse_model_shape._fields_ = [
    ("name", c_char_p),
    ("vocab", c_uint32),
    ("window", c_uint32),
    ("span", c_uint32),
    ("nparams", c_uint32),
    ("params", POINTER(wse_param)),
    ("macs", c_uint64),
    ("resv", c_uint64 * 4),
]

wse_tile._fields_ = [
    ("rows", c_uint32),
    ("cols", c_uint32),
    ("lanes", c_uint32),
    ("sram", c_uint32),
    ("group", c_uint32),
    ("no_linear", c_uint32),
]

wse_linear_op._fields_ = [
    ("program", c_uint32),
    ("unit", c_uint32),
    ("back", c_int),
    ("x", c_uint32),
    ("vec", c_uint32),
    ("bias", c_uint32),
    ("post", c_uint32),
    ("aux", c_uint32),
    ("over", c_int),
    ("scale", c_float),
    ("nscale", c_uint32),
    ("chunk", c_uint32),
    ("what", c_char_p),
    ("resv", c_uint32 * 4),
]

wse_norm_op._fields_ = [
    ("program", c_uint32),
    ("x", c_uint32),
    ("vec", c_uint32),
    ("gain", c_uint32),
    ("bias", c_uint32),
    ("eps", c_float),
    ("mean", c_uint32),
    ("rstd", c_uint32),
    ("rms", c_uint32),
    ("width", c_uint32),
    ("resv", c_uint32 * 2),
]

wse_attn_op._fields_ = [
    ("program", c_uint32),
    ("qkv", c_uint32),
    ("d", c_uint32),
    ("heads", c_uint32),
    ("group", c_uint32),
    ("max", c_uint32),
    ("recip", c_uint32),
    ("kv", c_uint32),
    ("scale", c_float),
    ("slopes", c_uint32),
    ("drop", c_uint32),
]

wse_tokenizer_info._fields_ = [
    ("tokens", c_uint32),
    ("longest", c_uint32),
    ("begin", c_uint32),
    ("pad", c_uint32),
    ("sum", c_uint64),
    ("resv", c_uint64 * 5),
]

wse_tokenize._fields_ = [
    ("progress", CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64, c_uint64)),
    ("ctx", c_void_p),
    ("resv", c_uint64 * 4),
]

wse_tokenize_result._fields_ = [
    ("bytes", c_uint64),
    ("tokens", c_uint64),
    ("width", c_uint32),
    ("pad", c_uint32),
    ("resv", c_uint64 * 4),
]

wse_prompt._fields_ = [
    ("text", c_char_p),
    ("len", c_size_t),
]

wse_override._fields_ = [
    ("sets", POINTER(c_char_p)),
    ("nsets", c_uint32),
    ("plan", c_uint32),
    ("data", c_char_p),
    ("model_dir", c_char_p),
    ("prompt", c_char_p),
    ("prompt_len", c_size_t),
    ("forward", c_uint64),
    ("tokenizer", c_char_p),
    ("prompts", POINTER(wse_prompt)),
]

wse_sched._fields_ = [
    ("kind", c_uint),
    ("from_", c_double),
    ("to", c_double),
    ("total_iters", c_uint64),
    ("begin", c_uint64),
]

wse_train_shape._fields_ = [
    ("data", c_char_p),
    ("val_data", c_char_p),
    ("held_out", c_uint64),
    ("model_dir", c_char_p),
    ("batch", c_uint64),
    ("micro_batch", c_uint64),
    ("max_steps", c_uint64),
    ("seed", c_uint64),
    ("shuffle_seed", c_uint64),
    ("in_order", c_uint32),
    ("optimizer", c_uint32),
    ("beta1", c_double),
    ("beta2", c_double),
    ("eps", c_double),
    ("momentum", c_double),
    ("weight_decay", c_double),
    ("lr", c_double),
    ("sched", POINTER(wse_sched)),
    ("nsched", c_uint32),
    ("log_steps", c_uint32),
    ("max_norm", c_double),
    ("eval_frequency", c_uint64),
    ("eval_batches", c_uint64),
    ("checkpoint_steps", c_uint64),
    ("sample_bytes", c_uint64),
    ("prompt", c_char_p),
    ("temperature", c_double),
    ("forward", c_uint64),
    ("tokenizer", c_char_p),
    ("masked", c_uint64),
    ("resv", c_uint64 * 5),
]

wse_plan_info._fields_ = [
    ("tile", wse_tile),
    ("tokens", c_uint32),
    ("micro_batches", c_uint32),
    ("ops", c_uint32),
    ("units", c_uint32),
    ("weights", c_uint64),
    ("sram", c_uint32),
    ("mode", c_uint32),
    ("streamed_in", c_uint64),
    ("streamed_out", c_uint64),
    ("cycles", c_uint64),
    ("useful", c_double),
    ("columns", c_uint64),
    ("resv", c_uint64 * 7),
]

wse_trainer_info._fields_ = [
    ("step", c_uint64),
    ("devices", c_uint32),
    ("tensors", c_uint32),
    ("weights", c_uint64),
    ("tokens", c_uint64),
    ("unigram", c_double),
    ("bigram", c_double),
    ("max_steps", c_uint64),
    ("vocab", c_uint64),
    ("rank", c_uint32),
    ("ranks", c_uint32),
    ("token_bytes", c_uint64),
    ("resv", c_uint64 * 4),
]

wse_step_result._fields_ = [
    ("loss", c_double),
    ("norm", c_double),
    ("lr", c_double),
]

wse_step_shape._fields_ = [
    ("samples", c_void_p),
    ("n", c_uint64),
    ("mask", POINTER(c_uint8)),
    ("nmask", c_uint64),
    ("own", c_uint64),
    ("lr", c_double),
    ("max_norm", c_double),
    ("resv", c_uint64 * 3),
]

wse_tensor_info._fields_ = [
    ("name", c_char_p),
    ("rows", c_uint32),
    ("cols", c_uint32),
    ("data", POINTER(c_float)),
]

wse_sampling._fields_ = [
    ("prompt", c_char_p),
    ("prompt_len", c_size_t),
    ("n", c_uint64),
    ("temperature", c_double),
    ("top_k", c_uint32),
    ("top_p", c_double),
    ("seed", c_uint64),
    ("streams", c_uint32),
    ("nprompts", c_uint32),
    ("prompts", POINTER(wse_prompt)),
]

wse_progress._fields_ = [
    ("step", c_uint64),
    ("max_steps", c_uint64),
    ("loss", c_double),
    ("rate", c_double),
    ("eta", c_double),
]

wse_event._fields_ = [
    ("kind", c_uint),
    ("step", c_uint64),
    ("max_steps", c_uint64),
    ("seconds", c_double),
    ("loss", c_double),
    ("lr", c_double),
    ("norm", c_double),
    ("ms", c_double),
    ("rate", c_double),
    ("samples", c_uint64),
    ("devices", c_uint32),
    ("text", c_char_p),
]

wse_run_shape._fields_ = [
    ("mode", c_uint),
    ("checkpoint", c_char_p),
    ("verify", POINTER(c_uint64)),
    ("nverify", c_uint32),
    ("verify_uri", c_char_p),
    ("progress", CFUNCTYPE(None, c_void_p, POINTER(wse_progress))),
    ("stop", CFUNCTYPE(c_int, c_void_p)),
    ("event", CFUNCTYPE(None, c_void_p, POINTER(wse_event))),
    ("ctx", c_void_p),
    ("chart", c_uint64),
    ("check_from", c_uint64),
    ("check_to", c_uint64),
    ("check_weights", c_char_p),
    ("wave", c_char_p),
]

wse_run_result._fields_ = [
    ("steps", c_uint64),
    ("loss", c_double),
    ("evaluated", c_int),
    ("held_out", c_double),
    ("unigram", c_double),
    ("bigram", c_double),
    ("checkpoint", c_char * 1088),
    ("hash", c_char * 65),
    ("stopped", c_int),
    ("resv", c_uint64 * 8),
]


# ---- functions, in lib ----

bind("wse_error", c_char_p, doc="""
One sentence about the last call of this thread that failed: it names the thing, its value and
the fix. "" if none failed. It stays until the next failing call of the thread. It is meant for
people: programs look at the errno.
""")

bind("wse_version", c_char_p, doc=""""0.1.0", of the library that is loaded.""")

bind("wse_device_open", c_int, c_char_p, POINTER(POINTER(wse_device)), doc="""
uri:
  accel:N                            /dev/accel/accelN
  accel:/dev/accel/accelN
  sim:func,rows=R,cols=C             the twin in this process, any shape
  sim:rtl,rows=R,cols=C              the Verilated RTL in this process, in the shapes that were
                         built
and for sim, each optional:
  seed=N             not 0: random back-pressure and DMA latency (a result must not depend on it)
  threads=N          func: host threads a large tile may use; 0 (default): its share of the
             processors,
                     more than 8, or than one for 64 cores, is the same as that, as is any number
  for
                     tiles of less than 256 cores (no result depends on it)
  hostfp=1           rtl: the build with host floating point
  races=1            func: report programs that are not confluent
  shuffle=1          func: another order of events for each seed (a result must not depend on it)
  exact=1            func: none of the ways that save time, one thread (the same result, slowly:
           where
                     it is another one, a fast way is wrong)
  group=N            columns that share a bus to the host, a divisor of cols; 0: one bus for all
                     (default: 4 where there are 16 columns or more and 4 divides them, else 0)
  latency=N          cycles from a DMA request to its first data
  pages=N            12 ... 30: buffers are scattered over pages of 2^N bytes and named by page
lists

-EINVAL      the URI is malformed
-ENOENT      there is no such device
-EACCES      no permission for the node
-ENOTSUP     a model, or a shape of it, that was not built in
-EPROTO      the node is not one of the wse driver, or versions do not fit
""")

bind("wse_device_close", None, POINTER(wse_device))

bind("wse_device_info", c_int, POINTER(wse_device), POINTER(drm_wse_info), doc="""
Copies what is known about the device. See struct drm_wse_info; resets is counted anew by each
call.
""")

bind("wse_device_uri", c_char_p, POINTER(wse_device), doc="""The URI it was opened with. Lives as long as dev.""")

bind("wse_counter", POINTER(wse_counter), c_uint32, c_uint32)

bind("wse_device_counters", c_int, POINTER(wse_device), c_uint32, c_uint32, POINTER(c_uint64), c_uint32,
     POINTER(c_uint32), doc="""
The counters of one object of a scope since the last reset of the device: writes at most room
values, in the order of wse_counter(), and returns in n how many the device has, which may be
fewer or more than this library knows.

-EINVAL      no such scope or object
-ENOTSUP     the driver is older than 1.2
""")

bind("wse_device_mmio_read", c_int, POINTER(wse_device), c_uint32, POINTER(c_uint32), doc="""
Reads a register of BAR0. -ENOTSUP on accel, -EINVAL for an offset that is no multiple of 4 or
outside.
""")

bind("wse_device_wave", c_int, POINTER(wse_device), c_char_p, doc="""
Records waves, the signals of a device "sim:rtl,...,waves=1", from now on: window is
"FILE.fst[,from=A][,to=B][,core=COLUMN.ROW]", of the device's cycles A to B - 1 since this call
(from 0, and 10000 of them, where it does not say), of one core and its router or of the whole
tile. Beside FILE.fst is FILE.gtkw, what gtkwave shows first. No result and no cycle changes.
NULL ends it and completes the file, which closing the device does not.

-ENOTSUP     a device without waves
-EINVAL      another text, an empty window, a core that is not there
-EBUSY       a window is open
-ENODATA     of ending: the window never came; no file is left, as in the next case
-ENOSPC ...  of the file
-ENOENT      NULL, and no window is open
""")

bind("wse_buffer_create", c_int, POINTER(wse_device), c_size_t, POINTER(POINTER(wse_buffer)), doc="""
size bytes, rounded up to pages, zeroed. -ENOMEM.

""")

bind("wse_buffer_share", c_int, POINTER(wse_device), POINTER(wse_buffer), POINTER(POINTER(wse_buffer)), doc="""
The same memory for another device, without a copy. -EXDEV where that cannot be: the memory of an
in-process device cannot be given to a device node.
""")

bind("wse_buffer_destroy", None, POINTER(wse_buffer), doc="""
Commands that were submitted keep the memory as long as they need it. NULL is ignored.

""")

bind("wse_buffer_map", c_void_p, POINTER(wse_buffer), doc="""Mapped for the life of buf.""")

bind("wse_buffer_size", c_size_t, POINTER(wse_buffer), doc="""Mapped for the life of buf.""")

bind("wse_buffer_handle", c_uint32, POINTER(wse_buffer), doc="""
What the members bo and mask_bo of a command take; valid on its own device only. Never 0.

""")

bind("wse_context_create", c_int, POINTER(wse_device), c_uint32, POINTER(POINTER(wse_context)), doc="""
SRAM is scrubbed and the firmware runs on all cores when this returns.

-EBUSY       another context has the device
-ENOENT      there is no firmware; -ENOEXEC: it is damaged; -EOPNOTSUPP: of another ABI
-EIO         the firmware did not boot
-ENODEV      the device is gone
""")

bind("wse_context_destroy", None, POINTER(wse_context), doc="""
Waits for its commands, then scrubs the device. NULL is ignored.

""")

bind("wse_context_device", POINTER(wse_device), POINTER(wse_context))

bind("wse_context_fault", c_int, POINTER(wse_context), POINTER(drm_wse_fault), doc="""
The first fault of a context that is lost, -ENODATA if there was none.

""")

bind("wse_submit", c_int, POINTER(wse_context), POINTER(drm_wse_cmd), c_uint32, POINTER(POINTER(wse_fence)),
     c_uint32, POINTER(POINTER(wse_fence)), doc="""
Submits n commands, all or nothing. They start when all nin fences of in (may be NULL if nin is
0) have signalled, well or badly. *fence signals when all commands are done; fence may be NULL.
A start and the streams it lives from belong into one submit.

-EINVAL      a member is wrong (wse_error() says which)
-ENOENT      a buffer handle that does not exist
-ERANGE      a rectangle, an SRAM range or a host range leaves what it must stay in
-EIO         the context is lost after an error; -ENODEV: with its device
""")

bind("wse_fence_wait", c_int, POINTER(wse_fence), c_int64, doc="""
Waits at most timeout_ns nanoseconds (0: looks).

-ETIMEDOUT   the waiting timed out: the commands still run
else what became of the commands: 0, or of the first that failed
-ETIME       its budget ran out
-EDEADLK     nothing on the tile could move any more
-EFAULT      a core was halted by a fault
-EREMOTEIO   the program said DONE with a value other than 0
-EIO         the host's memory refused
-EPROTO      the device refused the entry
-ECANCELED   an earlier error swallowed it
-ENODEV      the device is gone
After any of these the context is lost.
""")

bind("wse_fence_poll", c_int, POINTER(wse_fence), doc="""
wse_fence_wait() without waiting: -ETIMEDOUT while the commands run.

""")

bind("wse_fence_destroy", None, POINTER(wse_fence), doc="""Does not wait. NULL is ignored.""")

bind("wse_fence_cycles", c_int, POINTER(wse_fence), POINTER(c_uint32), POINTER(c_uint32), doc="""
Device cycles (low 32 bits) at the start of the first and at the end of the last command of a
fence that has signalled. -EAGAIN while it runs, -ENOTSUP on accel.
""")

bind("wse_submit_wait", c_int, POINTER(wse_context), POINTER(drm_wse_cmd), c_uint32, c_int64, doc="""
wse_submit() and wse_fence_wait() in one.

""")

bind("wse_cmd_copy_in", drm_wse_cmd, wse_copy)

bind("wse_cmd_copy_out", drm_wse_cmd, wse_copy)

bind("wse_cmd_stream_in", drm_wse_cmd, wse_stream)

bind("wse_cmd_stream_out", drm_wse_cmd, wse_stream)

bind("wse_cmd_start", drm_wse_cmd, wse_start)

bind("wse_cmd_fence", drm_wse_cmd, c_uint32, c_uint32, doc="""
On queue: waits for the command of that index in the same submit, which is on another queue.

""")

bind("wse_cmd_fence_queue", drm_wse_cmd, c_uint32, c_uint32, doc="""
On queue: waits for everything that was submitted to wait_queue before this submit.

""")

bind("wse_cmd_nop", drm_wse_cmd, c_uint32)

bind("wse_program_load", c_int, POINTER(wse_context), c_char_p, POINTER(POINTER(wse_program)), doc="""
Reads an RV32 ELF (a file, or size bytes at image), copies it to every core, and waits for that.
Programs are linked with firmware/runtime/program.ld, above the resident firmware (info.fw_end).
A name without '/' that is no file here is one of the library's own programs, such as
"linear.elf" (FILES in wse(7)).

-ENOEXEC     no ELF executable for RV32 (see wse_error()), or damaged
-ERANGE      a segment leaves the SRAM
-EADDRINUSE  a segment overlaps the resident firmware
and what open(2), wse_submit() and wse_fence_wait() return
""")

bind("wse_program_load_memory", c_int, POINTER(wse_context), c_void_p, c_size_t, POINTER(POINTER(wse_program)),
     doc="""
Reads an RV32 ELF (a file, or size bytes at image), copies it to every core, and waits for that.
Programs are linked with firmware/runtime/program.ld, above the resident firmware (info.fw_end).
A name without '/' that is no file here is one of the library's own programs, such as
"linear.elf" (FILES in wse(7)).

-ENOEXEC     no ELF executable for RV32 (see wse_error()), or damaged
-ERANGE      a segment leaves the SRAM
-EADDRINUSE  a segment overlaps the resident firmware
and what open(2), wse_submit() and wse_fence_wait() return
""")

bind("wse_program_create", c_int, POINTER(wse_context), c_char_p, POINTER(POINTER(wse_program)), doc="""
The same, but nothing is copied: the image stays in a buffer, for programs that take turns on the
cores. wse_program_copy() is the command that copies it to all cores; it is for programs made
this way alone.
""")

bind("wse_program_copy", drm_wse_cmd, POINTER(wse_program), c_uint32, doc="""
The same, but nothing is copied: the image stays in a buffer, for programs that take turns on the
cores. wse_program_copy() is the command that copies it to all cores; it is for programs made
this way alone.
""")

bind("wse_program_symbol", c_int, POINTER(wse_program), c_char_p, POINTER(c_uint32), doc="""
Absolute address of a symbol. -ENOENT (wse_error() says which).

""")

bind("wse_program_end", c_uint32, POINTER(wse_program), doc="""
First SRAM offset behind the program (a multiple of 16); free up to the stack, info.sram_kib -
1088 B.
""")

bind("wse_program_print", c_int, POINTER(wse_context), POINTER(wse_program), wse_message_fn, c_void_p)

bind("wse_program_destroy", None, POINTER(wse_program), doc="""
The cores keep what was loaded. Commands that copy the program must have ended. NULL is ignored.

""")

bind("wse_model_destroy", c_int, POINTER(wse_model), doc="""
Trainers keep the model that they use. NULL is ignored. -EBADF: it is no model, or was destroyed
before
""")

bind("wse_model_mlp", c_int, POINTER(wse_mlp_shape), POINTER(POINTER(wse_model)), doc="""
-EINVAL        a size is 0 or out of range

""")

bind("wse_model_gpt", c_int, POINTER(wse_gpt_shape), POINTER(POINTER(wse_model)), doc="""
-EINVAL        a size is out of range, heads do not divide hidden, or seq is above positions

""")

bind("wse_model_create", c_int, POINTER(wse_model_shape), POINTER(wse_builder), c_void_p,
     POINTER(POINTER(wse_model)), doc="""
shape is copied; ops and ctx stay until the model and all trainers that use it are gone.
The thread that is in a call on params or trainer makes the callbacks, so one at a time for each
of these; a callback must not call them.

-EINVAL      a size or a name is missing, out of range, or there twice
""")

bind("wse_graph_tile", None, POINTER(wse_graph), POINTER(wse_tile))

bind("wse_graph_tokens", c_uint32, POINTER(wse_graph), doc="""T, of all rows""")

bind("wse_graph_sequence", None, POINTER(wse_graph), c_uint32, doc="""
sequences of seq tokens, for attention; without it tokens do not know of each other

""")

bind("wse_graph_program", c_uint32, POINTER(wse_graph), c_char_p, c_uint32, doc="""
A program of the cores by its file name, and the SRAM offset where data may begin above it.

""")

bind("wse_graph_kernels", c_uint32, POINTER(wse_graph), doc="""
the library's program with all kernels of the operations below

""")

bind("wse_graph_classes", None, POINTER(wse_graph), c_uint32, POINTER(c_uint32), POINTER(c_uint32), doc="""
The targets as input u16 [T], the losses as output binary32 [T], the logits as output binary32
[width][T]: every model has them. width: vocab, or more where the last ones are padding. The
numbers of the input and of the output of the logits.
""")

bind("wse_graph_in", c_uint32, POINTER(wse_graph), c_char_p, c_size_t, doc="""
One more input or output of every micro-batch, of so many bytes on the host; its number.

""")

bind("wse_graph_out", c_uint32, POINTER(wse_graph), c_char_p, c_size_t, doc="""
One more input or output of every micro-batch, of so many bytes on the host; its number.

""")

bind("wse_graph_unit", c_uint32, POINTER(wse_graph), c_uint32, c_uint32, c_uint32, c_uint32, doc="""
A unit whose matrix is parameter `weight` [outs][ins] (outs may be more: zeros), or one of
vectors alone (WSE_NO_TENSOR). parts > 1: the matrix is `parts` of outs / parts rows each, and a
column of cores owns its features of each (queries, keys and values).
""")

bind("wse_graph_chunks", None, POINTER(wse_graph), c_uint32, c_uint32, c_uint32, doc="""
A unit without parts that is used a chunk at a time: of its outputs or of its inputs, at most one
of both above 1. Chunk j is each column's j-th share of them.
""")

bind("wse_graph_vec", c_uint32, POINTER(wse_graph), c_uint32, c_uint32, c_uint32, c_uint32, doc="""
One more vector of a unit, in parts like its matrix; returns its place among the unit's vectors.

""")

bind("wse_graph_value", c_uint32, POINTER(wse_graph), c_char_p, c_uint, c_uint, c_uint32, doc="""
A value that no operation below makes by itself; rows of a core.

""")

bind("wse_op_in", c_uint32, POINTER(wse_graph), c_char_p, c_uint32, c_uint, c_uint, c_uint32, doc="""
input -> value; value -> output

""")

bind("wse_op_out", None, POINTER(wse_graph), c_uint32, c_uint32, doc="""input -> value; value -> output""")

bind("wse_op_vec_in", c_uint32, POINTER(wse_graph), c_uint32, doc="""
a unit's vectors, binary32; their gradients, from a value of that shape

""")

bind("wse_op_vec_out", None, POINTER(wse_graph), c_uint32, c_uint32, doc="""
a unit's vectors, binary32; their gradients, from a value of that shape

""")

bind("wse_op_linear", c_uint32, POINTER(wse_graph), POINTER(wse_linear_op), POINTER(c_uint32), doc="""
out2: the second result, or NULL: GELU's derivative, SwiGLU's by both halves, or the bf16 copy of
WSE_POST_ADD*
""")

bind("wse_op_wgrad", c_uint32, POINTER(wse_graph), c_uint32, c_uint32, c_uint32, c_uint32, c_uint32, c_uint32,
     doc="""
dW of a unit into its gradient; db at `bias` of value vec, which is made if it is WSE_NO_VALUE.
Returns vec
""")

bind("wse_op_wgrad_chunk", c_uint32, POINTER(wse_graph), c_uint32, c_uint32, c_uint32, c_uint32, c_uint32,
     c_uint32, c_uint32, doc="""the same for a chunk""")

bind("wse_op_add", c_uint32, POINTER(wse_graph), c_uint32, c_uint32, c_uint32, c_char_p, doc="""bf16(a + b)""")

bind("wse_op_norm", c_uint32, POINTER(wse_graph), POINTER(wse_norm_op), c_char_p)

bind("wse_op_norm_back", c_uint32, POINTER(wse_graph), POINTER(wse_norm_op), c_uint32, POINTER(c_uint32), doc="""
Backward: dy binary32, destroyed. Adds to *dres (binary32), or makes it if it is WSE_NO_VALUE;
the gradients of gain and bias go to the places of both in vec. Returns dres in bf16.
""")

bind("wse_op_attn", c_uint32, POINTER(wse_graph), POINTER(wse_attn_op))

bind("wse_op_attn_back", None, POINTER(wse_graph), POINTER(wse_attn_op), c_uint32, c_uint32, doc="""
the gradients take the place of qkv; dout is destroyed

""")

bind("wse_op_loss", c_uint32, POINTER(wse_graph), c_uint32, c_uint32, c_uint32, doc="""
Softmax and cross-entropy: dlogits, bf16; destroys the logits. The losses go to their output.

""")

bind("wse_tokenizer_open", c_int, c_char_p, POINTER(POINTER(wse_tokenizer)), doc="""
path: tokenizer.json, or a folder that has it, or vocab.json and merges.txt (and perhaps
added_tokens.json), or SentencePiece's *.model, or a folder that has it as tokenizer.model. Any
number of threads may use what was opened.

-EINVAL      a file is broken: its line or name, and what is wrong
-ENOTSUP     it is of another kind of tokenizer
-ENOENT, ... a file cannot be read
""")

bind("wse_tokenizer_close", c_int, POINTER(wse_tokenizer), doc="""
path: tokenizer.json, or a folder that has it, or vocab.json and merges.txt (and perhaps
added_tokens.json), or SentencePiece's *.model, or a folder that has it as tokenizer.model. Any
number of threads may use what was opened.

-EINVAL      a file is broken: its line or name, and what is wrong
-ENOTSUP     it is of another kind of tokenizer
-ENOENT, ... a file cannot be read
""")

bind("wse_tokenizer_info", c_int, POINTER(wse_tokenizer), POINTER(wse_tokenizer_info))

bind("wse_tokenizer_encode", c_int, POINTER(wse_tokenizer), c_char_p, c_size_t, POINTER(c_uint32),
     POINTER(c_size_t), doc="""
The tokens of text [n], which may be any bytes; the name of a special token in it is that token,
but for SentencePiece, which puts a space before a text. ids [n + 1]: there are as many as bytes
at most, and that space. count: how many there are.
""")

bind("wse_tokenizer_decode", c_int, POINTER(wse_tokenizer), POINTER(c_uint32), c_size_t, POINTER(c_char),
     c_size_t, POINTER(c_size_t), doc="""
The bytes of ids [n], the tokens of a text from its beginning, without a 0 behind them; text
[room], NULL with room 0 to ask for their number, which *count is.

-EINVAL      a number is not below the vocabulary's size
-ENOSPC      room is too small
""")

bind("wse_tokenize_file", c_int, POINTER(wse_tokenizer), c_char_p, c_char_p, POINTER(wse_tokenize),
     POINTER(wse_tokenize_result), doc="""
A text file ("-": standard input) to a file of tokens, with llm.c's header: uint16, or uint32
where the vocabulary has more than 65,536. The text may be larger than memory. `to` is the old
file or the whole new one, never half of it. how may be NULL.

-EINVAL      `from` is no text, `to` does not end in .bin
-EINTR       progress gave up
-ENOSPC, ... of the file system
""")

bind("wse_params_create", c_int, POINTER(POINTER(wse_params)), doc="""
Empty: read a file into them or fill them in from C.

""")

bind("wse_params_destroy", c_int, POINTER(wse_params), doc="""Empty: read a file into them or fill them in from C.""")

bind("wse_params_read", c_int, POINTER(wse_params), c_char_p, POINTER(wse_override), doc="""
Reads a parameter file (wse-train(1)); over may be NULL.

-EINVAL      the file has faults: wse_params_fault() has them all, wse_error() the first
-ENOENT, ... it cannot be read
""")

bind("wse_params_fault", c_char_p, POINTER(wse_params), c_uint32, doc="""
Fault number i of the last file, in the order of its lines; NULL: there are no more.

""")

bind("wse_params_note", c_char_p, POINTER(wse_params), c_uint32, doc="""
What a user should know of the file that is no fault: keys that are not used, ... As above.

""")

bind("wse_params_devices", c_int, POINTER(wse_params), doc="""
How many wafers the file asks for; 1 if it does not say. -EBADF.

""")

bind("wse_params_make", c_int, POINTER(wse_params), POINTER(wse_model), POINTER(wse_train_shape), doc="""
The model is kept: it may be destroyed. -EINVAL names the member that is wrong, -EBADF.

""")

bind("wse_params_plan", c_int, POINTER(wse_params), c_char_p, c_uint32, wse_log_fn, c_void_p,
     POINTER(wse_plan_info), doc="""
uri as for wse_device_open(). A device that is not there is planned for all the same, with a line
of WSE_LOG_WARN. line gets the plan as text; may be NULL.

-EINVAL      widths or batch do not divide, or the URI is none (then info->tile is 0)
-E2BIG       it does not fit into a core; info and lines say by how much
wse_error() has sizes that do divide, or a tile that it does fit, under the names of parameter
files
""")

bind("wse_params_check", c_int, POINTER(wse_params), c_char_p, doc="""
Are the parameters of a checkpoint (NULL: the file's ckpt_path, if any; "auto": the last one in
its model_dir) those of the model: names, shapes, shards, config.json? And was it trained with
the tokenizer of these params? Its headers are read alone, and no device is opened.

-EINVAL      it is of another model or tokenizer
-EBADMSG     it is damaged
-ENOENT, ... it cannot be read
""")

bind("wse_trainer_open", c_int, POINTER(wse_params), POINTER(c_char_p), c_uint32, wse_log_fn, c_void_p,
     POINTER(POINTER(wse_trainer)), doc="""
Opens n devices (1 ... 64) of one tile shape, reads the text, makes the initial weights. log gets
what devices say and what a run reports; may be NULL. p may be destroyed.

-EINVAL      parameters, devices or text do not fit each other
and what wse_device_open() and wse_context_create() return
""")

bind("wse_trainer_close", c_int, POINTER(wse_trainer), doc="""
Opens n devices (1 ... 64) of one tile shape, reads the text, makes the initial weights. log gets
what devices say and what a run reports; may be NULL. p may be destroyed.

-EINVAL      parameters, devices or text do not fit each other
and what wse_device_open() and wse_context_create() return
""")

bind("wse_trainer_info", c_int, POINTER(wse_trainer), POINTER(wse_trainer_info))

bind("wse_trainer_step", c_int, POINTER(wse_trainer), POINTER(wse_step_result), doc="""
One step: forward, backward, update. Nothing is changed on error. A device that fails is left out
from then on, and the step is done again on those that are left.

-ERANGE      loss or gradient is not finite
-ENODATA     there is no text
-ENODEV, ... of the last device
""")

bind("wse_trainer_step_on", c_int, POINTER(wse_trainer), c_void_p, c_uint64, POINTER(wse_step_result), doc="""
The same on a batch of the caller's, for trainers without a text (data NULL):
samples [batch][window + span], of each the tokens before its first target and then the targets:
uint16_t, or uint32_t where the vocabulary is above 65536; n: tokens in all. A checkpoint then
has the step, but does not know the batches: which ones come next is the caller's to keep.

-EINVAL      n is another number, a token is not below vocab, or the trainer has a text
""")

bind("wse_trainer_step_with", c_int, POINTER(wse_trainer), POINTER(wse_step_shape), POINTER(wse_step_result),
     doc="""
wse_trainer_step_on() with a mask, a learning rate, a norm. Rate, norm and the hashes of samples
and mask go into the chain; a checkpoint says which of the rates some step had of its own.

-EINVAL      as wse_trainer_step_on(); a mask without masked, or one that leaves no target; lr or
             max_norm is no number from 0 on, or is given and not in own
""")

bind("wse_trainer_loss_on", c_int, POINTER(wse_trainer), POINTER(wse_step_shape), POINTER(c_double), doc="""
Mean loss of a batch of the caller's, forward alone, in nats a token; nothing is changed. how:
its samples and mask. Trainers with a text may be asked, too, and those that evaluate only.
""")

bind("wse_trainer_eval", c_int, POINTER(wse_trainer), c_uint64, POINTER(c_double), POINTER(c_uint64), doc="""
Mean loss of the held-out samples, at most max_batches batches (0: all), in nats a token; samples
may be NULL. Of several held-out sets of a parameter file: of the first.
""")

bind("wse_trainer_eval_set", c_int, POINTER(wse_trainer), c_uint32, c_uint64, POINTER(c_double),
     POINTER(c_uint64), POINTER(c_char_p), doc="""
The same on held-out set number `set` of a parameter file, from 0 on; samples and name may be
NULL. *name is valid until the trainer is closed, "" of a set that is the only one.

-ENOENT      there is no such set: they have ended
""")

bind("wse_trainer_tensor", c_int, POINTER(wse_trainer), c_uint32, POINTER(wse_tensor_info), doc="""
-ENOENT        there is no such number

""")

bind("wse_trainer_set_tensor", c_int, POINTER(wse_trainer), c_uint32, POINTER(c_float), c_uint64, doc="""
New values for it; n must be its number of elements. The moments of the optimizer stay.

""")

bind("wse_trainer_profile", c_int, POINTER(wse_trainer), c_char_p, doc="""
Records from now on where the time goes, into the folder dir: wafers.pftrace, what each device
executes on its queues, in device cycles; host.pftrace, what the trainer does, in its own time
(both for https://ui.perfetto.dev); at the end operations.txt, operations with their cycles and
the planner's, and wafer-N.svg, what each device's cores and links have counted, and of its
first micro-batch wafer-N-forward.svg, -loss.svg and -backward.svg. NULL ends the recording, as
wse_trainer_close() does.

-EEXIST      dir has a profile
-EBUSY       one is being recorded
-EINVAL      NULL, and none is
-ENOSPC ...  of ending one: a file could not be written whole
""")

bind("wse_trainer_live", c_int, POINTER(wse_trainer), c_char_p, doc="""
Opens a unix socket at path on which wse-top(1) sees the run: step, loss, rate, and what each
core has counted, as of the end of a step. No result changes; reading the counters takes at most
0.5 % of the time, for steps in between are not shown where it would take more. NULL closes it,
as wse_trainer_close() does.

-EADDRINUSE  another run is there
-EEXIST      a file that is no socket
-EBUSY       one is open
-EINVAL      NULL, and none is; or an empty path
-ENAMETOOLONG
""")

bind("wse_trainer_save", c_int, POINTER(wse_trainer), c_char_p, doc="""
The file is the old one or the new one, never half of it. -ERANGE: something is not finite.

""")

bind("wse_trainer_load", c_int, POINTER(wse_trainer), c_char_p, c_uint, doc="""
-EINVAL        it does not fit this trainer: what, its value in both; -EBADMSG: it is damaged

""")

bind("wse_checkpoint_hash", c_int, c_char_p, POINTER(c_char), doc="""
SHA-256 over weights and training state, hexadecimal, [65]. Equal training has equal hashes.

""")

bind("wse_trainer_generate", c_int, POINTER(wse_trainer), POINTER(wse_sampling), POINTER(c_char), doc="""
Continues each prompt in `streams` independent ways; text [prompts][streams][n * token_bytes +
1], with wse_trainer_info's token_bytes; each ends with a 0. A text does not depend on the other
prompts. -EINVAL: neither bytes nor a tokenizer.
""")

bind("wse_trainer_run", c_int, POINTER(wse_trainer), POINTER(wse_run_shape), POINTER(wse_run_result), doc="""
Train, evaluate, checkpoint, draw and sample as the parameters say; wse-train(1) is this call. 0
also when it was stopped. On error wse_error() says why, and what was kept; result is valid.

WSE_MODE_CHECK: 0: the steps are what the run says; -EILSEQ: they are not, and wse_error() names
the first that differs, or what was edited; -ENODATA: there is no hash or checkpoint of them;
-EINTR: stop() ended it.
""")

bind("wse_json_event", c_int, POINTER(wse_event), POINTER(c_char), c_size_t, doc="""
text [size]: a line with its newline. -ENOSPC when it does not fit

""")

bind("wse_json_text", c_int, c_char_p, c_char_p, POINTER(c_char), c_size_t, doc="""
{"event":"<what>","text":"<said>"}, said being any bytes; \\u00XX for what is not UTF-8

""")

bind("wse_json_end", c_int, c_uint64, c_int, c_char_p, c_char_p, POINTER(c_char), c_size_t, doc="""
{"event":"end", ...}: the last checkpoint and its hash, "" if there is none

""")
