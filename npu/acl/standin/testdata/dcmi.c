// libdcmi: the state of devices as the vendor's library tells it, for tests. It stands alone: no other library of the
// stand-in is needed. Cards have ids with gaps, as on servers; logical ids count their chips in order.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { OK = 0, INVALID_PARAMETER = -8001, INVALID_DEVICE = -8007, NO_DEVICE = -8008, NOT_READY = -8012, NOT_SUPPORTED = -8255 };
enum { MAX_CARDS = 8, MAX_CHIPS = 4, MAX_DEVICES = MAX_CARDS * MAX_CHIPS, MAX_FAULTS = 3 };

struct dcmi_ecc_info {
	int enable_flag;
	unsigned int single_bit_error_cnt, double_bit_error_cnt;
	unsigned int total_single_bit_error_cnt, total_double_bit_error_cnt;
	unsigned int single_bit_isolated_pages_cnt, double_bit_isolated_pages_cnt;
};

struct dcmi_hbm_info {
	unsigned long long memory_size;
	unsigned int freq;
	unsigned long long memory_usage;
	int temp;
	unsigned int bandwith_util_rate;
};

// What each device shows, by the names of the switches.
enum { TEMPERATURE, POWER, CARD_POWER, VOLTAGE, HEALTH, FAULT0, FAULT1, FAULT2, CORES, VECTOR, MEMORY, HBM_SIZE, HBM_USED, HBM_TEMPERATURE,
	HBM_BANDWIDTH, ECC, SINGLE, DOUBLE, TOTAL_SINGLE, TOTAL_DOUBLE, PAGES, VALUES };

static const struct { const char *name; int64_t value; } values[VALUES] = {
	[TEMPERATURE] = {"temperature", 45}, [POWER] = {"power", 935}, [CARD_POWER] = {"card_power", 1900}, [VOLTAGE] = {"voltage", 85},
	[HEALTH] = {"health", 0}, [FAULT0] = {"fault0", 0}, [FAULT1] = {"fault1", 0}, [FAULT2] = {"fault2", 0}, [CORES] = {"cores", 40},
	[VECTOR] = {"vector", 12}, [MEMORY] = {"memory", -1}, [HBM_SIZE] = {"hbm_size", 65536}, [HBM_USED] = {"hbm_used", 16384},
	[HBM_TEMPERATURE] = {"hbm_temperature", 48}, [HBM_BANDWIDTH] = {"hbm_bandwidth", 7}, [ECC] = {"ecc", 1}, [SINGLE] = {"single", 0},
	[DOUBLE] = {"double", 0}, [TOTAL_SINGLE] = {"total_single", 0}, [TOTAL_DOUBLE] = {"total_double", 0}, [PAGES] = {"pages", 0},
};

static _Atomic int64_t shown[MAX_DEVICES][VALUES];
static _Atomic int64_t cards = 2, chips = 2, first_phy = 0, hang = 0, slow_us = 0, hbm = 1;
static _Atomic int64_t inits, inside, overlaps;
static const int card_ids[MAX_CARDS] = {1, 4, 5, 7, 8, 10, 12, 15};

static struct { const char *name; _Atomic int64_t *value; } keys[] = {
	{"cards", &cards}, {"chips", &chips}, {"first_phy", &first_phy}, {"hang", &hang}, {"slow_us", &slow_us}, {"hbm", &hbm},
	{"inits", &inits}, {"overlaps", &overlaps},
};

// Functions that return a code instead of working, for one device or for all.
#define MAX_FAILURES 32
static struct { char name[96]; int device, code; } failures[MAX_FAILURES];
static int nfailures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int failure(const char *function, int device) {
	int code = OK;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < nfailures; i++)
		if (strcmp(failures[i].name, function) == 0 && (failures[i].device < 0 || failures[i].device == device))
			code = failures[i].code;
	pthread_mutex_unlock(&lock);
	return code;
}

// dcmi_standin_set sets "KEY", or "KEY@DEVICE" of one device by logical id; -1 where there is no such key.
API int64_t dcmi_standin_set(const char *text, int64_t value) {
	char key[96];
	snprintf(key, sizeof key, "%s", text);
	char *at = strchr(key, '@');
	int device = -1;
	if (at) {
		*at = 0;
		device = atoi(at + 1);
		if (device < 0 || device >= MAX_DEVICES)
			return -1;
	}
	if (strncmp(key, "fail:", 5) == 0) {
		pthread_mutex_lock(&lock);
		bool room = nfailures < MAX_FAILURES;
		if (room) {
			snprintf(failures[nfailures].name, sizeof failures[0].name, "%s", key + 5);
			failures[nfailures].device = device;
			failures[nfailures++].code = (int)value;
		}
		pthread_mutex_unlock(&lock);
		return room ? 0 : -1;
	}
	for (int v = 0; v < VALUES; v++)
		if (strcmp(key, values[v].name) == 0) {
			for (int d = 0; d < MAX_DEVICES; d++)
				if (device < 0 || d == device)
					shown[d][v] = value;
			return 0;
		}
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(key, keys[i].name) == 0) {
			*keys[i].value = value;
			return 0;
		}
	return -1;
}

API int64_t dcmi_standin_get(const char *key) {
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(key, keys[i].name) == 0)
			return *keys[i].value;
	return -1;
}

__attribute__((constructor)) static void start(void) {
	for (int d = 0; d < MAX_DEVICES; d++)
		for (int v = 0; v < VALUES; v++)
			shown[d][v] = values[v].value;
	const char *text = getenv("DCMI_STANDIN");
	char *copy = strdup(text ? text : ""), *rest = copy;
	for (char *pair; (pair = strsep(&rest, ","));) {
		char *value = strchr(pair, '=');
		if (!value)
			continue;
		*value++ = 0;
		if (dcmi_standin_set(pair, strtoll(value, NULL, 0)) != 0)
			fprintf(stderr, "standin: DCMI_STANDIN: no switch %s\n", pair);
	}
	free(copy);
}

// enter does what every call begins with, leave what it ends with. Calls that overlap are counted.
static int enter(const char *function, int device) {
	if (atomic_fetch_add(&inside, 1) > 0)
		atomic_fetch_add(&overlaps, 1);
	if (slow_us)
		usleep((useconds_t)slow_us);
	while (hang)
		usleep(1000);
	int code = failure(function, device);
	return code ? code : inits ? OK : NOT_READY;
}

static int leave(int code) {
	atomic_fetch_sub(&inside, 1);
	return code;
}

// logical is the logical id of a chip, or a negative code.
static int logical(int card, int chip) {
	for (int c = 0; c < (int)cards; c++)
		if (card_ids[c] == card)
			return chip >= 0 && chip < (int)chips ? c * (int)chips + chip : INVALID_DEVICE;
	return INVALID_PARAMETER;
}

static int show(const char *function, int card, int chip, int value, void *out) {
	int d = logical(card, chip), code = enter(function, d);
	if (code == OK && d < 0)
		code = d;
	if (code == OK && !out)
		code = INVALID_PARAMETER;
	if (code == OK)
		*(int32_t *)out = (int32_t)shown[d][value];
	return leave(code);
}

API int dcmi_init(void) {
	int code = failure("dcmi_init", -1);
	if (code == OK)
		inits++;
	return code;
}

API int dcmi_get_dcmi_version(char *version, unsigned int len) {
	int code = enter(__func__, -1);
	if (code == OK && (!version || len < 16))
		code = INVALID_PARAMETER;
	if (code == OK)
		snprintf(version, len, "%s", "standin 1.0");
	return leave(code);
}

API int dcmi_get_card_list(int *num, int *list, int len) {
	int code = enter(__func__, -1);
	if (code == OK && (!num || !list || len < (int)cards))
		code = INVALID_PARAMETER;
	if (code == OK) {
		*num = (int)cards;
		memcpy(list, card_ids, (size_t)cards * sizeof *list);
	}
	return leave(code);
}

API int dcmi_get_device_id_in_card(int card, int *max, int *mcu, int *cpu) {
	int code = enter(__func__, logical(card, 0));
	if (code == OK && (!max || !mcu || !cpu || logical(card, 0) < 0))
		code = INVALID_PARAMETER;
	if (code == OK)
		*max = (int)chips, *mcu = (int)chips, *cpu = -1;
	return leave(code);
}

API int dcmi_get_device_logic_id(int *out, int card, int chip) {
	int d = logical(card, chip), code = enter(__func__, d);
	if (code == OK && (!out || d < 0))
		code = d < 0 ? d : INVALID_PARAMETER;
	if (code == OK)
		*out = d;
	return leave(code);
}

API int dcmi_get_card_id_device_id_from_logicid(int *card, int *chip, unsigned int id) {
	int code = enter(__func__, (int)id);
	if (code == OK && (!card || !chip))
		code = INVALID_PARAMETER;
	if (code == OK && id >= (unsigned)(cards * chips))
		code = INVALID_DEVICE;
	if (code == OK)
		*card = card_ids[id / (unsigned)chips], *chip = (int)(id % (unsigned)chips);
	return leave(code);
}

API int dcmi_get_device_phyid_from_logicid(unsigned int id, unsigned int *phy) {
	int code = enter(__func__, (int)id);
	if (code == OK && (!phy || id >= (unsigned)(cards * chips)))
		code = INVALID_PARAMETER;
	if (code == OK)
		*phy = id + (unsigned)first_phy;
	return leave(code);
}

API int dcmi_get_device_temperature(int card, int chip, int *out) { return show(__func__, card, chip, TEMPERATURE, out); }

API int dcmi_get_device_power_info(int card, int chip, int *out) { return show(__func__, card, chip, POWER, out); }

API int dcmi_get_device_voltage(int card, int chip, unsigned int *out) { return show(__func__, card, chip, VOLTAGE, out); }

API int dcmi_get_device_health(int card, int chip, unsigned int *out) { return show(__func__, card, chip, HEALTH, out); }

API int dcmi_mcu_get_power_info(int card, int *out) { return show(__func__, card, 0, CARD_POWER, out); }

API int dcmi_get_device_utilization_rate(int card, int chip, int type, unsigned int *out) {
	static const struct { int type, value; } types[] = {{1, MEMORY}, {2, CORES}, {10, HBM_BANDWIDTH}, {12, VECTOR}};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].type == type) {
			int d = logical(card, chip);
			if (d >= 0 && shown[d][types[i].value] < 0)
				return NOT_SUPPORTED;
			return show(__func__, card, chip, types[i].value, out);
		}
	return NOT_SUPPORTED;
}

API int dcmi_get_device_hbm_info(int card, int chip, struct dcmi_hbm_info *out) {
	int d = logical(card, chip), code = enter(__func__, d);
	if (code == OK && (!out || d < 0))
		code = INVALID_PARAMETER;
	if (code == OK && !hbm)
		code = NOT_SUPPORTED;
	if (code == OK)
		*out = (struct dcmi_hbm_info){(unsigned long long)shown[d][HBM_SIZE], 1600, (unsigned long long)shown[d][HBM_USED],
			(int)shown[d][HBM_TEMPERATURE], (unsigned)shown[d][HBM_BANDWIDTH]};
	return leave(code);
}

// Parts have one kind of memory: type 2 is HBM, 0 is DDR.
API int dcmi_get_device_ecc_info(int card, int chip, int type, struct dcmi_ecc_info *out) {
	int d = logical(card, chip), code = enter(__func__, d);
	if (code == OK && (!out || d < 0))
		code = INVALID_PARAMETER;
	if (code == OK && type != (hbm ? 2 : 0))
		code = NOT_SUPPORTED;
	if (code == OK)
		*out = (struct dcmi_ecc_info){(int)shown[d][ECC], (unsigned)shown[d][SINGLE], (unsigned)shown[d][DOUBLE], (unsigned)shown[d][TOTAL_SINGLE],
			(unsigned)shown[d][TOTAL_DOUBLE], 0, (unsigned)shown[d][PAGES]};
	return leave(code);
}

API int dcmi_get_device_errorcode_v2(int card, int chip, int *count, unsigned int *list, unsigned int len) {
	int d = logical(card, chip), code = enter(__func__, d);
	if (code == OK && (!count || !list || len < MAX_FAULTS || d < 0))
		code = INVALID_PARAMETER;
	if (code == OK) {
		*count = 0;
		for (int i = 0; i < MAX_FAULTS; i++)
			if (shown[d][FAULT0 + i])
				list[(*count)++] = (unsigned)shown[d][FAULT0 + i];
	}
	return leave(code);
}

API int dcmi_get_device_errorcode_string(int card, int chip, unsigned int fault, unsigned char *text, int size) {
	int d = logical(card, chip), code = enter(__func__, d);
	if (code == OK && (!text || size < 256 || d < 0))
		code = INVALID_PARAMETER;
	if (code == OK && fault == 0xdead)
		code = NOT_SUPPORTED;
	if (code == OK)
		snprintf((char *)text, (size_t)size, "fault %X of the stand-in", fault);
	return leave(code);
}
