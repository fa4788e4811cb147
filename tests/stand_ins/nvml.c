/* A stand-in for libnvidia-ml.so.1: the functions that sampling calls, with their names, types and
 * error codes as in nvml.h. There is no GPU: it says what the file "nvml" in the folder that
 * TALLYSTICK_STAND_IN names says, read anew at every call, one board a line:
 *
 *     UUID BUS MINOR MIG UTIL MEMORY_UTIL POWER_MW ENERGY_MJ
 *
 * A word "!N" in place of a value makes the call that would give it end with error N; in place of
 * the UUID it is the handle that cannot be had, and "?N" is the UUID alone. A line "driver V" is
 * the driver's version, and "down N" is a library of which every call ends with error N. Boards
 * are those that were there when the library was opened: one that came later is not listed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOARDS_MAX 64
#define WORDS 8
#define UNINITIALIZED 1
#define INVALID 2

typedef char Word[96];
typedef struct {
    char busIdLegacy[16];
    unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} PciInfo;
typedef struct { unsigned gpu, memory; } Utilization;

static int opened = 0;
static int listed = 0;
static char driver[80];

static int read_boards(Word boards[BOARDS_MAX][WORDS], int *count)
{
    char path[4096], line[1024];
    const char *home = getenv("TALLYSTICK_STAND_IN");
    snprintf(path, sizeof path, "%s/nvml", home ? home : ".");
    FILE *file = fopen(path, "r");
    if (!file) return 9; /* NVML_ERROR_DRIVER_NOT_LOADED */
    int down = 0;
    *count = 0;
    driver[0] = 0;
    while (fgets(line, sizeof line, file) && *count < BOARDS_MAX) {
        Word *w = boards[*count];
        if (sscanf(line, "driver %79s", driver) == 1) continue;
        if (sscanf(line, "down %d", &down) == 1) break;
        if (sscanf(line, "%95s %95s %95s %95s %95s %95s %95s %95s", w[0], w[1], w[2], w[3], w[4],
                   w[5], w[6], w[7]) == WORDS)
            (*count)++;
    }
    fclose(file);
    return down;
}

static int word(void *handle, int place, Word out)
{
    Word boards[BOARDS_MAX][WORDS];
    int count, down;
    if (!opened) return UNINITIALIZED;
    down = read_boards(boards, &count);
    if (down) return down;
    long index = (long)handle - 1;
    if (index < 0 || index >= count) return 15; /* NVML_ERROR_GPU_IS_LOST */
    memcpy(out, boards[index][place], sizeof(Word));
    if (out[0] == '!' || (place == 0 && out[0] == '?')) return atoi(out + 1);
    return 0;
}

static int number(void *handle, int place, unsigned long long *out)
{
    Word text;
    int status = word(handle, place, text);
    if (!status) *out = strtoull(text, NULL, 10);
    return status;
}

static int small(void *handle, int place, unsigned *out)
{
    unsigned long long value;
    int status = number(handle, place, &value);
    if (!status) *out = (unsigned)value;
    return status;
}

int nvmlInitWithFlags(unsigned flags)
{
    Word boards[BOARDS_MAX][WORDS];
    (void)flags;
    int down = read_boards(boards, &listed);
    if (down) return down;
    opened++;
    return 0;
}

int nvmlShutdown(void)
{
    if (!opened) return UNINITIALIZED;
    opened--;
    return 0;
}

int nvmlSystemGetDriverVersion(char *out, unsigned length)
{
    Word boards[BOARDS_MAX][WORDS];
    int count, down;
    if (!opened) return UNINITIALIZED;
    down = read_boards(boards, &count);
    if (down) return down;
    if (!driver[0]) return 999; /* NVML_ERROR_UNKNOWN */
    snprintf(out, length, "%s", driver);
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *out)
{
    Word boards[BOARDS_MAX][WORDS];
    int count, down;
    if (!opened) return UNINITIALIZED;
    down = read_boards(boards, &count);
    if (down) return down;
    *out = (unsigned)listed;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
    Word text;
    int status;
    if (!opened) return UNINITIALIZED;
    if (index >= (unsigned)listed) return INVALID;
    status = word((void *)((long)index + 1), 0, text);
    if (status && text[0] != '?') return status;
    *out = (void *)((long)index + 1);
    return 0;
}

int nvmlDeviceGetUUID(void *handle, char *out, unsigned length)
{
    Word text;
    int status = word(handle, 0, text);
    if (!status) snprintf(out, length, "%s", text);
    return status;
}

int nvmlDeviceGetPciInfo_v3(void *handle, PciInfo *out)
{
    Word text;
    int status = word(handle, 1, text);
    if (status) return status;
    memset(out, 0, sizeof *out);
    snprintf(out->busId, sizeof out->busId, "%.31s", text);
    return 0;
}

int nvmlDeviceGetMinorNumber(void *handle, unsigned *out) { return small(handle, 2, out); }

int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending)
{
    int status = small(handle, 3, current);
    if (!status) *pending = *current;
    return status;
}

int nvmlDeviceGetUtilizationRates(void *handle, Utilization *out)
{
    int status = small(handle, 4, &out->gpu);
    return status ? status : small(handle, 5, &out->memory);
}

int nvmlDeviceGetPowerUsage(void *handle, unsigned *out) { return small(handle, 6, out); }

int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *out)
{
    return number(handle, 7, out);
}

const char *nvmlErrorString(int status)
{
    return status == 0 ? "Success" : "Unknown Error";
}
