// sanitizers: address
// program: bridge_replaced
// replaces: zoo_acreate2 zoo_adelete zookeeper_interest zookeeper_close
// A send that fails: the C client closes its socket silently and keeps what was on its way, to which no answer can come
// any more. The session goes on, in the same handle or in a new one, and keeps its locks and places.
#include "integration/cut_scene.hpp"
#include "support/no_free_descriptors.hpp"
#include "support/own_sockets.hpp"
#include "support/replaced_c_client.hpp"

#include <sys/time.h>

using namespace zklock::test;

namespace {

/// What becomes of the attempt to connect by which the C client is to clear its queues.
enum class attempt { is_refused, gets_no_socket, clears_nothing };

/// What the C client is made to do. Clients and test share a thread.
struct failing_sends {
    attempt then = attempt::is_refused;
    std::uint16_t next_to = 0; ///< the next create or delete cannot be sent, to that port
    bool attempt_follows = false;
    int handles_closed = 0;
} sends;

/// Before a create or a delete is sent: in the same turn, so that nobody sees the socket's end earlier than the send.
void break_connection()
{
    const std::uint16_t port = std::exchange(sends.next_to, 0);
    if (port == 0)
        return;
    for (const int fd : sockets_to(port))
        ::shutdown(fd, SHUT_WR);
    sends.attempt_follows = true;
}

} // namespace

// Called by the bridge.
extern "C" {
int create_or_fail(void* handle, const char* path, const char* data, int size, const void* access, int mode,
                   void (*done)(), const void* context) ZKLOCK_REPLACES(zoo_acreate2);
int real_create(void* handle, const char* path, const char* data, int size, const void* access, int mode,
                void (*done)(), const void* context) ZKLOCK_REPLACED(zoo_acreate2);
int delete_or_fail(void* handle, const char* path, int version, void (*done)(), const void* context)
    ZKLOCK_REPLACES(zoo_adelete);
int real_delete(void* handle, const char* path, int version, void (*done)(), const void* context)
    ZKLOCK_REPLACED(zoo_adelete);
int interest_or_none(void* handle, int* fd, int* interest, timeval* within) ZKLOCK_REPLACES(zookeeper_interest);
int real_interest(void* handle, int* fd, int* interest, timeval* within) ZKLOCK_REPLACED(zookeeper_interest);
int counted_close(void* handle) ZKLOCK_REPLACES(zookeeper_close);
int real_close(void* handle) ZKLOCK_REPLACED(zookeeper_close);

int create_or_fail(void* handle, const char* path, const char* data, int size, const void* access, int mode,
                   void (*done)(), const void* context)
{
    break_connection();
    return real_create(handle, path, data, size, access, mode, done, context);
}

int delete_or_fail(void* handle, const char* path, int version, void (*done)(), const void* context)
{
    break_connection();
    return real_delete(handle, path, version, done, context);
}

int interest_or_none(void* handle, int* fd, int* interest, timeval* within)
{
    constexpr int system_error = -1;
    const bool follows = std::exchange(sends.attempt_follows, false);
    if (follows && sends.then == attempt::clears_nothing)
        return system_error;
    std::optional<no_free_descriptors> none;
    if (follows && sends.then == attempt::gets_no_socket)
        none.emplace();
    return real_interest(handle, fd, interest, within);
}

int counted_close(void* handle)
{
    ++sends.handles_closed;
    return real_close(handle);
}
}

namespace {

/// With what the last connection began.
opcode first_request(const proxy& link)
{
    opcode first = opcode::connect;
    for (const seen_request& each : link.history())
        if (each.op == opcode::connect || first == opcode::connect)
            first = each.op;
    return first;
}

/// A holder, and one who waits for it. Each has a request that cannot be sent; so has the release.
void fail_sends(attempt then)
{
    sends = {.then = then};
    const bool in_new_handle = then == attempt::clears_nothing;
    const int closed = in_new_handle ? 1 : 0;
    const auto story = [&](admin_client& admin, remote_client& a, remote_client& b) -> awaitable<void> {
        co_await connect_and_warm_up(a);
        co_await connect_and_warm_up(b);
        const std::int64_t session_a = a.zk.session_id(), session_b = b.zk.session_id();
        const std::string path = new_path(admin), unanswered = new_path(admin), unsent = new_path(admin),
                          of_waiter = new_path(admin);
        critical_section section;
        auto held = begin_acquire(mutex(a.zk, path));
        REQUIRE(!co_await held.end());
        section.enter(held.value());
        auto lost = begin_wait_lost(held.value());
        auto waiting = co_await queued(admin, path, 2, begin_acquire(mutex(b.zk, path)));
        const std::vector<std::string> order = queue_of(admin, path);

        // The server does the first create, and its answer never comes.
        a.link.on_next(opcode::create2, moment::reply, fate::hold);
        auto first = begin_acquire(mutex(a.zk, unanswered));
        co_await until("the answer is held back", [&a] { return a.link.struck(); });
        sends.next_to = a.link.port();
        auto second = begin_acquire(mutex(a.zk, unsent));
        REQUIRE(!co_await first.end());
        REQUIRE(!co_await second.end());
        CHECK(sends.handles_closed == closed);
        CHECK((first_request(a.link) == opcode::multi) == in_new_handle);
        CHECK(held.value());
        CHECK_FALSE(waiting.ended());

        sends.next_to = b.link.port();
        auto third = begin_acquire(mutex(b.zk, of_waiter));
        REQUIRE(!co_await third.end());
        CHECK(sends.handles_closed == 2 * closed);
        CHECK((first_request(b.link) == opcode::multi) == in_new_handle);
        CHECK(queue_of(admin, path) == order);
        CHECK_FALSE(waiting.ended());

        section.leave();
        sends.next_to = a.link.port();
        co_await release_well(held);
        CHECK(sends.handles_closed == 3 * closed);
        CHECK((first_request(a.link) == opcode::multi) == in_new_handle);
        REQUIRE(!co_await waiting.end());
        section.enter(waiting.value());
        CHECK(waiting.value().node() == path + "/" + order[1]);
        CHECK(co_await lost.end() == asio::error::operation_aborted);
        section.leave();
        for (auto* const each : {&waiting, &first, &second, &third})
            co_await release_well(*each);

        CHECK(a.link.accepted() == 3);
        CHECK(b.link.accepted() == 2);
        CHECK(a.zk.session_id() == session_a);
        CHECK(b.zk.session_id() == session_b);
        co_await nothing_left(server().port());
        CHECK(creates_under(admin, path) == 2);
        for (const std::string* const each : {&unanswered, &unsent, &of_waiter})
            CHECK(creates_under(admin, *each) == 1);
    };
    play<2>(story);
}

} // namespace

TEST_CASE("a send that fails, of a holder, of a waiter and in a release: the session goes on in the same handle")
{
    for (const attempt then : {attempt::is_refused, attempt::gets_no_socket}) {
        CAPTURE(static_cast<int>(then));
        fail_sends(then);
    }
}

// The C client clears its queues whatever an attempt fails by, as the case before shows. Were there one that does not,
// its handle would be given up, and with it what it has seen: so nobody is told of the next connection before the
// server there has caught up.
TEST_CASE("so it does in a new handle, where the C client keeps the requests: first its server catches up")
{
    fail_sends(attempt::clears_nothing);
}
