// SPDX-License-Identifier: Apache-2.0
// Random operations on the driver against a model: rules are made, validated, queried, destroyed and flushed on the
// ports of one device, ports are stopped, given another MTU and started, and packets go in between: what leaves lanes
// and comes to the host must be what the rules say that were accepted, byte for byte, and their counters, too. The
// model is a plain scan of rules in rte_flow's terms over the fields that a packet was built from; no code of the host
// library decides there. `random_rules EAL-ARGUMENTS -- SEED OPERATIONS TERNARY FOLDER`: TERNARY is the size of the
// device's TCAM, and lanes 0 to 2 are the Unix sockets FOLDER/lane0 to 2. Prints what it did as JSON; at the first
// difference says what and ends with 1. `-- storm THREADS ROUNDS` has threads make, query and destroy rules at the same
// time.
#include <errno.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "random_flow.h"

enum { COUNTER_TRIES = 5000, COUNTER_MICROSECONDS = 1000 };
enum { RULES = 4096, BATCH = 8, PATIENCE = 60, TABLES = 7, ENTRIES = 128 }; // redirection tables of a port for rules

struct rule {
    struct rte_flow *handle;
    uint16_t port;
    uint32_t priority;
    struct match match;
    struct change change;
    uint64_t packets, bytes;
};

struct expected {
    uint8_t frame[FRAME];
    uint32_t size, mark;
    uint8_t lanes; // where it is still to come
    bool host;
    uint16_t port;
    struct change change; // whose queues it is for
};

static uint64_t operation;
static struct rule rules[RULES];
static unsigned rule_count, ternary;
static struct rte_flow *stale; // a handle that was destroyed
static bool started[PORTS];
static unsigned strays[PORTS]; // frames for a lane that was off, which the device may still hold when it is on
static int sockets[PORTS];
static struct sockaddr_un lanes[PORTS];
static struct rte_mempool *pool;
static struct expected expected[BATCH + PORTS];
static unsigned expected_count;
static uint32_t first_number;
static struct {
    uint64_t created, validated, destroyed, queried, flushed, restarted, dumped, packets, refused, full, twice, gone,
        forwarded, to_host, dropped, spread, tables_full;
} counts;

#define FAIL(...) (printf("operation %llu: ", (unsigned long long)operation), printf(__VA_ARGS__), puts(""), exit(1))

// ---- The model

static bool has_bits(const struct fields *value, const struct fields *mask, const struct fields *of) {
    const uint8_t *v = (const void *)value, *m = (const void *)mask, *o = (const void *)of;
    for (size_t i = 0; i < sizeof *of; i++)
        if ((v[i] ^ o[i]) & m[i])
            return false;
    return true;
}

static bool matches(const struct match *match, const struct packet *packet) {
    if (match->tag ? !packet->tagged : packet->tagged && (match->network || match->tells_tag))
        return false;
    if (match->network && match->kind != packet->kind)
        return false;
    if (match->has_fragment && match->fragment != packet->fragment)
        return false;
    if (match->transport && packet->fragment == LATER)
        return false;
    return has_bits(&match->value, &match->mask, &packet->of);
}

static struct rule *winner(uint16_t port, const struct packet *packet) {
    struct rule *best = NULL;
    for (unsigned i = 0; i < rule_count; i++)
        if (rules[i].port == port && (!best || rules[i].priority < best->priority) && matches(&rules[i].match, packet))
            best = &rules[i];
    return best;
}

static const struct change to_port = {.to_host = true, .queues = {0, 1, 2, 3}, .queue_count = QUEUES};

static bool has_list(const struct change *change, const struct change *other) {
    return change->queue_count == other->queue_count &&
           !memcmp(change->queues, other->queues, change->queue_count * sizeof *change->queues);
}

// Needs a redirection table: more queues than one, and not as the port itself has them.
static bool has_table(const struct change *change) {
    return change->queue_count > 1 && !has_list(change, &to_port);
}

// Whether the port has no table for a rule: others have all of them.
static bool is_out_of_tables(const struct rule *rule) {
    const struct change *lists[TABLES];
    unsigned count = 0;
    for (unsigned i = 0; i < rule_count && has_table(&rule->change); i++) {
        const struct change *change = &rules[i].change;
        bool is_new = rules[i].port == rule->port && has_table(change);
        for (unsigned n = 0; n < count; n++)
            is_new &= !has_list(change, lists[n]);
        if (is_new && has_list(change, &rule->change))
            return false;
        if (is_new)
            lists[count++] = change;
    }
    return count == TABLES;
}

// Where the hash of a packet takes it.
static uint16_t queue_of(const struct change *change, const struct rte_mbuf *mbuf) {
    uint32_t entry = mbuf->ol_flags & RTE_MBUF_F_RX_RSS_HASH ? mbuf->hash.rss % ENTRIES : 0;
    return change->queues[entry % change->queue_count];
}

// What becomes of a packet that came into a port.
static void expect(uint16_t port, struct packet packet) {
    struct expected *it = &expected[expected_count++];
    uint8_t frame[FRAME];
    struct rule *rule = winner(port, &packet);
    const struct change *change = rule ? &rule->change : &to_port;
    *it = (struct expected){.port = port, .host = change->to_host, .mark = change->mark, .change = *change};
    if (rule) {
        rule->packets++;
        rule->bytes += build(&packet, frame);
    }
    bool expires = change->decrements && packet.of.ttl <= 1;
    for (uint16_t lane = 0; lane < PORTS && !expires; lane++) {
        it->lanes |= (uint8_t)(started[lane] ? change->lanes & 1 << lane : 0);
        strays[lane] += !started[lane] && (change->lanes >> lane & 1);
    }
    packet.of.ttl = (uint8_t)(packet.of.ttl - change->decrements);
    packet.of.dst_mac = change->sets_mac ? change->mac : packet.of.dst_mac;
    packet.of.destination = change->sets_destination ? change->destination : packet.of.destination;
    packet.tagged = change->pushes || (packet.tagged && !change->pops);
    packet.of.tci = change->pushes ? NEW_TAG : packet.of.tci;
    it->size = build(&packet, it->frame);
    counts.to_host += it->host;
    counts.forwarded += it->lanes != 0;
    counts.dropped += !it->host && !it->lanes;
}

// ---- Operations

// Something that no device here does: what is wrong with the rule, and with which type of error it is refused.
static int spoil(struct rte_flow_attr *attributes, struct items *items, struct actions *actions) {
    static const struct rte_flow_action_port_id nowhere = {.id = 99};
    switch (draw(40)) {
    case 0:
        attributes->group = 1;
        return RTE_FLOW_ERROR_TYPE_ATTR_GROUP;
    case 1:
        attributes->priority = UINT16_MAX + 1 + draw(1000);
        return RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY;
    case 2:
        attributes->egress = 1;
        attributes->transfer = 0; // both together rte_flow itself refuses
        return RTE_FLOW_ERROR_TYPE_ATTR_EGRESS;
    case 3:
        items->list[items->count - 1].type = RTE_FLOW_ITEM_TYPE_GTP;
        items->list[items->count] = (struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_END};
        return RTE_FLOW_ERROR_TYPE_ACTION;
    case 4:
        actions->list[0] = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_PORT_ID, .conf = &nowhere};
        return RTE_FLOW_ERROR_TYPE_ACTION;
    case 5: // nothing says where the packet goes
        actions->list[1].type = RTE_FLOW_ACTION_TYPE_END;
        return RTE_FLOW_ERROR_TYPE_ACTION;
    default:
        return RTE_FLOW_ERROR_TYPE_NONE;
    }
}

static bool is_priority_free(uint32_t priority) {
    for (unsigned i = 0; i < rule_count; i++)
        if (rules[i].priority == priority)
            return false;
    return true;
}

static struct rule draw_rule(void) {
    struct rule rule = {.port = (uint16_t)draw(PORTS), .match = draw_match()};
    if (rule_count && draw(4) == 0) // what another rule matches
        rule.match = rules[draw(rule_count)].match;
    rule.change = draw_change(&rule.match);
    do
        rule.priority = draw(4) ? draw(UINT16_MAX + 1) : draw(8);
    while (!is_priority_free(rule.priority));
    return rule;
}

static void check_refusal(const struct rule *rule, int error_type, int code, const struct rte_flow_error *error) {
    bool is_room = rule_count < ternary && !is_out_of_tables(rule);
    bool is_full = error_type == RTE_FLOW_ERROR_TYPE_NONE && code == ENOSPC && !is_room;
    if (!error->message || (is_full ? error->type != RTE_FLOW_ERROR_TYPE_ACTION : (int)error->type != error_type))
        FAIL("refused with %d, error type %d (expected %d): %s", code, error->type, error_type, error->message);
    counts.refused += !is_full;
    counts.full += is_full;
}

static void use_create(void) {
    struct rule rule = draw_rule();
    struct rte_flow_attr attributes = {.priority = rule.priority};
    struct rte_flow_error error = {.type = RTE_FLOW_ERROR_TYPE_NONE};
    struct items items;
    struct actions actions;
    make_items(&items, &rule.match);
    make_actions(&actions, &rule.change);
    attributes.ingress = rule.change.to_host;
    attributes.transfer = !rule.change.to_host;
    int wrong = spoil(&attributes, &items, &actions);
    int valid = draw(4) ? 1 : rte_flow_validate(rule.port, &attributes, items.list, actions.list, &error);
    counts.validated += valid <= 0;
    if (valid < 0)
        check_refusal(&rule, wrong, -valid, &error);
    rule.handle = rte_flow_create(rule.port, &attributes, items.list, actions.list, &error);
    if (valid <= 0 && (valid == 0) != (wrong == RTE_FLOW_ERROR_TYPE_NONE))
        FAIL("validate says %d to a rule that is wrong in %d", valid, wrong);
    if (!rule.handle) {
        check_refusal(&rule, wrong, rte_errno, &error);
        counts.tables_full += wrong == RTE_FLOW_ERROR_TYPE_NONE && is_out_of_tables(&rule);
        return;
    }
    if (is_out_of_tables(&rule))
        FAIL("a rule was accepted whose list of queues has no table");
    counts.spread += has_table(&rule.change);
    if (wrong != RTE_FLOW_ERROR_TYPE_NONE || rule_count == RULES)
        FAIL("a rule was accepted that is wrong in %d", wrong);
    for (unsigned i = 0; i < rule_count; i++)
        if (rules[i].handle == rule.handle)
            FAIL("two rules with one handle");
    rules[rule_count++] = rule;
    counts.created++;
    if (draw(16) == 0) { // the same once more
        if (rte_flow_create(rule.port, &attributes, items.list, actions.list, &error) || rte_errno != EEXIST)
            FAIL("a rule was accepted twice, or refused with %d", rte_errno);
        counts.twice++;
    }
}

static void drop_rule(unsigned i) {
    stale = rules[i].handle;
    rules[i] = rules[--rule_count];
}

static bool is_stale(void) {
    for (unsigned i = 0; i < rule_count; i++)
        if (rules[i].handle == stale)
            return false; // it is another rule's by now
    return stale != NULL;
}

static void use_stale(void) {
    const struct rte_flow_action count[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT}, {.type = RTE_FLOW_ACTION_TYPE_END}};
    struct rte_flow_query_count result = {.reset = 1};
    struct rte_flow_error error;
    uint16_t port = (uint16_t)draw(PORTS);
    int code = draw(2) ? rte_flow_destroy(port, stale, &error) : rte_flow_query(port, stale, count, &result, &error);
    if (code != -ENOENT || error.type != RTE_FLOW_ERROR_TYPE_HANDLE)
        FAIL("a handle that is gone: %d", code);
    counts.gone++;
}

static void use_destroy(void) {
    struct rte_flow_error error;
    if (draw(16) == 0 && is_stale())
        use_stale();
    if (!rule_count)
        return;
    unsigned i = draw(rule_count);
    if (rte_flow_destroy(rules[i].port, rules[i].handle, &error))
        FAIL("destroy: %s", error.message);
    drop_rule(i);
    counts.destroyed++;
}

static struct rte_flow_query_count query(const struct rule *rule, bool reset) {
    const struct rte_flow_action count[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT}, {.type = RTE_FLOW_ACTION_TYPE_END}};
    struct rte_flow_query_count got = {.reset = reset};
    struct rte_flow_error error;
    if (rte_flow_query(rule->port, rule->handle, count, &got, &error))
        FAIL("query: %s", error.message);
    return got;
}

static void check_counters(struct rule *rule, bool reset) {
    struct rte_flow_query_count got = query(rule, false);
    // The device writes its counters into host memory one after the other.
    for (unsigned i = 0; i < COUNTER_TRIES && (got.hits < rule->packets || got.bytes < rule->bytes); i++) {
        usleep(COUNTER_MICROSECONDS);
        got = query(rule, false);
    }
    if (reset)
        got = query(rule, true);
    if (!got.hits_set || !got.bytes_set || got.hits != rule->packets || got.bytes != rule->bytes)
        FAIL("a rule counted %llu packets, %llu bytes; it got %llu, %llu", (unsigned long long)got.hits,
             (unsigned long long)got.bytes, (unsigned long long)rule->packets, (unsigned long long)rule->bytes);
    if (reset)
        rule->packets = rule->bytes = 0;
    counts.queried++;
}

static void use_query(void) {
    if (rule_count)
        check_counters(&rules[draw(rule_count)], draw(3) == 0);
}

static void use_flush(void) {
    struct rte_flow_error error;
    uint16_t port = (uint16_t)draw(PORTS);
    if (draw(50)) // or there would never be many
        return;
    if (rte_flow_flush(port, &error))
        FAIL("flush: %s", error.message);
    for (unsigned i = rule_count; i-- > 0;)
        if (rules[i].port == port)
            drop_rule(i);
    counts.flushed++;
}

static void start(uint16_t port, uint16_t mtu) {
    struct rte_eth_conf conf = {
        .rxmode = {.mtu = mtu, .mq_mode = RTE_ETH_MQ_RX_RSS, .offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH},
        .rx_adv_conf = {.rss_conf = {.rss_hf = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP}}};
    int result = rte_eth_dev_configure(port, QUEUES, 1, &conf);
    for (uint16_t queue = 0; queue < QUEUES && result == 0; queue++)
        result = rte_eth_rx_queue_setup(port, queue, 512, (unsigned)SOCKET_ID_ANY, NULL, pool);
    if (result || rte_eth_tx_queue_setup(port, 0, 512, (unsigned)SOCKET_ID_ANY, NULL) || rte_eth_dev_start(port) ||
        rte_eth_promiscuous_enable(port))
        FAIL("port %u does not start", port);
    started[port] = true;
}

static void use_port(void) {
    uint16_t port = (uint16_t)draw(PORTS);
    if (draw(20))
        return;
    if (!started[port]) {
        start(port, (uint16_t)(1400 + draw(101)));
    } else if (draw(2)) {
        if (rte_eth_dev_set_mtu(port, (uint16_t)(1400 + draw(101))))
            FAIL("MTU of port %u", port);
    } else {
        if (rte_eth_dev_stop(port))
            FAIL("port %u does not stop", port);
        started[port] = false;
    }
    counts.restarted++;
}

static void use_dump(void) {
    struct rte_flow_error error;
    uint16_t port = (uint16_t)draw(PORTS);
    char *text = NULL;
    size_t size = 0;
    unsigned lines = 0, wanted = 0;
    if (draw(200))
        return;
    FILE *file = open_memstream(&text, &size);
    if (!file || rte_flow_dev_dump(port, NULL, file, &error))
        FAIL("dump");
    fclose(file);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    for (unsigned i = 0; i < rule_count; i++)
        wanted += rules[i].port == port;
    if (lines != wanted)
        FAIL("a dump of %u rules; there are %u", lines, wanted);
    free(text);
    counts.dumped++;
}

// ---- Traffic

static void send_frame(uint16_t port, const uint8_t *frame, uint32_t size) {
    if (sendto(sockets[port], frame, size, 0, (const struct sockaddr *)&lanes[port], sizeof lanes[port]) !=
        (ssize_t)size)
        FAIL("lane %u takes no frame: %s", port, strerror(errno));
}

// A packet with a broken IPv4 header, which no rule matches: when it comes, all before it have gone their way.
static void send_last(uint16_t port) {
    struct expected *it = &expected[expected_count++];
    struct packet packet = {.kind = IPV4, .number = first_number + expected_count - 1};
    packet.of.protocol = IPPROTO_UDP;
    *it = (struct expected){.port = port, .host = true, .change = to_port};
    it->size = build(&packet, it->frame);
    it->frame[14] = 0x41; // a header of 4 bytes
    send_frame(port, it->frame, it->size);
}

static uint32_t number_of(const uint8_t *frame, uint32_t size) {
    uint32_t number = 0;
    if (size >= sizeof number)
        memcpy(&number, frame + size - sizeof number, sizeof number);
    return number;
}

// The packet that a frame is; its bytes must be the expected ones.
static struct expected *find(const uint8_t *frame, uint32_t size, const char *where, unsigned port) {
    uint32_t number = number_of(frame, size);
    if (number - first_number >= expected_count)
        FAIL("%s %u: a frame of %u bytes that nobody sent now", where, port, size);
    struct expected *it = &expected[number - first_number];
    if (it->size != size || memcmp(it->frame, frame, size)) {
        for (uint32_t i = 0; i < size; i++)
            printf("%02x%s", frame[i], i < it->size && it->frame[i] != frame[i] ? "!" : "");
        FAIL(" at %s %u is another than expected", where, port);
    }
    return it;
}

static unsigned read_lane(uint16_t port) {
    uint8_t frame[2048];
    ssize_t size = recv(sockets[port], frame, sizeof frame, MSG_DONTWAIT);
    if (size <= 0)
        return 0;
    if (strays[port] && number_of(frame, (uint32_t)size) < first_number) {
        strays[port]--;
        return 1;
    }
    struct expected *it = find(frame, (uint32_t)size, "lane", port);
    if (!(it->lanes >> port & 1))
        FAIL("lane %u: a packet that should not be there, or came twice", port);
    it->lanes &= (uint8_t) ~(1U << port);
    return 1;
}

static unsigned read_queue(uint16_t port, uint16_t queue) {
    struct rte_mbuf *burst[BATCH];
    uint16_t count = started[port] ? rte_eth_rx_burst(port, queue, burst, BATCH) : 0;
    for (uint16_t i = 0; i < count; i++) {
        struct expected *it = find(rte_pktmbuf_mtod(burst[i], uint8_t *), burst[i]->pkt_len, "port", port);
        uint32_t mark = burst[i]->ol_flags & RTE_MBUF_F_RX_FDIR_ID ? burst[i]->hash.fdir.hi : 0;
        if (!it->host || it->port != port || it->mark != mark)
            FAIL("port %u: a packet of port %u with mark %u; expected mark %u%s", port, it->port, mark, it->mark,
                 it->host ? "" : ", and not here");
        if (queue != queue_of(&it->change, burst[i]))
            FAIL("port %u: a packet in queue %u; expected %u", port, queue, queue_of(&it->change, burst[i]));
        it->host = false;
        rte_pktmbuf_free(burst[i]);
    }
    return count;
}

static unsigned read_port(uint16_t port) {
    unsigned count = 0;
    for (uint16_t queue = 0; queue < QUEUES; queue++)
        count += read_queue(port, queue);
    return count;
}

static unsigned missing(void) {
    unsigned count = 0;
    for (unsigned i = 0; i < expected_count; i++)
        count += expected[i].lanes || expected[i].host;
    return count;
}

static void receive_all(void) {
    time_t begin = time(NULL);
    while (missing()) {
        unsigned got = 0;
        for (uint16_t port = 0; port < PORTS; port++)
            got += read_lane(port) + read_port(port);
        if (!got && time(NULL) - begin > PATIENCE)
            FAIL("%u of %u packets did not come", missing(), expected_count);
        if (!got)
            sched_yield();
    }
}

static void use_packets(void) {
    uint8_t frame[FRAME];
    uint8_t into = 0;
    unsigned count = 1 + draw(BATCH - PORTS);
    first_number += expected_count;
    expected_count = 0;
    for (unsigned i = 0; i < count; i++) {
        struct packet packet = draw_packet();
        uint16_t port = (uint16_t)draw(PORTS);
        packet.number = first_number + expected_count;
        if (!started[port])
            continue;
        uint32_t size = build(&packet, frame);
        expect(port, packet);
        send_frame(port, frame, size);
        into |= (uint8_t)(1U << port);
        counts.packets++;
    }
    for (uint16_t port = 0; port < PORTS; port++)
        if (into >> port & 1)
            send_last(port);
    receive_all();
    for (uint16_t port = 0; port < PORTS && into; port++)
        strays[port] = started[port] ? 0 : strays[port]; // they came before these
    operation += count - 1;
}

// ---- All of it

static void progress(uint64_t all) {
    static time_t last;
    time_t now = time(NULL);
    if (now - last < 5)
        return;
    last = now;
    fprintf(stderr, "%llu of %llu operations, %u rules, %llu packets\n", (unsigned long long)operation,
            (unsigned long long)all, rule_count, (unsigned long long)counts.packets);
}

static void run(uint64_t all) {
    static void (*const often[])(void) = {use_packets, use_packets, use_query, use_flush, use_port, use_dump};
    uint32_t wanted = ternary; // rules, about: waves from none to more than there is room for
    for (; operation < all; operation++) {
        if (draw(2000) == 0)
            wanted = draw(4 * ternary);
        if (draw(2))
            often[draw(sizeof often / sizeof *often)]();
        else if (rule_count < wanted ? draw(8) != 0 : draw(8) == 0)
            use_create();
        else
            use_destroy();
        progress(all);
    }
    for (unsigned i = 0; i < rule_count; i++)
        check_counters(&rules[i], false);
}

static void open_lanes(const char *folder) {
    for (unsigned lane = 0; lane < PORTS; lane++) {
        struct sockaddr_un own = {.sun_family = AF_UNIX};
        lanes[lane] = own;
        snprintf(lanes[lane].sun_path, sizeof own.sun_path, "%s/lane%u", folder, lane);
        snprintf(own.sun_path, sizeof own.sun_path, "%s/out%u", folder, lane);
        sockets[lane] = socket(AF_UNIX, SOCK_DGRAM, 0);
        if (sockets[lane] < 0 || bind(sockets[lane], (const struct sockaddr *)&own, sizeof own))
            FAIL("%s: %s", own.sun_path, strerror(errno));
    }
}

static void operations(char **arguments) {
    state = strtoull(arguments[0], NULL, 10);
    uint64_t all = strtoull(arguments[1], NULL, 10);
    ternary = (unsigned)strtoul(arguments[2], NULL, 10);
    open_lanes(arguments[3]);
    for (uint16_t port = 0; port < PORTS; port++)
        start(port, 1500);
    run(all);
    printf("{\"operations\": %llu, \"differences\": 0", (unsigned long long)operation);
    const struct {
        const char *name;
        uint64_t count;
    } told[] = {{"created", counts.created},
                {"validated", counts.validated},
                {"destroyed", counts.destroyed},
                {"queried", counts.queried},
                {"flushed", counts.flushed},
                {"restarted", counts.restarted},
                {"dumped", counts.dumped},
                {"refused", counts.refused},
                {"full", counts.full},
                {"twice", counts.twice},
                {"gone", counts.gone},
                {"packets", counts.packets},
                {"forwarded", counts.forwarded},
                {"to_host", counts.to_host},
                {"dropped", counts.dropped},
                {"spread", counts.spread},
                {"tables_full", counts.tables_full}};
    for (unsigned i = 0; i < sizeof told / sizeof *told; i++)
        printf(", \"%s\": %llu", told[i].name, (unsigned long long)told[i].count);
    puts("}");
}

int main(int argc, char **argv) {
    int used = rte_eal_init(argc, argv);
    pool = used < 0 ? NULL : rte_pktmbuf_pool_create("pool", 2047, 32, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!pool || rte_eth_dev_count_avail() != PORTS)
        FAIL("EAL: %d, %u ports", rte_errno, rte_eth_dev_count_avail());
    if (argc - used - 1 != 4)
        FAIL("random_rules EAL-ARGUMENTS -- SEED OPERATIONS TERNARY FOLDER");
    operations(argv + used + 1);
    for (uint16_t port = 0; port < PORTS; port++)
        if ((started[port] && rte_eth_dev_stop(port)) || rte_eth_dev_close(port))
            FAIL("port %u does not close", port);
    return rte_eal_cleanup() ? 1 : 0;
}
