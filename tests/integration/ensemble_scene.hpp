#pragma once
// What the tests with several servers have in common: clients at each of them, and a queue of contenders from all.
#include "integration/fault_scene.hpp"

namespace zklock::test {

[[nodiscard]] inline bool serves(zookeeper_ensemble& ensemble, std::size_t server, std::int64_t session)
{
    const auto sessions = connected_sessions(ensemble[server].port());
    return std::find(sessions.begin(), sessions.end(), session) != sessions.end();
}

/// A client for each server, connected to that one and knowing all. Which one a client takes is its own affair, so
/// several are made.
inline awaitable<std::vector<client>> one_client_per_server(zookeeper_ensemble& ensemble, milliseconds session_timeout)
{
    const auto executor = co_await asio::this_coro::executor;
    std::vector<std::optional<client>> placed(ensemble.size());
    for (int attempt = 0; attempt < 100; ++attempt) {
        client candidate(executor, fault_options(ensemble.address(), session_timeout));
        must(co_await candidate.wait_connected(60s));
        for (std::size_t i = 0; i < placed.size(); ++i)
            if (!placed[i] && serves(ensemble, i, candidate.session_id()))
                placed[i] = candidate;
        if (std::all_of(placed.begin(), placed.end(), [](const auto& one) { return one.has_value(); }))
            break;
    }
    std::vector<client> clients;
    for (auto& one : placed) {
        REQUIRE(one);
        clients.push_back(*one);
    }
    co_return clients;
}

inline awaitable<void> nothing_left_anywhere(zookeeper_ensemble& ensemble)
{
    for (std::size_t i = 0; i < ensemble.size(); ++i)
        co_await nothing_left(ensemble[i].port());
}

/// A client at each server: a holder, two waiters behind it in each of the other clients, and one in its own.
struct crowd {
    std::vector<client> clients;
    std::vector<std::int64_t> sessions;
    std::string path;
    std::vector<pending<guard>> grants; ///< in the order in which they queued
    std::vector<std::string> nodes;
    pending<> lost; ///< of the first
};

inline awaitable<void> gather(zookeeper_ensemble& ensemble, crowd& all, std::size_t holder_at)
{
    static int count = 0;
    all.path = "/ensemble/" + std::to_string(count++);
    all.clients = co_await one_client_per_server(ensemble, 40s);
    for (const client& one : all.clients)
        all.sessions.push_back(one.session_id());
    admin_client admin(ensemble[holder_at].port());
    const std::size_t servers = ensemble.size();
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < servers; ++i)
        order.push_back((holder_at + i) % servers);
    for (std::size_t i = 0; i < servers; ++i)
        order.push_back(order[i]);
    std::swap(order[servers], order[servers + 1]); // another one than the holder's is the first
    for (const std::size_t who : order) {
        all.grants.push_back(begin_acquire(mutex(all.clients[who], all.path)));
        co_await until("it has a node", [&] { return queue_of(admin, all.path).size() == all.grants.size(); });
    }
    REQUIRE(!co_await all.grants[0].end());
    all.nodes = queue_of(admin, all.path);
    all.lost = begin_wait_lost(all.grants[0].value());
}

[[nodiscard]] inline bool all_connected(const crowd& all)
{
    return std::all_of(all.clients.begin(), all.clients.end(),
                       [](const client& one) { return one.state() == connection_state::connected; });
}

/// Sessions of 40 s outlive all that happens here.
inline void check_all_kept(crowd& all)
{
    CHECK(all.grants[0].value());
    CHECK_FALSE(all.lost.ended());
    for (std::size_t i = 0; i < all.clients.size(); ++i)
        CHECK(all.clients[i].session_id() == all.sessions[i]);
}

/// What became of the holder, and then the turns of all the others, in their order.
inline awaitable<void> disperse(crowd& all)
{
    co_await until("all are connected again", [&all] { return all_connected(all); });
    check_all_kept(all);
    std::int64_t last_token = 0;
    for (std::size_t i = 0; i < all.grants.size(); ++i) {
        const auto error = co_await all.grants[i].end();
        REQUIRE(!error);
        guard& held = all.grants[i].value();
        CHECK(held.node() == all.path + "/" + all.nodes[i]);
        CHECK(held.fencing_token() > last_token);
        last_token = held.fencing_token();
        for (std::size_t later = i + 1; later < all.grants.size(); ++later)
            CHECK_FALSE(all.grants[later].ended());
        auto releasing = begin_release(held);
        CHECK(!co_await releasing.end());
    }
    CHECK(co_await all.lost.end() == asio::error::operation_aborted);
}

inline awaitable<void> close_all(crowd& all)
{
    for (client& one : all.clients)
        must(co_await one.close());
}

} // namespace zklock::test
