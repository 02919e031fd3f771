/* What both load programs share: connections to loopback ports over epoll, and a reader of HTTP/1.1 answers that decodes bodies.
 * No error of a peer ends the program: a connection that breaks is opened again, and whoever waited for its answer is told. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

/* Microseconds of CLOCK_MONOTONIC, which is Python's time.monotonic(). */
static uint64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void stop(const char *why) {
  fprintf(stderr, "load: %s\n", why);
  exit(2);
}

/* xorshift64*: the same seed makes the same requests. */
static uint64_t dice_state = 1;
static uint64_t dice(void) {
  dice_state ^= dice_state >> 12;
  dice_state ^= dice_state << 25;
  dice_state ^= dice_state >> 27;
  return dice_state * 2685821657736338717ull >> 16;
}

typedef struct {
  int fd, edge;
  uint64_t owner;  /* what waits for the answer: a device or a template */
  int busy, broken, connecting, answers;
  uint64_t sent;
  char *in;
  size_t length, room, out_length, out_sent;
  char out[16384];
} Connection;

/* An answer that is complete; `body` is decoded and ends with a NUL. */
typedef struct {
  int status, closes, bad_coding;
  const char *head;
  size_t head_length;
  char *body;
  size_t body_length;
  char coding[16];
} Answer;

static int poller = -1;

/* A connection to 127.0.0.1:port from `source`, so that an edge's requests can be told by the address that it forwards. */
static void wire_open(Connection *c, int port, const char *source) {
  if (poller < 0) poller = epoll_create1(EPOLL_CLOEXEC);
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (c->fd < 0) stop("no socket");
  int one = 1;
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
  struct sockaddr_in here = {.sin_family = AF_INET}, there = {.sin_family = AF_INET, .sin_port = htons(port)};
  inet_pton(AF_INET, source, &here.sin_addr);
  inet_pton(AF_INET, "127.0.0.1", &there.sin_addr);
  bind(c->fd, (struct sockaddr *)&here, sizeof here);
  c->busy = c->broken = c->answers = 0;
  c->length = c->out_length = c->out_sent = 0;
  c->connecting = connect(c->fd, (struct sockaddr *)&there, sizeof there) != 0;
  if (c->connecting && errno != EINPROGRESS) c->broken = 1;
  struct epoll_event event = {.events = EPOLLIN | (c->connecting ? EPOLLOUT : 0), .data.ptr = c};
  epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event);
}

static void wire_close(Connection *c) {
  close(c->fd);
  c->fd = -1;
}

static void wire_flush(Connection *c) {
  while (c->out_sent < c->out_length) {
    ssize_t n = send(c->fd, c->out + c->out_sent, c->out_length - c->out_sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (errno != EAGAIN) c->broken = 1;
      else {
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = c};
        epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
      }
      return;
    }
    c->out_sent += n;
  }
}

static void wire_send(Connection *c, uint64_t owner) {
  c->owner = owner;
  c->busy = 1;
  c->sent = now_us();
  c->out_sent = 0;
  wire_flush(c);
}

/* What epoll said of a connection: reads what is there. */
static void wire_turn(Connection *c, uint32_t events) {
  if (events & EPOLLOUT) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
    c->connecting = 0;
    wire_flush(c);
  }
  if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
  for (;;) {
    if (c->room - c->length < 65536) {
      c->room = c->room ? c->room * 2 : 131072;
      if (c->room > 64 << 20 || !(c->in = realloc(c->in, c->room))) stop("an answer without end");
    }
    size_t want = c->room - c->length - 1;
    ssize_t n = recv(c->fd, c->in + c->length, want, 0);
    if (n > 0) {
      c->length += n;
      if ((size_t)n < want) return;
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 || errno != EAGAIN) c->broken = 1;
    return;
  }
}

/* The value of a field in a head, up to its line's end. */
static const char *wire_field(const char *head, size_t length, const char *name, size_t *value_length) {
  size_t n = strlen(name);
  for (const char *line = memchr(head, '\n', length); line; line = memchr(line, '\n', head + length - line)) {
    line++;
    if (line + n >= head + length) return NULL;
    if (strncasecmp(line, name, n) == 0 && line[n] == ':') {
      const char *value = line + n + 1, *end = memchr(value, '\r', head + length - value);
      if (!end) end = head + length;
      while (value < end && *value == ' ') value++;
      *value_length = end - value;
      return value;
    }
  }
  return NULL;
}

static char *decoded;
static size_t decoded_room;

static void wire_room(size_t n) {
  if (n + 1 <= decoded_room) return;
  decoded_room = n * 2 + 65536;
  if (!(decoded = realloc(decoded, decoded_room))) stop("no memory");
}

static int wire_gunzip(const char *body, size_t length, size_t *result) {
  static z_stream z;
  static int is_ready;
  if (!is_ready) inflateInit2(&z, 16 + MAX_WBITS), is_ready = 1;
  inflateReset(&z);
  z.next_in = (Bytef *)body;
  z.avail_in = length;
  *result = 0;
  for (;;) {
    wire_room(*result + 65536);
    z.next_out = (Bytef *)decoded + *result;
    z.avail_out = decoded_room - 1 - *result;
    int code = inflate(&z, Z_NO_FLUSH);
    *result = (char *)z.next_out - decoded;
    if (code == Z_STREAM_END) return z.avail_in == 0;
    if (code != Z_OK || *result > 64 << 20) return 0;
  }
}

static int wire_unzstd(const char *body, size_t length, size_t *result) {
  unsigned long long size = ZSTD_getFrameContentSize(body, length);
  if (size == ZSTD_CONTENTSIZE_ERROR) return 0;
  wire_room(size == ZSTD_CONTENTSIZE_UNKNOWN ? 16 << 20 : size);
  *result = ZSTD_decompress(decoded, decoded_room - 1, body, length);
  return !ZSTD_isError(*result);
}

/* Takes an answer from what was read. 0: it isn't complete; -1: it is no HTTP. `*end` is where it ended.
 * The body's text is valid until the next call. */
static int wire_answer(Connection *c, int is_head, Answer *a, size_t *end) {
  if (c->length < 16) return c->length && strncmp(c->in, "HTTP/1.", c->length < 7 ? c->length : 7) ? -1 : 0;
  c->in[c->length] = 0;
  if (strncmp(c->in, "HTTP/1.", 7)) return -1;
  char *stop_at = memmem(c->in, c->length, "\r\n\r\n", 4);
  if (!stop_at) return 0;
  memset(a, 0, sizeof *a);
  a->head = c->in;
  a->head_length = stop_at + 2 - c->in;
  a->status = atoi(c->in + 9);
  size_t from = a->head_length + 2, n, length = 0;
  if (a->status == 100) {  /* an interim answer: the real one follows */
    memmove(c->in, c->in + from, c->length - from);
    c->length -= from;
    return wire_answer(c, is_head, a, end);
  }
  const char *value = wire_field(a->head, a->head_length, "connection", &n);
  a->closes = (value && n == 5 && !strncasecmp(value, "close", 5)) || c->in[7] == '0';
  char *body = c->in + from;
  static char *joined;
  static size_t joined_room;
  value = wire_field(a->head, a->head_length, "transfer-encoding", &n);
  if (is_head || a->status == 204 || a->status == 304 || a->status < 200) {
    *end = from;
  } else if (value && n >= 7 && !strncasecmp(value + n - 7, "chunked", 7)) {
    for (;;) {
      char *line = c->in + from, *line_end = memmem(line, c->length - from, "\r\n", 2);
      if (!line_end) return 0;
      size_t size = strtoul(line, NULL, 16), data = line_end + 2 - c->in;
      if (size > 64 << 20) return -1;
      if (data + size + 2 > c->length) return 0;
      if (joined_room < length + size + 1) {
        joined_room = (length + size) * 2 + 65536;
        if (!(joined = realloc(joined, joined_room))) stop("no memory");
      }
      memcpy(joined + length, c->in + data, size);
      length += size;
      from = data + size + 2;
      if (size == 0) break;
    }
    body = joined;
    *end = from;
  } else if ((value = wire_field(a->head, a->head_length, "content-length", &n))) {
    length = strtoul(value, NULL, 10);
    if (from + length > c->length) return c->broken ? -1 : 0;
    *end = from + length;
  } else {  /* to the end of the connection */
    if (!c->broken) return 0;
    length = c->length - from;
    *end = c->length;
    a->closes = 1;
  }
  value = wire_field(a->head, a->head_length, "content-encoding", &n);
  if (value && n < sizeof a->coding) memcpy(a->coding, value, n);
  size_t result = length;
  /* A part of a coded body can't be decoded. */
  if (length == 0 || !value || a->status == 206) {
    wire_room(length);
    memcpy(decoded, body, length);
  } else if (!strcmp(a->coding, "gzip")) {
    a->bad_coding = !wire_gunzip(body, length, &result);
  } else if (!strcmp(a->coding, "zstd")) {
    a->bad_coding = !wire_unzstd(body, length, &result);
  } else {
    a->bad_coding = 1;
  }
  if (a->bad_coding) wire_room(result = 0);
  decoded[result] = 0;
  a->body = decoded;
  a->body_length = result;
  return 1;
}

/* Forgets an answer that was taken; what lies behind it is more than was asked for. */
static size_t wire_taken(Connection *c, size_t end) {
  size_t surplus = c->length - end;
  c->length = 0;
  c->busy = 0;
  c->answers++;
  return surplus;
}
