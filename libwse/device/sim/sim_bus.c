// SPDX-License-Identifier: MIT
/*
 * The address space that an in-process device sees: a table of what was mapped for it. Anything
 * outside is refused, as an IOMMU would.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "sim.h"

#define PAGE	   4096ull
#define FIRST_IOVA (1ull << 32) /* above 32 bits, so that truncation shows */

void sim_bus_init(struct sim_bus *bus)
{
	memset(bus, 0, sizeof(*bus));
	pthread_mutex_init(&bus->lock, NULL);
	pthread_cond_init(&bus->changed, NULL);
	bus->next = FIRST_IOVA;
}

void sim_bus_fini(struct sim_bus *bus)
{
	pthread_cond_destroy(&bus->changed);
	pthread_mutex_destroy(&bus->lock);
	free(bus->range);
}

void sim_bus_enter(struct sim_bus *bus)
{
	pthread_mutex_lock(&bus->lock);
	while (atomic_load(&bus->changes))
		pthread_cond_wait(&bus->changed, &bus->lock);
	bus->held = true;
}

void sim_bus_leave(struct sim_bus *bus)
{
	bus->held = false;
	pthread_mutex_unlock(&bus->lock);
}

static void begin_change(struct sim_bus *bus)
{
	atomic_fetch_add(&bus->changes, 1);
	pthread_mutex_lock(&bus->lock);
}

static void end_change(struct sim_bus *bus)
{
	atomic_fetch_sub(&bus->changes, 1);
	pthread_cond_signal(&bus->changed);
	pthread_mutex_unlock(&bus->lock);
}

/* Index of the first range that ends above iova. */
static size_t find(const struct sim_bus *bus, uint64_t iova)
{
	size_t lo = 0, hi = bus->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (bus->range[mid].iova + bus->range[mid].size > iova)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static bool inside(const struct sim_range *r, uint64_t iova, size_t len)
{
	return iova >= r->iova && len <= r->size && iova - r->iova <= r->size - len;
}

/* where len bytes at iova are; NULL: nowhere in one range */
static char *locate(struct sim_bus *bus, uint64_t iova, size_t len)
{
	if (bus->last >= bus->n || !inside(&bus->range[bus->last], iova, len))
		bus->last = find(bus, iova);
	if (bus->last >= bus->n || !inside(&bus->range[bus->last], iova, len))
		return NULL;
	return bus->range[bus->last].ptr + (iova - bus->range[bus->last].iova);
}

const void *sim_bus_at(struct sim_bus *bus, uint64_t iova, size_t len)
{
	return bus->held ? locate(bus, iova, len) : NULL;
}

int sim_bus_access(struct sim_bus *bus, uint64_t iova, void *buf, size_t len, bool write)
{
	bool lock = !bus->held;
	char *p;

	if (lock)
		pthread_mutex_lock(&bus->lock);
	p = locate(bus, iova, len);
	if (p)
		memcpy(write ? (void *)p : buf, write ? buf : (void *)p, len);
	if (lock)
		pthread_mutex_unlock(&bus->lock);
	return p ? 0 : -EFAULT;
}

/*
 * Below this size from the heap, which keeps what is freed: a training step makes and drops buffers
 * by the dozen, and a page that is mapped, touched and unmapped costs more than clearing it again.
 * What is larger goes back to the system, since a wafer's memory is planned.
 */
#define MAPPED ((size_t)128 << 10)

static void *take(size_t size)
{
	void *p;

	if (size < MAPPED) {
		p = aligned_alloc(PAGE, size);
		return p ? memset(p, 0, size) : NULL;
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	wse_pages_want_huge(p, size);
	return p;
}

static void give_back(void *p, size_t size)
{
	if (size < MAPPED)
		free(p);
	else
		munmap(p, size);
}

int sim_mem_create(size_t size, struct sim_mem **mem)
{
	struct sim_mem *m;

	if (size > SIZE_MAX / 2)
		return -ENOMEM;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	atomic_init(&m->refs, 1);
	m->size = (size + PAGE - 1) & ~(PAGE - 1);
	m->ptr = take(m->size);
	if (!m->ptr) {
		free(m);
		return -ENOMEM;
	}
	*mem = m;
	return 0;
}

int sim_mem_wrap(struct wse_buffer *origin, struct sim_mem **mem)
{
	struct sim_mem *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	atomic_init(&m->refs, 1);
	m->ptr = origin->ptr;
	m->size = origin->size;
	m->origin = origin;
	wse_buffer_get(origin);
	*mem = m;
	return 0;
}

void sim_mem_put(struct sim_mem *mem)
{
	if (atomic_fetch_sub(&mem->refs, 1) != 1)
		return;
	if (mem->origin)
		wse_buffer_put(mem->origin);
	else
		give_back(mem->ptr, mem->size);
	free(mem);
}

/* n ranges of one buffer, the first at iova, step apart; ptr walks through mem, backwards if
 * scattered. */
static int map(struct sim_bus *bus, struct sim_bo *bo, uint64_t page, size_t n)
{
	uint64_t step = n == 1 ? (bo->mem->size + PAGE) & ~(PAGE - 1) : 2 * page;
	size_t i, at;

	begin_change(bus);
	if (bus->n + n > bus->max) {
		size_t max = (bus->n + n) * 2;
		struct sim_range *range = realloc(bus->range, max * sizeof(*range));

		if (!range) {
			end_change(bus);
			return -ENOMEM;
		}
		bus->range = range;
		bus->max = max;
	}
	bo->iova = (bus->next + page - 1) & ~(page - 1);
	bo->span = step * n;
	bus->next = bo->iova + bo->span + PAGE; /* a hole, so that running over the end shows */
	for (i = 0; i < n; i++) {
		/* ascending bus addresses are descending pages: nothing works that takes pages for
		 * contiguous */
		uint64_t off = (n - 1 - i) * page, left = bo->mem->size - off;

		at = bus->n++;
		bus->range[at] = (struct sim_range){
			.iova = bo->iova + i * step,
			.size = n == 1 || left < page ? left : page,
			.ptr = (char *)bo->mem->ptr + off,
		};
	}
	end_change(bus);
	return 0;
}

static void unmap(struct sim_bus *bus, struct sim_bo *bo)
{
	size_t first, end;

	begin_change(bus);
	first = find(bus, bo->iova);
	for (end = first; end < bus->n && bus->range[end].iova < bo->iova + bo->span; end++)
		;
	memmove(&bus->range[first], &bus->range[end], (bus->n - end) * sizeof(bus->range[0]));
	bus->n -= end - first;
	bus->last = 0;
	end_change(bus);
}

int sim_bo_create(struct sim_bus *bus, struct sim_mem *mem, uint32_t pshift, struct sim_bo **bo)
{
	struct sim_bo *b = calloc(1, sizeof(*b));
	uint64_t page = pshift ? 1ull << pshift : PAGE;
	size_t n = pshift ? (mem->size + page - 1) >> pshift : 1, i;
	uint64_t *list;
	int ret = -ENOMEM;

	if (!b)
		goto put_mem;
	atomic_init(&b->refs, 1);
	b->bus = bus;
	b->mem = mem;
	b->buf.size = mem->size;
	if (pshift) {
		ret = sim_bo_alloc(bus, n * sizeof(uint64_t), &b->list);
		if (ret)
			goto free;
	}
	ret = map(bus, b, page, n);
	if (ret)
		goto put_list;
	if (pshift) {
		uint64_t step = n == 1 ? 0 : 2 * page;

		list = b->list->mem->ptr;
		for (i = 0; i < n; i++)
			list[i] = b->iova + (n - 1 - i) * step;
		b->buf.addr = b->list->iova;
		b->buf.pshift = pshift;
	} else {
		b->buf.addr = b->iova;
		b->buf.direct = true;
	}
	*bo = b;
	return 0;
put_list:
	if (b->list)
		sim_bo_put(b->list);
free:
	free(b);
put_mem:
	sim_mem_put(mem);
	return ret;
}

int sim_bo_alloc(struct sim_bus *bus, size_t size, struct sim_bo **bo)
{
	struct sim_mem *mem;
	int ret = sim_mem_create(size, &mem);

	return ret ? ret : sim_bo_create(bus, mem, 0, bo);
}

void sim_bo_get(struct sim_bo *bo)
{
	atomic_fetch_add(&bo->refs, 1);
}

void sim_bo_put(struct sim_bo *bo)
{
	if (!bo || atomic_fetch_sub(&bo->refs, 1) != 1)
		return;
	unmap(bo->bus, bo);
	sim_bo_put(bo->list);
	sim_mem_put(bo->mem);
	free(bo);
}
