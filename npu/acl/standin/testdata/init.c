// aclInit and aclFinalize, versions.
#include "standin.h"

void owner_reset(bool on);

static int inits;
static bool finalized;

API aclError aclInit(const char *path) {
	ENTER(aclInit, ANY);
	standin_signals(1);
	if (path && path[0]) {
		FILE *f = fopen(path, "r");
		if (!f)
			return fail(INVALID_FILE, "no configuration file %s", path);
		fclose(f);
	}
	GUARD();
	if (inits++)
		return fail(REPEAT_INITIALIZE, "initialized already");
	finalized = false;
	owner_reset(true);
	return OK;
}

// init_restart is for tests that want the state of a new process.
void init_restart(void) {
	GUARD();
	inits = 0;
	finalized = false;
	owner_reset(false);
	for (int d = 0; d < MAX_DEVICES; d++)
		if (devices[d].primary) {
			struct context *c = devices[d].primary;
			devices[d].primary = NULL;
			devices[d].set = 0;
			context_end(c);
		}
}

static int finalize(void) {
	if (finalized)
		return fail(REPEAT_FINALIZE, "finalized already");
	finalized = true;
	inits = 0;
	owner_reset(false);
	return OK;
}

API aclError aclFinalize(void) {
	ENTER(aclFinalize, ANY);
	GUARD();
	return finalize();
}

API aclError aclFinalizeReference(uint64_t *count) {
	ENTER(aclFinalizeReference, ANY);
	GUARD();
	int code = OK;
	if (inits > 1)
		inits--;
	else if (inits == 1)
		code = finalize();
	else
		code = fail(REPEAT_FINALIZE, "not initialized");
	if (count)
		*count = (uint64_t)inits;
	return code;
}

API aclError aclrtGetVersion(int32_t *major, int32_t *minor, int32_t *patch) {
	ENTER(aclrtGetVersion, ANY);
	if (!major || !minor || !patch)
		return fail(INVALID_PARAM, "NULL");
	*major = 1;
	*minor = 17;
	*patch = 0;
	return OK;
}

API aclError aclsysGetVersionStr(char *package, char *text) {
	ENTER(aclsysGetVersionStr, ANY);
	if (!package || !text)
		return fail(INVALID_PARAM, "NULL");
	if (strcmp(package, "runtime") && strcmp(package, "driver"))
		return fail(INVALID_PARAM, "no package %s", package);
	memset(text, 0, 128);
	strcpy(text, "9.1.0");
	return OK;
}

API aclError aclsysGetVersionNum(char *package, int32_t *number) {
	ENTER(aclsysGetVersionNum, ANY);
	if (!package || !number)
		return fail(INVALID_PARAM, "NULL");
	if (strcmp(package, "runtime") && strcmp(package, "driver"))
		return fail(INVALID_PARAM, "no package %s", package);
	*number = 90100000;
	return OK;
}

struct version {
	char version[128], major[64], minor[64], release[64], patch[64], reserved[128];
};

API aclError aclsysGetCANNVersion(int name, struct version *v) {
	ENTER(aclsysGetCANNVersion, ANY);
	if (!v || name < 0 || name > 7)
		return fail(INVALID_PARAM, "package %d", name);
	memset(v, 0, sizeof *v);
	strcpy(v->version, "9.1.0");
	strcpy(v->major, "9");
	strcpy(v->minor, "1");
	strcpy(v->release, "0");
	return OK;
}
