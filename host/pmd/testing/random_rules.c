// SPDX-License-Identifier: Apache-2.0
// Random operations on the driver against a model: rules are made, validated, queried, destroyed and flushed on the
// ports of one device, ports are configured, set up, started, stopped, spread, filtered, detached and attached
// (random_ports.h), and packets go in between: what leaves lanes and comes to the host must be what the rules say that
// were accepted (random_model.h), byte for byte (random_traffic.h), and their counters, too.
// `random_rules EAL-ARGUMENTS -- SEED OPERATIONS SEQUENCES TERNARY FOLDER`: that many operations, most of them on
// rules; or that many sequences of calls, most of them on ports. TERNARY is the size of the device's TCAM, and lanes 0
// to 2 are the Unix sockets FOLDER/lane0 to 2. Prints what it did as JSON; at the first difference says what and ends
// with 1.
#include <errno.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_mbuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "random_traffic.h"

enum { COUNTER_TRIES = 5000, COUNTER_MICROSECONDS = 1000 };

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
    rule.change = draw_change(&rule.match, ports[rule.port].queues);
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

// Why a rule's queues are refused: as an action that means nothing, or that cannot be.
static int queue_error(const struct rule *rule) {
    const struct port *port = &ports[rule->port];
    for (unsigned i = 0; i < rule->change.queue_count; i++)
        if (rule->change.queues[i] >= RTE_MAX(port->queues, 1))
            return RTE_FLOW_ERROR_TYPE_ACTION_CONF;
    bool is_hashed = port->hashes && port->types;
    return has_table(&rule->change) && !is_hashed ? RTE_FLOW_ERROR_TYPE_ACTION : RTE_FLOW_ERROR_TYPE_NONE;
}

static void use_create(void) {
    struct rule rule = draw_rule();
    uint16_t ids[PORTS], id = ports[rule.port].id;
    struct rte_flow_attr attributes = {.priority = rule.priority};
    struct rte_flow_error error = {.type = RTE_FLOW_ERROR_TYPE_NONE};
    struct items items;
    struct actions actions;
    make_items(&items, &rule.match);
    for (uint16_t port = 0; port < PORTS; port++)
        ids[port] = ports[port].id;
    make_actions(&actions, &rule.change, ids);
    attributes.ingress = rule.change.to_host;
    attributes.transfer = !rule.change.to_host;
    int wrong = spoil(&attributes, &items, &actions);
    int queue_wrong = queue_error(&rule);
    counts.without_queue += queue_wrong != RTE_FLOW_ERROR_TYPE_NONE;
    if (wrong == RTE_FLOW_ERROR_TYPE_NONE || wrong == RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY) // which is looked at last
        wrong = queue_wrong ? queue_wrong : wrong;
    int valid = draw(4) ? 1 : rte_flow_validate(id, &attributes, items.list, actions.list, &error);
    counts.validated += valid <= 0;
    if (valid < 0)
        check_refusal(&rule, wrong, -valid, &error);
    rule.handle = rte_flow_create(id, &attributes, items.list, actions.list, &error);
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
        if (rte_flow_create(id, &attributes, items.list, actions.list, &error) || rte_errno != EEXIST)
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
    uint16_t port = ports[draw(PORTS)].id;
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
    if (rte_flow_destroy(ports[rules[i].port].id, rules[i].handle, &error))
        FAIL("destroy: %s", error.message);
    drop_rule(i);
    counts.destroyed++;
}

static struct rte_flow_query_count query(const struct rule *rule, bool reset) {
    const struct rte_flow_action count[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT}, {.type = RTE_FLOW_ACTION_TYPE_END}};
    struct rte_flow_query_count got = {.reset = reset};
    struct rte_flow_error error;
    if (rte_flow_query(ports[rule->port].id, rule->handle, count, &got, &error))
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

static void drop_rules(uint16_t port) {
    for (unsigned i = rule_count; i-- > 0;)
        if (rules[i].port == port)
            drop_rule(i);
}

static void use_flush(void) {
    struct rte_flow_error error;
    uint16_t port = (uint16_t)draw(PORTS);
    if (draw(50)) // or there would never be many
        return;
    if (rte_flow_flush(ports[port].id, &error))
        FAIL("flush: %s", error.message);
    drop_rules(port);
    counts.flushed++;
}

// A port has left, and with it its rules. The vdev of the device takes all with it unless another port is started.
static bool leave(uint16_t port) {
    bool is_last = port == 0;
    for (uint16_t other = 1; other < PORTS; other++)
        is_last &= !ports[other].started;
    detach(port);
    for (uint16_t other = 0; other < PORTS; other++)
        if (other == port || is_last) {
            drop_rules(other);
            ports[other] = (struct port){0};
        }
    stale = NULL;
    return is_last;
}

// The device is gone: what it still sent to a lane that was off before lies in the socket.
static void drop_strays(uint16_t port) {
    uint8_t frame[2048];
    for (; recv(sockets[port], frame, sizeof frame, MSG_DONTWAIT) > 0; strays[port]--)
        if (!strays[port])
            FAIL("lane %u: a frame of a device that is gone, which nobody sent", port);
    strays[port] = 0;
}

// Some ports leave in any order, and come again in any order: with the device, where it went.
static void use_replug(void) {
    uint16_t order[PORTS], count = (uint16_t)(1 + draw(PORTS)), left = 0;
    bool is_gone = false;
    for (uint16_t port = 0; port < PORTS; port++)
        order[port] = port;
    shuffle(order, PORTS);
    while (left < count && !is_gone)
        is_gone = leave(order[left++]) || left == PORTS;
    shuffle(order, left);
    for (uint16_t port = 0; port < PORTS && is_gone; port++)
        drop_strays(port);
    if (is_gone) {
        memset(rings, 0, sizeof rings);
        attach(0);
    }
    for (uint16_t i = 0; i < left && !is_gone; i++)
        attach(order[i]);
    for (uint16_t i = 0; i < (is_gone ? PORTS : left); i++)
        find_port(is_gone ? i : order[i]);
    counts.replugged++;
}

static void use_port(void) {
    if (draw(20))
        return;
    if (draw(40) == 0)
        use_replug();
    else
        use_call((uint16_t)draw(PORTS));
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
    if (!file || rte_flow_dev_dump(ports[port].id, NULL, file, &error))
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

// ---- All of it

static void progress(uint64_t all) {
    static time_t last;
    time_t now = time(NULL);
    if (now - last < 5)
        return;
    last = now;
    fprintf(stderr, "%llu of %llu operations, %llu sequences, %u rules, %llu packets\n", (unsigned long long)operation,
            (unsigned long long)all, (unsigned long long)counts.sequences, rule_count,
            (unsigned long long)counts.packets);
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

// Calls on ports and rules and packets, as many of each; at the end the counters of some rules.
static void run_sequence(void) {
    static void (*const any[])(void) = {use_create, use_create, use_destroy, use_query, use_packets, use_packets};
    for (uint16_t port = 0; port < PORTS; port++)
        if (draw(4) && !is_receiving(port))
            bring_up(&ports[port], (uint16_t)(1 + draw(QUEUES)), draw(4), draw_mtu());
    for (uint32_t left = 8 + draw(24); left > 0; left--, operation++)
        if (draw(200) == 0)
            use_replug();
        else if (draw(2))
            use_call((uint16_t)draw(PORTS));
        else
            any[draw(RTE_DIM(any))]();
    use_flush();
    use_packets();
    for (unsigned i = 0; i < 3; i++)
        use_query();
    counts.sequences++;
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
    uint64_t all = strtoull(arguments[1], NULL, 10), sequences = strtoull(arguments[2], NULL, 10);
    ternary = (unsigned)strtoul(arguments[3], NULL, 10);
    open_lanes(arguments[4]);
    for (uint16_t port = 0; port < PORTS; port++) {
        find_port(port);
        bring_up(&ports[port], QUEUES, true, OWN_MTU);
    }
    run(all);
    while (counts.sequences < sequences) {
        run_sequence();
        progress(all);
    }
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
                {"filtered", counts.filtered},
                {"without_queue", counts.without_queue},
                {"replugged", counts.replugged},
                {"sequences", counts.sequences},
                {"spread", counts.spread},
                {"tables_full", counts.tables_full}};
    for (unsigned i = 0; i < sizeof told / sizeof *told; i++)
        printf(", \"%s\": %llu", told[i].name, (unsigned long long)told[i].count);
    puts("}");
}

// What the device is made of: behind its name.
static const char *find_arguments(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i - 1], "--vdev"))
            return strdup(strchr(argv[i], ',') + 1);
    return NULL;
}

int main(int argc, char **argv) {
    device_arguments = find_arguments(argc, argv);
    int used = rte_eal_init(argc, argv);
    pool = used < 0 ? NULL : rte_pktmbuf_pool_create("pool", 2047, 32, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!pool || rte_eth_dev_count_avail() != PORTS)
        FAIL("EAL: %d, %u ports", rte_errno, rte_eth_dev_count_avail());
    if (argc - used - 1 != 5 || !device_arguments)
        FAIL("random_rules EAL-ARGUMENTS -- SEED OPERATIONS SEQUENCES TERNARY FOLDER");
    operations(argv + used + 1);
    for (uint16_t port = 0; port < PORTS; port++)
        if ((ports[port].started && rte_eth_dev_stop(ports[port].id)) || rte_eth_dev_close(ports[port].id))
            FAIL("port %u does not close", port);
    return rte_eal_cleanup() ? 1 : 0;
}
