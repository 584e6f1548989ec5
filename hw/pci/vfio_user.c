// SPDX-License-Identifier: MIT
#define _GNU_SOURCE /* accept4 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dma_map.h"
#include "pci_config.h"
#include "touched.h"
#include "vu_socket.h"

#define STOP_EVERY 32u /* messages */

struct wse_pci_server {
	int listen_fd, client_fd, stop_fd;
	char *path;
	struct stat st; /* of the bound socket: so that this server removes no other's */
	struct wse_pci_dma *dma;
	struct wse_pci_log *log;
	struct wse_pci_id id;
	const struct wse_pci_ops *ops;
	void *dev;
	bool greeted; /* VERSION has been exchanged */

	/*
	 * Configuration space and interrupts: this thread writes them, the model's thread reads
	 * them in wse_pci_irq().
	 */
	pthread_mutex_t irq_lock;
	struct pci_config config;
	int eventfd[WSE_PCI_VECTORS_MAX]; /* -1: none */
	uint32_t masked, pending;	  /* bit per vector */

	uint8_t bar4[PCI_BAR4_BYTES]; /* MSI-X table: plain memory, since the client emulates it */
	struct touched touched;
	uint64_t spin_limit;
	struct vu_linger linger;
	struct vu_msg msg;
};

/* --- interrupts --- */

/*
 * A client may pass an eventfd that blocks and is full: the model, the next messages and SIGTERM
 * would wait for it. O_NONBLOCK would change the client's own reads. A client can still fill it
 * between the two calls on purpose: that stops its own device, and SIGKILL ends it.
 */
static int raise_eventfd(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	uint64_t one = 1;

	if (poll(&p, 1, 0) < 0)
		return -errno;
	if (!(p.revents & POLLOUT))
		return -EAGAIN;
	return write(fd, &one, sizeof(one)) == sizeof(one) ? 0 : -errno;
}

/* Signals pending interrupts that are not masked. Called with irq_lock held. */
static void deliver(struct wse_pci_server *s)
{
	uint32_t due = s->pending & ~s->masked;
	int err;

	if (!pci_config_msix_enabled(&s->config)) {
		s->pending = 0;
		return;
	}
	if (pci_config_msix_masked(&s->config))
		return;
	for (unsigned int v = 0; v < s->id.vectors; v++) {
		if (!(due >> v & 1) || s->eventfd[v] < 0)
			continue;
		s->pending &= ~(1u << v);
		err = raise_eventfd(s->eventfd[v]);
		if (err)
			wse_pci_logf(s->log, "interrupt of vector %u: its eventfd refuses (%s)", v,
				     strerror(-err));
	}
}

void wse_pci_irq(void *server, unsigned int vector)
{
	struct wse_pci_server *s = server;

	if (vector >= s->id.vectors)
		return;
	pthread_mutex_lock(&s->irq_lock);
	s->pending |= 1u << vector;
	deliver(s);
	pthread_mutex_unlock(&s->irq_lock);
}

static void set_eventfd(struct wse_pci_server *s, unsigned int v, int fd)
{
	if (s->eventfd[v] >= 0)
		close(s->eventfd[v]);
	s->eventfd[v] = fd;
}

/*
 * Files, pipes, sockets and devices have a type, an eventfd has none. A write to a socket or pipe
 * may raise SIGPIPE, or wait.
 */
static bool is_eventfd(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && !(st.st_mode & S_IFMT);
}

static int set_irqs(struct wse_pci_server *s, struct vu_msg *m)
{
	struct vu_irq_set q;
	uint32_t bits = 0;
	int err = 0;

	if (m->len < sizeof(q))
		return -EINVAL;
	memcpy(&q, m->body, sizeof(q));
	if (q.index >= VU_NIRQS)
		return -EINVAL;
	if (q.index != VU_IRQ_MSIX) /* none of them exist: only switching off is valid */
		return q.count || m->nfds ? -EINVAL : 0;
	if (q.start > s->id.vectors || q.count > s->id.vectors - q.start)
		return -EINVAL;
	if (m->fds_lost || (m->nfds && m->nfds != q.count))
		return -EINVAL;
	for (unsigned int i = 0; i < m->nfds; i++) {
		if (!is_eventfd(m->fd[i]))
			return -EINVAL;
	}
	if ((q.flags & VU_SET_DATA_BOOL) && m->len < sizeof(q) + q.count)
		return -EINVAL;
	for (uint32_t i = 0; i < q.count; i++) {
		if (!(q.flags & VU_SET_DATA_BOOL) || m->body[sizeof(q) + i])
			bits |= 1u << (q.start + i);
	}

	pthread_mutex_lock(&s->irq_lock);
	if (q.flags & VU_SET_DATA_EVENTFD) {
		if (q.flags & VU_SET_TRIGGER) {
			for (uint32_t i = 0; i < q.count; i++) {
				set_eventfd(s, q.start + i, m->nfds ? m->fd[i] : -1);
				if (m->nfds)
					m->fd[i] = -1;
			}
		} else {
			err = -EINVAL; /* events on masking: not supported */
		}
	} else if (q.flags & VU_SET_TRIGGER) {
		if (!q.count) { /* all off */
			for (unsigned int v = 0; v < s->id.vectors; v++)
				set_eventfd(s, v, -1);
			s->pending = 0;
			s->masked = 0;
		}
		s->pending |= bits;
	} else if (q.flags & VU_SET_MASK) {
		s->masked |= bits;
	} else if (q.flags & VU_SET_UNMASK) {
		s->masked &= ~bits;
	} else {
		err = -EINVAL;
	}
	deliver(s);
	pthread_mutex_unlock(&s->irq_lock);
	return err;
}

/* --- the function: reset, configuration space, BARs --- */

static void tell_master(struct wse_pci_server *s, bool on)
{
	if (s->ops->bus_master)
		s->ops->bus_master(s->dev, on);
}

static void function_reset(struct wse_pci_server *s)
{
	tell_master(s, false);
	s->ops->reset(s->dev);
	pthread_mutex_lock(&s->irq_lock);
	pci_config_init(&s->config, &s->id);
	s->pending = 0;
	s->masked = 0;
	pthread_mutex_unlock(&s->irq_lock);
	memset(s->bar4, 0, sizeof(s->bar4));
}

static void config_write(struct wse_pci_server *s, uint32_t offset, const void *data, uint32_t len)
{
	bool flr, master;

	pthread_mutex_lock(&s->irq_lock);
	flr = pci_config_write(&s->config, offset, data, len);
	master = pci_config_bus_master(&s->config);
	deliver(s);
	pthread_mutex_unlock(&s->irq_lock);
	if (flr) {
		wse_pci_logf(s->log, "function-level reset");
		function_reset(s);
	} else {
		tell_master(s, master);
	}
}

static uint64_t region_size(const struct wse_pci_server *s, uint32_t region)
{
	switch (region) {
	case VU_REGION_BAR0:
		return s->id.bar0_bytes;
	case VU_REGION_BAR4:
		return PCI_BAR4_BYTES;
	case VU_REGION_CONFIG:
		return PCI_CONFIG_BYTES;
	default:
		return 0;
	}
}

static bool region_fits(const struct wse_pci_server *s, uint32_t region, uint64_t offset,
			uint32_t count)
{
	uint64_t size = region < VU_NREGIONS ? region_size(s, region) : 0;

	return count && count <= size && offset <= size - count;
}

/* Registers are 32 bits: other widths read 0 and write nothing; a pair of registers may come as
 * one. */
static bool bar0_access(uint64_t offset, uint32_t count)
{
	return !(offset & 3) && (count == 4 || count == 8);
}

/* Before an access of BAR0. */
static void note_access(struct wse_pci_server *s, uint32_t offset, bool write)
{
	const char *name = s->ops->name ? s->ops->name(s->dev, offset) : NULL;

	if (s->ops->name && !name)
		touched_unknown(&s->touched, offset, write);
	if (!write && touched_spins(&s->touched, offset, s->spin_limit))
		wse_pci_logf(s->log, "the client spins: %llu reads of register 0x%x%s%s",
			     (unsigned long long)s->spin_limit, offset, name ? " " : "",
			     name ? name : "");
}

static void region_read(struct wse_pci_server *s, uint32_t region, uint64_t offset, void *data,
			uint32_t n)
{
	uint32_t v;

	memset(data, 0, n);
	if (region == VU_REGION_CONFIG) {
		pci_config_read(&s->config, (uint32_t)offset, data, n);
	} else if (region == VU_REGION_BAR4) {
		memcpy(data, &s->bar4[offset], n);
	} else if (bar0_access(offset, n)) {
		for (uint32_t i = 0; i < n; i += 4) {
			note_access(s, (uint32_t)offset + i, false);
			v = s->ops->read32(s->dev, (uint32_t)offset + i);
			memcpy((char *)data + i, &v, 4);
		}
	}
}

static void region_write(struct wse_pci_server *s, uint32_t region, uint64_t offset,
			 const void *data, uint32_t n)
{
	uint32_t v;

	if (region == VU_REGION_CONFIG) {
		config_write(s, (uint32_t)offset, data, n);
	} else if (region == VU_REGION_BAR4) {
		memcpy(&s->bar4[offset], data, n);
	} else if (bar0_access(offset, n)) {
		for (uint32_t i = 0; i < n; i += 4) {
			memcpy(&v, (const char *)data + i, 4);
			note_access(s, (uint32_t)offset + i, true);
			s->ops->write32(s->dev, (uint32_t)offset + i, v);
		}
	}
}

/* --- commands: each takes m->body and leaves its reply there, *len bytes --- */

static int cmd_version(struct wse_pci_server *s, struct vu_msg *m, uint32_t *len)
{
	struct vu_version v;
	char json[128];
	bool multi;
	int n;

	if (m->len < sizeof(v))
		return -EINVAL;
	memcpy(&v, m->body, sizeof(v));
	if (v.major != 0) {
		wse_pci_logf(s->log, "client speaks vfio-user %u.%u, this server 0.0", v.major,
			     v.minor);
		return -EINVAL;
	}
	m->body[m->len < VU_MAX_BODY ? m->len : VU_MAX_BODY - 1] = 0;
	multi = strstr((char *)m->body + sizeof(v), "write_multiple");
	n = snprintf(json, sizeof(json), "{\"capabilities\":{\"max_msg_fds\":%u%s}}", VU_MAX_FDS,
		     multi ? ",\"write_multiple\":true" : "");
	v.minor = 0;
	memcpy(m->body, &v, sizeof(v));
	*len = sizeof(v);
	/* the client's buffer is as large as its own message */
	if (m->len >= sizeof(v) + (uint32_t)n + 1) {
		memcpy(m->body + sizeof(v), json, (size_t)n + 1);
		*len += (uint32_t)n + 1;
	}
	s->greeted = true;
	return 0;
}

static int cmd_dma_map(struct wse_pci_server *s, struct vu_msg *m)
{
	struct vu_dma_map q;
	int err;

	if (m->len < sizeof(q) || m->fds_lost || m->nfds > 1)
		return -EINVAL;
	memcpy(&q, m->body, sizeof(q));
	err = dma_map_add(s->dma, m->nfds ? m->fd[0] : -1, q.offset, q.iova, q.size,
			  q.flags & VU_DMA_READABLE, q.flags & VU_DMA_WRITEABLE);
	if (err)
		wse_pci_logf(s->log, "cannot map iova=0x%llx len=0x%llx: %s",
			     (unsigned long long)q.iova, (unsigned long long)q.size,
			     strerror(-err));
	return err;
}

static int cmd_dma_unmap(struct wse_pci_server *s, struct vu_msg *m, uint32_t *len)
{
	struct vu_dma_unmap q;

	if (m->len < sizeof(q))
		return -EINVAL;
	memcpy(&q, m->body, sizeof(q));
	*len = sizeof(q);
	if (q.flags & VU_UNMAP_ALL) {
		dma_map_clear(s->dma);
		return 0;
	}
	return dma_map_remove(s->dma, q.iova, q.size);
}

static int cmd_get_info(struct vu_msg *m, uint32_t *len)
{
	struct vu_device_info r = {
		.argsz = sizeof(r),
		.flags = VU_DEVICE_RESET | VU_DEVICE_PCI,
		.nregions = VU_NREGIONS,
		.nirqs = VU_NIRQS,
	};

	memcpy(m->body, &r, sizeof(r));
	*len = sizeof(r);
	return 0;
}

static int cmd_region_info(const struct wse_pci_server *s, struct vu_msg *m, uint32_t *len)
{
	struct vu_region_info r;

	if (m->len < sizeof(r))
		return -EINVAL;
	memcpy(&r, m->body, sizeof(r));
	if (r.index >= VU_NREGIONS)
		return -EINVAL;
	r = (struct vu_region_info){
		.argsz = sizeof(r), .index = r.index, .size = region_size(s, r.index)};
	if (r.size) /* no mmap: the model must see every access, and writes would not be posted */
		r.flags = VU_REGION_R | VU_REGION_W;
	memcpy(m->body, &r, sizeof(r));
	*len = sizeof(r);
	return 0;
}

static int cmd_irq_info(const struct wse_pci_server *s, struct vu_msg *m, uint32_t *len)
{
	struct vu_irq_info r;

	if (m->len < sizeof(r))
		return -EINVAL;
	memcpy(&r, m->body, sizeof(r));
	if (r.index >= VU_NIRQS)
		return -EINVAL;
	r.argsz = sizeof(r);
	r.flags = 0;
	r.count = 0;
	if (r.index == VU_IRQ_MSIX) {
		r.flags = VU_IRQ_EVENTFD | VU_IRQ_MASKABLE | VU_IRQ_NORESIZE;
		r.count = s->id.vectors;
	}
	memcpy(m->body, &r, sizeof(r));
	*len = sizeof(r);
	return 0;
}

static int cmd_read(struct wse_pci_server *s, struct vu_msg *m, uint32_t *len)
{
	struct vu_region_rw q;

	if (m->len < sizeof(q))
		return -EINVAL;
	memcpy(&q, m->body, sizeof(q));
	if (!region_fits(s, q.region, q.offset, q.count) || q.count > VU_MAX_BODY - sizeof(q))
		return -EINVAL;
	region_read(s, q.region, q.offset, m->body + sizeof(q), q.count);
	*len = (uint32_t)sizeof(q) + q.count;
	return 0;
}

static int cmd_write(struct wse_pci_server *s, struct vu_msg *m, uint32_t *len)
{
	struct vu_region_rw q;

	if (m->len < sizeof(q))
		return -EINVAL;
	memcpy(&q, m->body, sizeof(q));
	if (!region_fits(s, q.region, q.offset, q.count) || q.count > m->len - sizeof(q))
		return -EINVAL;
	region_write(s, q.region, q.offset, m->body + sizeof(q), q.count);
	*len = sizeof(q);
	return 0;
}

static int cmd_write_multi(struct wse_pci_server *s, struct vu_msg *m, uint32_t *len)
{
	struct vu_write_one w;
	uint64_t n;

	if (m->len < sizeof(n))
		return -EINVAL;
	memcpy(&n, m->body, sizeof(n));
	if (n > (m->len - sizeof(n)) / sizeof(w))
		return -EINVAL;
	for (uint64_t i = 0; i < n; i++) {
		memcpy(&w, m->body + sizeof(n) + i * sizeof(w), sizeof(w));
		if (w.count > sizeof(w.data) || !region_fits(s, w.region, w.offset, w.count))
			return -EINVAL;
		region_write(s, w.region, w.offset, w.data, w.count);
	}
	*len = sizeof(n);
	return 0;
}

static int dispatch(struct wse_pci_server *s, struct vu_msg *m, uint32_t *len)
{
	if (m->hdr.cmd == VU_VERSION)
		return s->greeted ? -EINVAL : cmd_version(s, m, len);
	if (!s->greeted)
		return -EINVAL;
	if (m->hdr.cmd != VU_REGION_READ)
		s->touched.spin = 0;
	switch (m->hdr.cmd) {
	case VU_DMA_MAP:
		return cmd_dma_map(s, m);
	case VU_DMA_UNMAP:
		return cmd_dma_unmap(s, m, len);
	case VU_GET_INFO:
		return cmd_get_info(m, len);
	case VU_REGION_INFO:
		return cmd_region_info(s, m, len);
	case VU_IRQ_INFO:
		return cmd_irq_info(s, m, len);
	case VU_SET_IRQS:
		return set_irqs(s, m);
	case VU_REGION_READ:
		return cmd_read(s, m, len);
	case VU_REGION_WRITE:
		return cmd_write(s, m, len);
	case VU_REGION_WRITE_MULTI:
		return cmd_write_multi(s, m, len);
	case VU_RESET:
		function_reset(s);
		return 0;
	default:
		return -ENOSYS;
	}
}

/* --- clients --- */

static int serve_client(struct wse_pci_server *s)
{
	struct vu_msg *m = &s->msg;
	int err;

	for (unsigned int n = 1;; n++) {
		/* a client that posts without a pause always has the next message there */
		if (!(n % STOP_EVERY) && vu_stopped(s->stop_fd))
			return -EINTR;
		vu_linger(s->client_fd, &s->linger);
		err = vu_recv(s->client_fd, s->listen_fd, s->stop_fd, m);
		if (err)
			break;
		uint32_t len = 0;
		int res = dispatch(s, m, &len);
		struct vu_hdr reply = m->hdr;

		vu_close_fds(m);
		if (res)
			wse_pci_logf(s->log, "message %u (command %u, %u bytes) refused: %s",
				     m->hdr.id, m->hdr.cmd, m->hdr.size, strerror(-res));
		if (m->hdr.flags & VU_NO_REPLY)
			continue;
		if (res)
			len = 0;
		reply.flags = VU_REPLY | (res ? VU_ERROR : 0);
		reply.err = (uint32_t)-res;
		reply.size = (uint32_t)sizeof(reply) + len;
		err = vu_send(s->client_fd, s->stop_fd, &reply, m->body, len);
		if (err)
			break;
	}
	return err;
}

/* Restores the state after power-on, whatever earlier clients did. */
static void forget_client(struct wse_pci_server *s)
{
	function_reset(s);
	dma_map_clear(s->dma);
	pthread_mutex_lock(&s->irq_lock);
	for (unsigned int v = 0; v < s->id.vectors; v++)
		set_eventfd(s, v, -1);
	pthread_mutex_unlock(&s->irq_lock);
	s->greeted = false;
	touched_report(&s->touched, s->log);
	touched_clear(&s->touched);
}

void wse_pci_report(struct wse_pci_server *s)
{
	if (!touched_report(&s->touched, s->log))
		wse_pci_logf(s->log, "no client is here that touched a register that is not there");
}

int wse_pci_ready(struct wse_pci_server *s, int fd)
{
	char line[160];
	int n = snprintf(line, sizeof(line), "ready %s\n", s->path);
	int err = write(fd, line, (size_t)n) == n ? 0 : errno ? -errno : -EIO;

	if (err != -EBADF)
		close(fd);
	return err;
}

void wse_pci_watch_spin(struct wse_pci_server *s, uint64_t reads)
{
	s->spin_limit = reads;
}

int wse_pci_serve(struct wse_pci_server *s, const struct wse_pci_ops *ops, void *dev, int stop_fd)
{
	if (stop_fd < 0) /* poll() would pass over it: a server that nothing stops */
		return -EBADF;
	s->ops = ops;
	s->dev = dev;
	s->stop_fd = stop_fd;
	function_reset(s); /* for the first client; forget_client() does it for the next one */
	for (;;) {
		struct pollfd p[2] = {
			{.fd = s->listen_fd, .events = POLLIN},
			{.fd = stop_fd, .events = POLLIN},
		};
		int err;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (p[1].revents)
			return 0;
		if (!p[0].revents)
			continue;
		s->client_fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (s->client_fd < 0)
			continue;
		wse_pci_logf(s->log, "client connected");
		err = serve_client(s);
		close(s->client_fd);
		forget_client(s);
		if (err == -EINTR)
			return 0;
		wse_pci_logf(s->log, "client gone%s%s", err == -EPIPE ? "" : ": ",
			     err == -EPIPE    ? ""
			     : err == -EPROTO ? "bad message"
					      : strerror(-err));
	}
}

int wse_pci_create(const char *path, const struct wse_pci_id *id, struct wse_pci_dma *dma,
		   struct wse_pci_log *log, struct wse_pci_server **out)
{
	struct wse_pci_server *s;
	int err = -ENOMEM;

	if (!wse_pci_id_valid(id))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err;
	s->id = *id;
	s->dma = dma;
	s->log = log;
	s->path = strdup(path);
	if (!s->path)
		goto fail;
	err = vu_listen(path, &s->listen_fd);
	if (err)
		goto fail;
	stat(path, &s->st);
	pthread_mutex_init(&s->irq_lock, NULL);
	pthread_mutex_init(&s->touched.lock, NULL);
	for (unsigned int v = 0; v < WSE_PCI_VECTORS_MAX; v++)
		s->eventfd[v] = -1;
	pci_config_init(&s->config, &s->id);
	*out = s;
	return 0;

fail:
	free(s->path);
	free(s);
	return err;
}

void wse_pci_destroy(struct wse_pci_server *s)
{
	struct stat st;

	if (!s)
		return;
	if (!stat(s->path, &st) && st.st_dev == s->st.st_dev && st.st_ino == s->st.st_ino)
		unlink(s->path);
	close(s->listen_fd);
	for (unsigned int v = 0; v < s->id.vectors; v++)
		set_eventfd(s, v, -1);
	pthread_mutex_destroy(&s->irq_lock);
	pthread_mutex_destroy(&s->touched.lock);
	free(s->path);
	free(s);
}
