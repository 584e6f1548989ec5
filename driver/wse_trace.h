/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace events of the life of a job, and of resets: /sys/kernel/tracing/events/wse. The context and
 * number of its fence name a job, as in the events of dma_fence.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM wse

#if !defined(WSE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define WSE_TRACE_H

#include <linux/tracepoint.h>

#include "wse_ctx.h"
#include "wse_dev.h"
#include "wse_job.h"

DECLARE_EVENT_CLASS(wse_job, TP_PROTO(const struct wse_job *job), TP_ARGS(job),
		    TP_STRUCT__entry(__string(dev, dev_name(job->ctx->wdev->drm.dev))
				     __field(u64, job)
				     __field(u32, seqno)
				     __field(u32, ctx)
				     __field(u32, ncmd)
				     __field(u32, ndep)),
		    TP_fast_assign(__assign_str(dev);
				   __entry->job = job->timeline;
				   __entry->seqno = job->seqno;
				   __entry->ctx = job->ctx->id;
				   __entry->ncmd = job->ncmd;
				   __entry->ndep = job->ndep;),
		    TP_printk("%s ctx=%u job=%llu:%u commands=%u in_syncs=%u", __get_str(dev),
			      __entry->ctx, __entry->job, __entry->seqno, __entry->ncmd,
			      __entry->ndep));

/* accepted: its fence will signal */
DEFINE_EVENT(wse_job, wse_submit, TP_PROTO(const struct wse_job *job), TP_ARGS(job));

/* all its commands are in the rings */
DEFINE_EVENT(wse_job, wse_issue, TP_PROTO(const struct wse_job *job), TP_ARGS(job));

/* one command has completed after so many cycles; `left` are the job's others */
TRACE_EVENT(wse_complete, TP_PROTO(const struct wse_job *job, unsigned int queue,
				   const struct wse_completion *completion),
	    TP_ARGS(job, queue, completion),
	    TP_STRUCT__entry(__string(dev, dev_name(job->ctx->wdev->drm.dev))
			     __field(u64, job)
			     __field(u32, seqno)
			     __field(u32, ctx)
			     __field(u32, left)
			     __field(u32, cycles)
			     __field(u16, cid)
			     __field(u16, status)
			     __field(u8, queue)
			     __field(u8, op)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->job = job->timeline;
			   __entry->seqno = job->seqno;
			   __entry->ctx = job->ctx->id;
			   __entry->left = job->left;
			   __entry->cycles = completion->cycles;
			   __entry->cid = completion->cid;
			   __entry->status = completion->status;
			   __entry->queue = queue;
			   __entry->op = completion->slot.op;),
	    TP_printk("%s ctx=%u job=%llu:%u queue=%u cid=%u op=%#x status=%u cycles=%u left=%u",
		      __get_str(dev), __entry->ctx, __entry->job, __entry->seqno, __entry->queue,
		      __entry->cid, __entry->op, __entry->status, __entry->cycles, __entry->left));

/* `what` (context or device) is reset, and why; the jobs left end with err */
TRACE_EVENT(wse_reset, TP_PROTO(const struct wse_device *wdev, const char *what, const char *why,
				int err),
	    TP_ARGS(wdev, what, why, err),
	    TP_STRUCT__entry(__string(dev, dev_name(wdev->drm.dev))
			     __string(what, what)
			     __string(why, why)
			     __field(unsigned int, inflight)
			     __field(int, err)),
	    TP_fast_assign(__assign_str(dev);
			   __assign_str(what);
			   __assign_str(why);
			   __entry->inflight = READ_ONCE(wdev->inflight);
			   __entry->err = err;),
	    TP_printk("%s %s: %s, inflight=%u err=%d", __get_str(dev), __get_str(what),
		      __get_str(why), __entry->inflight, __entry->err));

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE wse_trace
#include <trace/define_trace.h>
