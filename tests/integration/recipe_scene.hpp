#pragma once
// What the tests of the recipes have in common: operations with a handler in the background, and requests that are
// counted.
#include "integration/lock_scene.hpp"

namespace zklock::test {

inline constexpr std::array cancellation_types{asio::cancellation_type::terminal, asio::cancellation_type::partial,
                                               asio::cancellation_type::total};
/// A connection is lost with a request that does not get there, or with the answer to one that does.
inline constexpr moment lost_at[] = {moment::request, moment::reply};

/// All since the last look, but for heartbeats, and the looks that whoever holds for long takes at its own node.
[[nodiscard]] inline std::size_t requests(const proxy& link)
{
    return link.count(opcode::any) - link.count(opcode::get_data) - link.count(opcode::sync);
}

/// Creates that were asked for since the last look, alone or in batches.
[[nodiscard]] inline std::size_t creates(const proxy& link)
{
    std::size_t all = 0;
    for (const opcode op : {opcode::create, opcode::create2})
        all += link.count(op) + link.count_in_multis(op);
    return all;
}
[[nodiscard]] inline std::size_t removes(const proxy& link)
{
    return link.count(opcode::remove) + link.count_in_multis(opcode::remove);
}

/// Until there were so many of them since the last look. (proxy::wait_for_request() would hold up whoever is to send.)
inline awaitable<void> until_asked(const proxy& link, opcode op, std::size_t count = 1)
{
    co_await until("the request is on its way", [&link, op, count] { return link.count(op) >= count; });
}
/// Until every rule has struck, likewise.
inline awaitable<void> until_struck(const proxy& link)
{
    co_await until("every rule has struck", [&link] { return link.struck(); });
}

/// A session's first contender brings a heartbeat along, for there is no lease yet. This one takes it.
inline awaitable<void> warm_up(remote_client& remote, std::string path)
{
    co_await remote.connect();
    co_await take_turn(mutex(remote.zk, std::move(path)));
    remote.link.forget();
}

/// What Curator writes on a holder's node to ask it to let go.
inline const std::string revoke_request = "__REVOKE__";

/// Begins to wait until the holder is asked to let go.
template <class Held> pending<> begin_wait_revoked(const Held& held)
{
    pending<> p;
    held.wait_revoked(p.handler());
    return p;
}

/// What waits for something to become of a holder ends without it: for nobody's guard at once, when it is cancelled,
/// when the holder releases, and when its guard goes away.
template <class Lock, class BeginWait> awaitable<void> waits_end(Lock lock, BeginWait begin_wait)
{
    auto held = must(co_await lock.acquire());
    const decltype(held) nobodys;
    auto of_nobody = begin_wait(nobodys);
    CHECK(co_await of_nobody.end() == errc::not_owner);
    auto until_released = begin_wait(held);
    for (const auto type : cancellation_types) {
        auto cancelled = begin_wait(held);
        cancelled.cancel(type);
        CHECK(co_await cancelled.end() == asio::error::operation_aborted);
    }
    CHECK_FALSE(until_released.ended());
    CHECK(held);
    co_await release(held);
    CHECK(co_await until_released.end() == asio::error::operation_aborted);

    held = must(co_await lock.acquire());
    auto until_dropped = begin_wait(held);
    held = decltype(held)();
    CHECK(co_await until_dropped.end() == asio::error::operation_aborted);
}

/// A register that holders of the lock write, and nobody else.
struct protected_register {
    protected_register(admin_client& admin, std::string path) : admin(admin), path(std::move(path))
    {
        this->admin.create_all(this->path);
    }
    [[nodiscard]] std::string value()
    {
        admin.sync(path);
        return admin.get(path);
    }
    [[nodiscard]] transaction write(std::string data) const
    {
        transaction t;
        t.set(path, std::move(data));
        return t;
    }

    admin_client& admin;
    std::string path;
};

template <class Held> [[nodiscard]] pending<commit_result> begin_commit(const Held& held, transaction what)
{
    pending<commit_result> p;
    held.commit(std::move(what), p.handler());
    return p;
}

} // namespace zklock::test
