// Devices: what they are, who retains them, peer access.
#include "standin.h"
#include <fcntl.h>
#include <unistd.h>

struct device devices[MAX_DEVICES] = {
	{.id = 0}, {.id = 1}, {.id = 2}, {.id = 3}, {.id = 4}, {.id = 5}, {.id = 6}, {.id = 7},
	{.id = 8}, {.id = 9}, {.id = 10}, {.id = 11}, {.id = 12}, {.id = 13}, {.id = 14}, {.id = 15},
};

static const struct soc socs[] = {
	{"Ascend910B3", 20, 40, 20, 6, (int64_t)64 << 30, (int64_t)192 << 20, 1984, 65536, true},
	{"Ascend310P3", 8, 7, 8, 7, 24000000000 & ~0xfffLL, (int64_t)16 << 20, 1024, 1023, false},
};

const struct soc *soc(void) { return control.soc == 310 ? &socs[1] : &socs[0]; }

pthread_mutex_t big_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed;

__attribute__((constructor(101))) static void start(void) {
	pthread_condattr_t a;
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &a);
}

bool wait_on(pthread_cond_t *c, int64_t deadline) {
	if (deadline < 0)
		return pthread_cond_wait(c, &big_lock) == 0;
	struct timespec t = {deadline / 1000000000, deadline % 1000000000};
	return pthread_cond_timedwait(c, &big_lock, &t) != ETIMEDOUT;
}

static struct device *find(int64_t id) { return id >= 0 && id < control.devices ? &devices[id] : NULL; }

static int no_device(int64_t id) { return fail(RT_DEVICE, "device %lld, there are %lld", (long long)id, (long long)control.devices); }

API aclError aclrtGetRunMode(int *mode) {
	ENTER(aclrtGetRunMode, ANY);
	if (!mode)
		return fail(INVALID_PARAM, "NULL");
	*mode = 1;
	return OK;
}

API const char *aclrtGetSocName(void) {
	ENTER_VALUE(aclrtGetSocName, ANY, NULL);
	return soc()->name;
}

API aclError aclrtGetDeviceCount(uint32_t *count) {
	ENTER(aclrtGetDeviceCount, ANY);
	if (!count)
		return fail(INVALID_PARAM, "NULL");
	*count = (uint32_t)control.devices;
	return OK;
}

API aclError aclrtSetDevice(int32_t id) {
	ENTER(aclrtSetDevice, THREAD);
	standin_signals(2);
	standin_signals(3);
	if (control.setdevice_ms > 0)
		usleep((useconds_t)(control.setdevice_ms * 1000));
	GUARD();
	struct device *d = find(id);
	if (!d)
		return no_device(id);
	for (int64_t i = 0; !d->fds && i < control.fds; i++)
		if (open("/dev/null", O_RDWR) < 0) // the vendor's are not closed in child processes either
			break;
	d->fds = true;
	if (!d->primary) {
		d->primary = context_new(d, true);
		if (!d->primary)
			return fail(RT_NO_STREAM, "no stream for the default context");
	}
	d->set++;
	context_release(current);
	current = d->primary;
	current->o.refs++;
	return OK;
}

static int reset(int32_t id, bool force) {
	GUARD();
	struct device *d = find(id);
	if (!d)
		return no_device(id);
	if (!d->set)
		return fail(RT_DEVICE_NOT_SET, "device %d is not set", id);
	d->set = force ? 0 : d->set - 1;
	if (d->set)
		return OK;
	struct context *c = d->primary;
	d->primary = NULL;
	return context_end(c);
}

API aclError aclrtResetDevice(int32_t id) {
	ENTER(aclrtResetDevice, THREAD);
	return reset(id, false);
}

API aclError aclrtResetDeviceForce(int32_t id) {
	ENTER(aclrtResetDeviceForce, THREAD);
	return reset(id, true);
}

API aclError aclrtGetDevice(int32_t *id) {
	ENTER(aclrtGetDevice, THREAD);
	if (!id)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	*id = c->dev->id;
	return OK;
}

API aclError aclrtQueryDeviceStatus(int32_t id, int *status) {
	ENTER(aclrtQueryDeviceStatus, ANY);
	if (!status)
		return fail(INVALID_PARAM, "NULL");
	if (!find(id))
		return no_device(id);
	*status = 0;
	return OK;
}

int64_t memory_total(void);

API aclError aclrtGetDeviceInfo(uint32_t id, int attribute, int64_t *value) {
	ENTER(aclrtGetDeviceInfo, ANY);
	if (!value)
		return fail(INVALID_PARAM, "NULL");
	if (!find(id))
		return no_device(id);
	switch (attribute) {
	case 1:
		*value = soc()->aicpu;
		return OK;
	case 101:
		*value = soc()->aicore;
		return OK;
	case 102:
		*value = soc()->cube;
		return OK;
	case 201:
		*value = soc()->vector;
		return OK;
	case 301:
		*value = memory_total();
		return OK;
	case 302:
		*value = soc()->l2;
		return OK;
	}
	return fail(RT_PARAM, "no attribute %d", attribute);
}

struct utilization {
	int32_t cube, vector, aicpu, memory;
	void *extend;
};

API aclError aclrtGetDeviceUtilizationRate(int32_t id, struct utilization *u) {
	ENTER(aclrtGetDeviceUtilizationRate, ANY);
	if (!u)
		return fail(INVALID_PARAM, "NULL");
	if (standin_on(CHECK_STRUCT) && ((uintptr_t)u % 8 || u->extend))
		die("check_struct", "aclrtUtilizationInfo is not aligned, or utilizationExtend is not NULL");
	GUARD();
	struct device *d = find(id);
	if (!d)
		return no_device(id);
	int64_t now = now_ns(), span = now - d->asked_ns, busy = d->busy_ns - d->asked_busy;
	int percent = d->asked_ns == 0 || span <= 0 ? 0 : (int)((busy * 100 + span - 1) / span);
	d->asked_ns = now;
	d->asked_busy = d->busy_ns;
	u->cube = u->vector = percent > 100 ? 100 : percent;
	u->aicpu = 0;
	u->memory = -1;
	return OK;
}

static int unmasked_id(int32_t id, int32_t *out) {
	if (!out)
		return fail(INVALID_PARAM, "NULL");
	if (!find(id))
		return no_device(id);
	*out = id + (int32_t)control.first_visible;
	return OK;
}

API aclError aclrtGetLogicDevIdByUserDevId(const int32_t id, int32_t *const out) {
	ENTER(aclrtGetLogicDevIdByUserDevId, ANY);
	return unmasked_id(id, out);
}

API aclError aclrtGetPhyDevIdByUserDevId(const int32_t id, int32_t *const out) {
	ENTER(aclrtGetPhyDevIdByUserDevId, ANY);
	return unmasked_id(id, out);
}

API aclError aclrtGetPhyDevIdByLogicDevId(const int32_t id, int32_t *const out) {
	ENTER(aclrtGetPhyDevIdByLogicDevId, ANY);
	return unmasked_id(id, out);
}

API aclError aclrtDeviceCanAccessPeer(int32_t *can, int32_t id, int32_t peer) {
	ENTER(aclrtDeviceCanAccessPeer, ANY);
	if (!can || id == peer)
		return fail(INVALID_PARAM, "devices %d and %d", id, peer);
	if (!find(id) || !find(peer))
		return no_device(find(id) ? peer : id);
	*can = 1;
	return OK;
}

static int peer_access(int32_t peer, bool on) {
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	if (peer == c->dev->id)
		return fail(INVALID_PARAM, "device %d is the current one", peer);
	if (!find(peer))
		return no_device(peer);
	if (on)
		c->dev->peers |= (uint64_t)1 << peer;
	else
		c->dev->peers &= ~((uint64_t)1 << peer);
	return OK;
}

API aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags) {
	ENTER(aclrtDeviceEnablePeerAccess, THREAD);
	if (flags)
		return fail(PEER_FLAGS, "flags %u", flags);
	GUARD();
	return peer_access(peer, true);
}

API aclError aclrtDeviceDisablePeerAccess(int32_t peer) {
	ENTER(aclrtDeviceDisablePeerAccess, THREAD);
	GUARD();
	return peer_access(peer, false);
}

API aclError aclrtDevicePeerAccessStatus(int32_t id, int32_t peer, int32_t *status) {
	ENTER(aclrtDevicePeerAccessStatus, ANY);
	if (!status)
		return fail(INVALID_PARAM, "NULL");
	if (!find(id) || !find(peer))
		return fail(RT_PARAM, "devices %d and %d", id, peer);
	GUARD();
	*status = devices[id].peers >> peer & 1;
	return OK;
}

API aclError aclrtGetPrimaryCtxState(int32_t id, uint32_t *flags, int32_t *active) {
	ENTER(aclrtGetPrimaryCtxState, ANY);
	if (flags || !active)
		return fail(INVALID_PARAM, "flags must be NULL, active must not");
	GUARD();
	if (!find(id))
		return no_device(id);
	*active = devices[id].primary != NULL;
	return OK;
}
