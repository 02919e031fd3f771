/* A fleet of simulated devices that polls through two edges: fleet PORT,PORT INTERVAL_MS SECONDS RECORD SEED < POPULATION
 *
 * A line of POPULATION is "COUNT APP CHANNEL VERSION DIGEST STAYS": so many devices that hold this version ("-": none); those with
 * STAYS 1 never take an update (their line is metered), so that old versions go on being asked for. Each device polls every
 * INTERVAL_MS, +-10 %, its first poll at any moment of one interval, in turn at one edge and the other, and takes what it is told.
 * RECORD gets a `struct poll` for each answer. The last line of standard output is the sum as JSON.
 */
#include "wire.h"

enum { EDGES = 2, CONNECTIONS = 64, GROUPS = 256, VERSIONS = 4096 };

typedef struct {
  char app[64], channel[64];
  char digests[VERSIONS][65];
} Channel;

typedef struct {
  uint32_t version, polls;
  uint16_t channel;
  uint8_t stays, coding;
} Device;

/* What fleet.py reads, 32 bytes: times in microseconds of CLOCK_MONOTONIC. */
struct poll {
  uint64_t sent;
  uint32_t latency, device, held, told, policy;
  uint8_t edge, channel, flags, status;  /* status / 10 */
};
enum { UPDATE = 1, FAILED = 2, WENT_BACK = 4, OTHERS = 8, PATCH = 16 };

static Channel *channels;
static int channel_count;
static Device *devices;
static uint32_t device_count;
static Connection connections[EDGES][CONNECTIONS];
static const char *sources[EDGES] = {"127.0.0.11", "127.0.0.12"};
static int ports[EDGES];

/* When devices are due: a binary heap. */
typedef struct { uint64_t at; uint32_t device; } Due;
static Due *heap;
static uint32_t heap_count;

static void heap_push(uint64_t at, uint32_t device) {
  uint32_t i = heap_count++;
  for (; i && heap[(i - 1) / 2].at > at; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
  heap[i] = (Due){at, device};
}

static Due heap_pop(void) {
  Due first = heap[0], last = heap[--heap_count];
  uint32_t i = 0;
  for (;;) {
    uint32_t child = 2 * i + 1;
    if (child >= heap_count) break;
    if (child + 1 < heap_count && heap[child + 1].at < heap[child].at) child++;
    if (heap[child].at >= last.at) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = last;
  return first;
}

/* Devices that are due and wait for a connection of their edge. */
static uint32_t *waiting[EDGES];
static uint32_t waiting_first[EDGES], waiting_count[EDGES];
static Connection *idle[EDGES][CONNECTIONS];
static int idle_count[EDGES];

static FILE *record;
static uint64_t interval, totals[16], latest;
static const char *codings[] = {"gzip", "gzip, deflate, br, zstd", "identity"};

static void ask(Connection *c, uint32_t number) {
  Device *d = &devices[number];
  Channel *ch = &channels[d->channel];
  char *p = c->out;
  p += sprintf(p, "GET /configure.json?app=%s&channel=%s", ch->app, ch->channel);
  if (d->version) p += sprintf(p, "&version=%u&digest=%s", d->version, ch->digests[d->version]);
  p += sprintf(p, "&patch=1&pack=1 HTTP/1.1\r\nHost: edge.test\r\nAccept-Encoding: %s\r\nUser-Agent: fleet\r\n\r\n", codings[d->coding]);
  c->out_length = p - c->out;
  wire_send(c, number);
}

/* The last member of its name, which in the canonical order is that of `data`. */
static uint32_t number_after(const Answer *a, const char *name) {
  const char *found = NULL, *at = a->body;
  while ((at = strstr(at, name))) found = at += strlen(name);
  return found ? strtoul(found, NULL, 10) : 0;
}

static void answered(Connection *c, const Answer *a) {
  uint32_t number = c->owner;
  Device *d = &devices[number];
  Channel *ch = &channels[d->channel];
  struct poll poll = {.sent = c->sent, .latency = now_us() - c->sent, .device = number, .held = d->version, .edge = c->edge,
                      .channel = d->channel, .status = a ? a->status / 10 : 0};
  if (!a || a->status != 200 || a->bad_coding || strncmp(a->body, "{\"code\":200,\"data\":{", 20)) {
    poll.flags |= FAILED;
    totals[0]++;
    if (totals[0] <= 5 && a) fprintf(stderr, "%.*s\n%.300s\n", (int)a->head_length, a->head, a->body);
  } else {
    poll.told = number_after(a, "\"version\":\"");
    poll.policy = number_after(a, "\"policy\":\"");
    if (strstr(a->body, "\"update\":true")) {
      poll.flags |= UPDATE;
      totals[1]++;
      const char *digest = strstr(a->body, "\"digest\":\"");
      char mark[160];
      snprintf(mark, sizeof mark, "xcache/%s/pack/", ch->app);
      if (strstr(a->body, "\"base\":")) poll.flags |= PATCH;
      /* Every file of a channel has its names in its path. */
      char own[200];
      snprintf(own, sizeof own, "mark-%s-%s-", ch->app, ch->channel);
      for (char *at = a->body; (at = strstr(at, "mark-")); at++)
        if (strncmp(at, own, strlen(own))) poll.flags |= OTHERS;
      if (strstr(a->body, "\"pack\":{") && !strstr(a->body, mark)) poll.flags |= OTHERS;
      if (poll.told <= d->version) poll.flags |= WENT_BACK;
      if (digest && poll.told < VERSIONS) {
        char *known = ch->digests[poll.told];
        if (!known[0]) memcpy(known, digest + 10, 64);
        else if (memcmp(known, digest + 10, 64)) poll.flags |= OTHERS;
        if (!d->stays) d->version = poll.told;
      }
    } else if (poll.told < d->version) {
      totals[4]++;  /* "nothing new" with an older version: there is nothing to do, but it's worth a number */
    }
    if (poll.flags & WENT_BACK) totals[2]++;
    if (poll.flags & OTHERS) totals[3]++;
    if ((poll.flags & (WENT_BACK | OTHERS)) && totals[2] + totals[3] <= 5)
      fprintf(stderr, "device %u of %s/%s held %u: %.400s\n", number, ch->app, ch->channel, poll.held, a->body);
  }
  totals[5]++;
  fwrite(&poll, sizeof poll, 1, record);
}

static void use(Connection *c) {
  int e = c->edge;
  if (waiting_count[e]) {
    uint32_t number = waiting[e][waiting_first[e]];
    waiting_first[e] = (waiting_first[e] + 1) % device_count;
    waiting_count[e]--;
    ask(c, number);
  } else {
    idle[e][idle_count[e]++] = c;
  }
}

static void again(Connection *c) {
  for (int i = 0; i < idle_count[c->edge]; i++)
    if (idle[c->edge][i] == c) idle[c->edge][i--] = idle[c->edge][--idle_count[c->edge]];
  wire_close(c);
  wire_open(c, ports[c->edge], sources[c->edge]);
}

static void turn(Connection *c, uint32_t events) {
  wire_turn(c, events);
  Answer a;
  size_t end = 0;
  int is_idle = !c->busy;
  if (c->busy) {
    int code = wire_answer(c, 0, &a, &end);
    if (code == 0 && !c->broken) return;
    if (c->broken && c->length == 0 && c->answers) {
      /* The edge closed a connection that was idle, at the same time; clients send such a request again. */
      uint32_t number = c->owner;
      totals[8]++;
      again(c);
      ask(c, number);
      return;
    }
    answered(c, code > 0 ? &a : NULL);
    if (code > 0) {
      if (wire_taken(c, end)) totals[6]++, c->broken = 1;
      if (a.closes) c->broken = 1;
    }
  }
  if (c->broken || (is_idle && c->length)) {
    again(c);
    use(c);
  } else if (!is_idle) {
    use(c);
  }
}

static int channel_of(const char *app, const char *channel) {
  for (int i = 0; i < channel_count; i++)
    if (!strcmp(channels[i].app, app) && !strcmp(channels[i].channel, channel)) return i;
  if (channel_count == 64 || !(channels = realloc(channels, (channel_count + 1) * sizeof *channels))) stop("too many channels");
  memset(&channels[channel_count], 0, sizeof *channels);
  strcpy(channels[channel_count].app, app);
  strcpy(channels[channel_count].channel, channel);
  return channel_count++;
}

static void read_population(void) {
  char app[64], channel[64], version[16], digest[65];
  unsigned count;
  int stays;
  while (scanf("%u %63s %63s %15s %64s %d", &count, app, channel, version, digest, &stays) == 6) {
    int ch = channel_of(app, channel);
    uint32_t number = atoi(version);
    if (number >= VERSIONS) stop("a version that is too high");
    if (number) strcpy(channels[ch].digests[number], digest);
    if (!(devices = realloc(devices, (device_count + count + 1) * sizeof *devices))) stop("no memory");
    while (count--) {
      uint64_t coding = dice() % 10;
      devices[device_count++] = (Device){.version = number, .channel = ch, .stays = stays, .polls = dice() % 2,
                                         .coding = coding < 6 ? 0 : coding < 9 ? 1 : 2};
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 6) stop("fleet PORT,PORT INTERVAL_MS SECONDS RECORD SEED < POPULATION");
  ports[0] = atoi(argv[1]);
  ports[1] = atoi(strchr(argv[1], ',') ? strchr(argv[1], ',') + 1 : argv[1]);
  interval = strtoull(argv[2], NULL, 10) * 1000;
  dice_state = strtoull(argv[5], NULL, 10) * 0x9e3779b97f4a7c15ull | 1;
  if (!(record = fopen(argv[4], "wb"))) stop("no record");
  read_population();
  heap = malloc((device_count + 1) * sizeof *heap);
  for (int e = 0; e < EDGES; e++) {
    waiting[e] = malloc((device_count + 1) * sizeof **waiting);
    for (int i = 0; i < CONNECTIONS; i++) {
      Connection *c = &connections[e][i];
      c->edge = e;
      wire_open(c, ports[e], sources[e]);
      idle[e][idle_count[e]++] = c;
    }
  }
  uint64_t begin = now_us(), end = begin + strtoull(argv[3], NULL, 10) * 1000000;
  for (uint32_t i = 0; i < device_count; i++) heap_push(begin + dice() % interval, i);
  struct epoll_event events[256];
  for (uint64_t now; (now = now_us()) < end;) {
    while (heap_count && heap[0].at <= now) {
      Due due = heap_pop();
      Device *d = &devices[due.device];
      int e = d->polls++ & 1;
      if (now - due.at > latest) latest = now - due.at;
      heap_push(due.at + interval * (900 + dice() % 200) / 1000, due.device);
      if (idle_count[e]) {
        ask(idle[e][--idle_count[e]], due.device);
      } else {
        waiting[e][(waiting_first[e] + waiting_count[e]++) % device_count] = due.device;
        if (waiting_count[e] > totals[7]) totals[7] = waiting_count[e];
        if (waiting_count[e] >= device_count) stop("an edge answers no more");
      }
    }
    int wait = !heap_count ? 10 : heap[0].at <= now ? 0 : (heap[0].at - now) / 1000 + 1;
    int n = epoll_wait(poller, events, 256, wait > 10 ? 10 : wait);
    for (int i = 0; i < n; i++) turn(events[i].data.ptr, events[i].events);
  }
  fclose(record);
  printf("{\"devices\":%u,\"polls\":%lu,\"updates\":%lu,\"failed\":%lu,\"went_back\":%lu,\"others\":%lu,\"older_said\":%lu,"
         "\"surplus\":%lu,\"late_us\":%lu,\"waited\":%lu,\"sent_again\":%lu}\n", device_count, totals[5], totals[1], totals[0], totals[2], totals[3],
         totals[4], totals[6], latest, totals[7], totals[8]);
  return 0;
}
