/*
 * A file's debug info without compression, for libdw. libelf would unpack everything before the
 * first question, including location lists and line tables. An image holds only what libdw reads
 * for us, and only as much of .debug_info as was requested.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "bytes/unpack.h"
#include "elf/elf_file.h"
#include "elf/elf_file_priv.h"
#include "host/pages.h"

/* Per image; a larger one is not worth its memory. */
#define IMAGE_MAX (2ull << 30)
#define HUGE_PAGE (2u << 20)
#define ALIGN 16	/* of sections in an image; nothing in debug info needs more than 8 */

/* A compressed section. */
struct packed {
	size_t index;		/* of the section */
	size_t size;		/* bytes, unpacked */
	bool is_info;		/* .debug_info */
	bool is_aranges;	/* .debug_aranges */
	struct unpack *u;	/* owned */
};

struct elf_image {
	struct elf_file *from;	/* owned; a second handle, whose bytes are unpacked */
	uint8_t *p;		/* owned mapping; NULL: none */
	size_t size;		/* bytes */
	uint64_t shoff;		/* of the section headers in it */
	struct packed *packed;	/* owned */
	size_t npacked, cap;
	const uint8_t *aranges;	/* .debug_aranges, packed or not; NULL: none */
	size_t aranges_size;	/* bytes, unpacked */
	bool sound;		/* everything but .debug_info is unpacked */
	atomic_bool stop;
	elf_aranges_fn on_aranges;
	void *ctx;		/* for it */
	bool told;		/* on_aranges was called; belongs to the busy thread */
	/* Under the lock of the queue. */
	struct elf_image *next;	/* in it */
	uint64_t wanted;	/* bytes of .debug_info that are expected to be needed */
	bool ahead;		/* the threads unpack it ahead */
	bool queued;
	bool busy;		/* a thread fills or unpacks it */
	bool built;		/* the members before @sound are set, or cannot be */
};

/*
 * Images to unpack ahead, and the threads that do it. The threads end when the last image is freed.
 */
static struct {
	pthread_mutex_t lock;	/* for the members below */
	pthread_cond_t change;	/* of an image, or of the queue */
	struct elf_image *first;
	unsigned int threads, images;
} ahead = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0 };

static bool has_compressed(struct elf_file *ef)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (ef->shnum && (scn = elf_nextscn(ef->elf, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_COMPRESSED))
			return true;
	return false;
}

/*
 * Read the compression header of section @sh and locate its stream. Not through libelf, which would
 * read the whole section. False when it is not there. The header may state any size: nothing is
 * allocated beyond what the file has.
 */
static bool find_stream(const struct elf_file *from, const GElf_Shdr *sh, Elf64_Chdr *ch, struct unpack_from *stream)
{
	uint64_t have = from->memsize;
	struct stat st;

	if (!from->mem) {
		if (fstat(from->fd, &st))
			return false;
		have = (uint64_t)st.st_size;
	}
	if (sh->sh_size < sizeof(*ch) || sh->sh_size > ELF_PIECE_MAX || sh->sh_offset > have || sh->sh_size > have - sh->sh_offset)
		return false;
	*stream = (struct unpack_from){ NULL, from->fd, sh->sh_offset + sizeof(*ch), sh->sh_size - sizeof(*ch) };
	if (!from->mem)
		return pread(from->fd, ch, sizeof(*ch), (off_t)sh->sh_offset) == sizeof(*ch);
	memcpy(ch, (const uint8_t *)from->mem + sh->sh_offset, sizeof(*ch));
	stream->mem = (const uint8_t *)from->mem + stream->off;
	return true;
}

/* libdw reads no line table for us, but it checks that offsets lie in one. */
static bool stays_empty(const char *name)
{
	return !strcmp(name, ".debug_line");
}

/* Sets the header that @scn gets in the image. Returns its bytes there; 0: none. */
static uint64_t image_header(struct elf_file *from, Elf_Scn *scn, const GElf_Shdr *sh, Elf64_Shdr *out)
{
	const char *name = elf_strptr(from->elf, from->shstrndx, sh->sh_name);
	struct unpack_from stream;
	Elf64_Chdr ch;

	*out = *sh;
	if (sh->sh_flags & SHF_COMPRESSED) {
		/* An unreadable section must not hide the others. */
		out->sh_size = find_stream(from, sh, &ch, &stream) ? ch.ch_size : 0;
		out->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	}
	if (sh->sh_type == SHT_NOBITS || !name || !out->sh_size || out->sh_size > ELF_PIECE_MAX ||
	    (!elf_debug_wanted(name) && elf_ndxscn(scn) != from->shstrndx)) {
		out->sh_type = SHT_NOBITS;
		return 0;
	}
	return out->sh_size;
}

/*
 * Fill the section's place in the image, given by @sh, or note how to. False: it has no contents.
 */
static bool place_section(struct elf_image *img, Elf_Scn *scn, const Elf64_Shdr *sh)
{
	struct elf_file *from = img->from;
	const char *name = elf_strptr(from->elf, from->shstrndx, sh->sh_name);
	struct packed pk = { .index = elf_ndxscn(scn), .size = sh->sh_size };
	struct unpack_from stream;
	Elf_Data *raw;
	GElf_Shdr have;
	Elf64_Chdr ch;

	if (stays_empty(name))
		return true;
	if (!gelf_getshdr(scn, &have) || have.sh_size > ELF_PIECE_MAX)
		return false;
	if (!img->aranges && !strcmp(name, ".debug_aranges")) {
		pk.is_aranges = true;
		img->aranges = img->p + sh->sh_offset;
		img->aranges_size = sh->sh_size;
	}
	if (!(have.sh_flags & SHF_COMPRESSED)) {
		raw = elf_rawdata(scn, NULL);
		if (raw && raw->d_buf)
			memcpy(img->p + sh->sh_offset, raw->d_buf, MIN(raw->d_size, sh->sh_size));
		return raw && raw->d_buf;
	}
	if (!find_stream(from, &have, &ch, &stream) || (ch.ch_type != ELF_CH_ZLIB && ch.ch_type != ELF_CH_ZSTD))
		return false;
	pk.is_info = !strcmp(name, ".debug_info");
	pk.u = unpack_new(ch.ch_type == ELF_CH_ZSTD, &stream, img->p + sh->sh_offset, pk.size);
	XGROW(img->packed, img->npacked, img->cap);
	img->packed[img->npacked++] = pk;
	return true;
}

/* Elf64_Ehdr at the start, the section headers last. */
static void build(struct elf_image *img)
{
	struct elf_file *from = img->from;
	Elf64_Shdr *shdrs = xcalloc(from->shnum, sizeof(*shdrs));
	uint64_t size = sizeof(Elf64_Ehdr);
	Elf64_Ehdr eh = from->ehdr;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	void *p;

	while ((scn = elf_nextscn(from->elf, scn)) && size <= IMAGE_MAX) {
		Elf64_Shdr *out = &shdrs[elf_ndxscn(scn)];
		uint64_t len;

		if (!gelf_getshdr(scn, &sh))
			goto out;
		len = image_header(from, scn, &sh, out);
		size = align_up(size, ALIGN);
		out->sh_offset = size;
		size += len;
	}
	img->shoff = align_up(size, ALIGN);
	img->size = img->shoff + from->shnum * sizeof(*shdrs);
	if (size > IMAGE_MAX)
		goto out;
	p = mmap(NULL, img->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		goto out;
	img->p = p;
	/* Only for speed. */
	madvise(p, img->size, img->size > 4 * HUGE_PAGE && pages_are_slow() ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	while ((scn = elf_nextscn(from->elf, scn))) {
		Elf64_Shdr *out = &shdrs[elf_ndxscn(scn)];

		if (out->sh_type != SHT_NOBITS && !place_section(img, scn, out))
			out->sh_type = SHT_NOBITS;
	}
	eh.e_shoff = img->shoff;
	eh.e_phoff = 0;
	eh.e_phnum = 0;
	memcpy(img->p, &eh, sizeof(eh));
	memcpy(img->p + img->shoff, shdrs, from->shnum * sizeof(*shdrs));
out:
	free(shdrs);
}

/*
 * NULL: @ef needs no image. No program has section numbers beyond 16 bits, and 32-bit files are
 * left to libelf.
 */
static struct elf_image *image_new(struct elf_file *ef)
{
	struct elf_image *img;

	if (!elf_file_is64(ef) || ef->shnum >= SHN_LORESERVE || !has_compressed(ef))
		return NULL;
	img = xcalloc(1, sizeof(*img));
	img->from = elf_file_open_again(ef);
	/* The file may have been replaced meanwhile. */
	if (img->from && img->from->shnum != ef->shnum) {
		elf_core_close(img->from);
		img->from = NULL;
	}
	img->built = !img->from;
	return img;
}

/* The functions below hold the lock of the queue. */
static void enqueue(struct elf_image *img)
{
	struct elf_image **at = &ahead.first;

	while (*at)
		at = &(*at)->next;
	*at = img;
	img->queued = true;
	pthread_cond_broadcast(&ahead.change);
}

static void dequeue(struct elf_image *img)
{
	struct elf_image **at = &ahead.first;

	while (*at != img)
		at = &(*at)->next;
	*at = img->next;
	img->next = NULL;
	img->queued = false;
}

/* Releases the lock meanwhile. */
static void build_unlocked(struct elf_image *img)
{
	pthread_mutex_unlock(&ahead.lock);
	build(img);
	pthread_mutex_lock(&ahead.lock);
	img->built = true;
	pthread_cond_broadcast(&ahead.change);
}

/* Passes on as much of .debug_aranges as could be unpacked, perhaps nothing. */
static void tell_aranges(struct elf_image *img)
{
	size_t size = img->aranges_size;

	img->told = true;
	for (size_t i = 0; i < img->npacked; i++)
		if (img->packed[i].is_aranges)
			size = unpack_have(img->packed[i].u);
	img->on_aranges(img->ctx, img->aranges, size);
}

/*
 * Unpack a little of what is left, and .debug_info up to @wanted. False: nothing is left.
 * .debug_aranges comes first: from it others find out how much of .debug_info they need. Then comes
 * .debug_info, which takes longest: whoever needs the handle earlier unpacks the other sections
 * meanwhile.
 */
static bool unpack_next(struct elf_image *img, uint64_t wanted)
{
	for (size_t i = 0; i < img->npacked; i++)
		if (img->packed[i].is_aranges && unpack_some(img->packed[i].u))
			return true;
	if (!img->told)
		tell_aranges(img);
	for (size_t i = 0; i < img->npacked; i++)
		if (img->packed[i].is_info && unpack_have(img->packed[i].u) < wanted && unpack_some(img->packed[i].u))
			return true;
	for (size_t i = 0; i < img->npacked; i++)
		if (!img->packed[i].is_info && unpack_some(img->packed[i].u))
			return true;
	return false;
}

/* Until there is nothing more to do, as far as known. */
static void unpack_unlocked(struct elf_image *img)
{
	uint64_t wanted;
	bool more;

	do {
		wanted = img->wanted;
		pthread_mutex_unlock(&ahead.lock);
		more = unpack_next(img, wanted);
		pthread_mutex_lock(&ahead.lock);
	} while (!atomic_load(&img->stop) && (more || wanted != img->wanted));
}

static void *run_ahead(void *arg)
{
	struct elf_image *img;

	(void)arg;
	pthread_mutex_lock(&ahead.lock);
	while (ahead.images) {
		img = ahead.first;
		if (!img) {
			pthread_cond_wait(&ahead.change, &ahead.lock);
			continue;
		}
		dequeue(img);
		img->busy = true;
		if (!img->built)
			build_unlocked(img);
		unpack_unlocked(img);
		img->busy = false;
		pthread_cond_broadcast(&ahead.change);
	}
	ahead.threads--;
	pthread_mutex_unlock(&ahead.lock);
	return NULL;
}

void elf_file_unpack_ahead(struct elf_file *ef, unsigned int at_most, elf_aranges_fn on_aranges, void *ctx)
{
	struct elf_image *img;
	pthread_t tid;

	if (ef->image || ef->lent[0])
		return;
	img = ef->image = image_new(ef);
	if (!img || img->built)
		return;
	img->on_aranges = on_aranges;
	img->ctx = ctx;
	pthread_mutex_lock(&ahead.lock);
	img->ahead = true;
	ahead.images++;
	enqueue(img);
	if (ahead.threads < at_most && !pthread_create(&tid, NULL, run_ahead, NULL)) {
		pthread_detach(tid);
		ahead.threads++;
	}
	pthread_mutex_unlock(&ahead.lock);
}

void elf_file_expect_info(struct elf_file *ef, uint64_t end)
{
	struct elf_image *img = ef->image;

	if (!img || !img->ahead)
		return;
	pthread_mutex_lock(&ahead.lock);
	if (end > img->wanted) {
		img->wanted = end;
		if (!img->busy && !img->queued)
			enqueue(img);
	}
	pthread_mutex_unlock(&ahead.lock);
}

/*
 * Waits until @img is built. Builds it here if no thread is at it yet; what is wanted ahead stays
 * with the thread.
 */
static void wait_built(struct elf_image *img)
{
	pthread_mutex_lock(&ahead.lock);
	if (!img->built && !img->busy) {
		if (img->queued)
			dequeue(img);
		img->busy = true;
		build_unlocked(img);
		img->busy = false;
		if (img->ahead)
			enqueue(img);
	}
	while (!img->built)
		pthread_cond_wait(&ahead.change, &ahead.lock);
	pthread_mutex_unlock(&ahead.lock);
}

bool elf_image_get(struct elf_file *ef, uint8_t **image, size_t *size)
{
	struct elf_image *img;

	img = ef->image;
	if (!img) {
		img = image_new(ef);
		/*
		 * Not stored: other threads read ef->image, and have their own handles of
		 * uncompressed files.
		 */
		if (!img)
			return false;
		ef->image = img;
	}
	wait_built(img);
	if (!img->p)
		return false;
	/* From the last one down: the thread began with the first. */
	for (size_t i = img->sound ? 0 : img->npacked; i-- > 0;) {
		const struct packed *pk = &img->packed[i];
		uint32_t nobits = SHT_NOBITS;

		/* A section without bytes is not a stream. */
		if (!unpack_upto(pk->u, pk->is_info ? 1 : pk->size))
			memcpy(img->p + img->shoff + pk->index * sizeof(Elf64_Shdr) +
			       offsetof(Elf64_Shdr, sh_type), &nobits, sizeof(nobits));
	}
	img->sound = true;
	*image = img->p;
	*size = img->size;
	return true;
}

void elf_file_need_info(struct elf_file *ef, uint64_t start, uint64_t end)
{
	struct elf_image *img = ef->image;

	elf_later_need(ef, start, end);
	for (size_t i = 0; img && i < img->npacked; i++)
		if (img->packed[i].is_info)
			unpack_upto(img->packed[i].u, MIN(end, img->packed[i].size));
}

void elf_file_unpack_stop(struct elf_file *ef)
{
	struct elf_image *img = ef->image;

	if (!img)
		return;
	atomic_store(&img->stop, true);
	pthread_mutex_lock(&ahead.lock);
	if (img->queued)
		dequeue(img);
	while (img->busy)
		pthread_cond_wait(&ahead.change, &ahead.lock);
	ahead.images -= img->ahead;
	img->ahead = false;
	pthread_cond_broadcast(&ahead.change);
	pthread_mutex_unlock(&ahead.lock);
}

void elf_image_free(struct elf_file *ef)
{
	struct elf_image *img = ef->image;

	if (!img)
		return;
	elf_file_unpack_stop(ef);
	for (size_t i = 0; i < img->npacked; i++)
		unpack_free(img->packed[i].u);
	free(img->packed);
	if (img->p)
		munmap(img->p, img->size);
	elf_core_close(img->from);
	free(img);
	ef->image = NULL;
}
