/* Hostile requests as fast as edges answer them: flood PORT,PORT TEMPLATES COUNT SECONDS CONNECTIONS SEED MARK,MARK,…
 *
 * TEMPLATES has one request after another: its length (4 bytes), whose marks its answer may have (an index, 254: nobody's, 255: one of
 * them), flags (1: HEAD; 2: what follows the answer is unknown, so the connection is closed) and two bytes of nothing. In a request, the
 * byte 1 becomes any digit, 2 a hexadecimal one, 3 a letter, so that no two are the same. It ends after COUNT answers or SECONDS.
 * Standard output: how far it is, once a second, and the sum, each a line of JSON. Exit code 1 if an answer had somebody else's marks,
 * could not be decoded, or was followed by what nobody asked for (unless the edge closes).
 */
#include "wire.h"

enum { MARKS = 16, NOBODY = 254, ANY = 255, HEAD = 1, CLOSES = 2, PATIENCE = 3 };

typedef struct {
  uint32_t length;
  uint8_t owner, flags, nothing[2];
} Header;

static Header *headers;
static char **texts;
static uint32_t template_count;
static int ports[8], port_count, mark_count;
static char *marks[MARKS];
static uint64_t sent, done, statuses[600], broken, timeouts, others, undecodable, surplus, no_http, reflected, coded;
static char source[64][16];

static void fill(Connection *c, uint32_t number) {
  char *out = c->out;
  memcpy(out, texts[number], headers[number].length);
  for (char *end = out + headers[number].length; out < end; out++) {
    if ((unsigned char)*out > 3 || *out == 0) continue;
    uint64_t n = dice();
    *out = *out == 1 ? "0123456789"[n % 10] : *out == 2 ? "0123456789abcdef"[n % 16] : (char)('a' + n % 26);
  }
  c->out_length = headers[number].length;
  sent++;
  wire_send(c, number);
}

static void show(const char *what, Connection *c, const Answer *a) {
  static int shown;
  if (shown++ >= 10) return;
  fprintf(stderr, "%s\n> %.*s\n< %.*s\n%.300s\n\n", what, (int)(c->out_length < 1500 ? c->out_length : 1500), c->out,
          (int)(a ? a->head_length : 0), a ? a->head : "", a ? a->body : "");
}

static void judge(Connection *c, const Answer *a) {
  uint8_t owner = headers[c->owner].owner;
  int seen = -1, is_wrong = 0;
  done++;
  statuses[a->status < 600 ? a->status : 599]++;
  coded += a->coding[0] != 0;
  if (a->bad_coding) undecodable++, show("can't be decoded", c, a);
  for (const char *at = a->body; (at = memmem(at, a->body + a->body_length - at, "mark-", 5)); at += 5) {
    for (int i = 0; i < mark_count; i++) {
      if (strncmp(at, marks[i], strlen(marks[i]))) continue;
      if ((seen >= 0 && seen != i) || owner == NOBODY || (owner != ANY && owner != i)) is_wrong = 1;
      seen = i;
    }
  }
  if (is_wrong) others++, show("somebody else's marks", c, a);
  if (a->status == 200 && (memmem(a->head, a->head_length, "evil", 4) || memmem(a->body, a->body_length, "evil", 4)))
    reflected++, show("what was sent came back", c, a);
}

static void again(Connection *c) {
  struct linger now = {1, 0};
  setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  wire_close(c);
  wire_open(c, ports[c->edge], source[dice() % 64]);
  fill(c, dice() % template_count);
}

static void turn(Connection *c, uint32_t events) {
  wire_turn(c, events);
  Answer a;
  size_t end = 0;
  int code = wire_answer(c, headers[c->owner].flags & HEAD, &a, &end);
  if (code == 0 && !c->broken) return;
  if (code > 0) {
    judge(c, &a);
    int closes = a.closes || headers[c->owner].flags & CLOSES;
    if (!closes && end < c->length) surplus++, show("something behind the answer", c, &a);
    wire_taken(c, end);
    if (closes || c->broken) again(c);
    else fill(c, dice() % template_count);
  } else {
    /* Edges close connections that don't speak HTTP without a word. */
    if (code < 0 && c->length) no_http++;
    broken++;
    again(c);
  }
}

int main(int argc, char **argv) {
  if (argc != 8) stop("flood PORTS TEMPLATES COUNT SECONDS CONNECTIONS SEED MARKS");
  for (char *p = strtok(argv[1], ","); p && port_count < 8; p = strtok(NULL, ",")) ports[port_count++] = atoi(p);
  for (char *p = strtok(argv[7], ","); p && mark_count < MARKS; p = strtok(NULL, ",")) marks[mark_count++] = p;
  uint64_t count = strtoull(argv[3], NULL, 10);
  double seconds = atof(argv[4]);
  int connection_count = atoi(argv[5]);
  dice_state = strtoull(argv[6], NULL, 10) * 0x9e3779b97f4a7c15ull | 1;
  for (int i = 0; i < 64; i++) sprintf(source[i], "127.0.1.%d", i + 1);
  FILE *file = fopen(argv[2], "rb");
  if (!file) stop("no templates");
  Header header;
  while (fread(&header, sizeof header, 1, file) == 1) {
    if (template_count % 1024 == 0) {
      headers = realloc(headers, (template_count + 1024) * sizeof *headers);
      texts = realloc(texts, (template_count + 1024) * sizeof *texts);
    }
    if (header.length > sizeof ((Connection *)0)->out) stop("a template that is too long");
    texts[template_count] = malloc(header.length + 1);
    if (fread(texts[template_count], 1, header.length, file) != header.length) stop("half a template");
    headers[template_count++] = header;
  }
  Connection *connections = calloc(connection_count, sizeof *connections);
  for (int i = 0; i < connection_count; i++) {
    connections[i].edge = i % port_count;
    wire_open(&connections[i], ports[i % port_count], source[i % 64]);
    fill(&connections[i], dice() % template_count);
  }
  uint64_t begin = now_us(), told = begin, swept = begin, end = begin + seconds * 1e6, now;
  struct epoll_event events[256];
  while ((now = now_us()) < end && done + broken < count) {
    int n = epoll_wait(poller, events, 256, 100);
    for (int i = 0; i < n; i++) turn(events[i].data.ptr, events[i].events);
    if (now - swept > 500000) {
      swept = now;
      for (int i = 0; i < connection_count; i++)
        if (connections[i].broken) broken++, again(&connections[i]);
        else if (now - connections[i].sent > PATIENCE * 1000000) timeouts++, again(&connections[i]);
    }
    if (now - told > 1000000) {
      told = now;
      printf("{\"done\":%lu,\"seconds\":%.1f}\n", done + broken, (now - begin) / 1e6);
      fflush(stdout);
    }
  }
  printf("{\"sent\":%lu,\"answered\":%lu,\"closed\":%lu,\"no_http\":%lu,\"timeouts\":%lu,\"coded\":%lu,\"seconds\":%.1f,\"others\":%lu,"
         "\"undecodable\":%lu,\"surplus\":%lu,\"reflected\":%lu,\"statuses\":{", sent, done, broken, no_http, timeouts, coded,
         (now_us() - begin) / 1e6, others, undecodable, surplus, reflected);
  const char *comma = "";
  for (int i = 0; i < 600; i++)
    if (statuses[i]) printf("%s\"%d\":%lu", comma, i, statuses[i]), comma = ",";
  printf("}}\n");
  return others + undecodable + surplus + reflected > 0;
}
