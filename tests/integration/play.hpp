#pragma once
// The frame of most tests with real servers: who plays, and what has to be left behind.
#include "integration/fault_scene.hpp"
#include "support/undisturbed.hpp"

#include <deque>

namespace zklock::test {

struct play_options {
    std::vector<milliseconds> sessions = {}; ///< time-outs, a client's each; whoever is not named has a long_session
    std::vector<std::string> clean = {};     ///< paths that may have no child at the end
};

/// Plays a story with so many connected clients of the program's server, each behind a proxy of its own if the story
/// takes a remote_client, and with an administrator if it takes one, and last with the executor. When the story has
/// ended, no contender may be left while the clients live; then they are closed, but for those that the story has
/// closed itself, and nothing may be left at all. A story of no clients makes and closes its own.
///
///     play<2>({.clean = {path}}, [&](admin_client& admin, remote_client& a, remote_client& b) -> awaitable<void> {
///         …
///     });
///     play<1>([&](client& zk) -> awaitable<void> { … });
///     play<0>([&](const any_io_executor& executor) -> awaitable<void> { … });
template <std::size_t Clients, class Story>
void play(const play_options& o, Story story, std::source_location where = std::source_location::current());

template <std::size_t Clients, class Story>
void play(Story story, std::source_location where = std::source_location::current())
{
    play<Clients>(play_options(), std::move(story), where);
}

/// Plays a story in which it matters what happens first: it begins anew if its process stood still for longer
/// than `tolerable`, and says to its first parameter, a timed_scene, what was not in time.
template <std::size_t Clients, class Story>
void play_timed(milliseconds tolerable, const play_options& o, Story story,
                std::source_location where = std::source_location::current());

// --- how -----------------------------------------------------------------------------------------------------------

namespace detail {

template <class Client, std::size_t> using nth = Client&;
/// Whether the story is about such clients, behind what it begins with.
template <class Story, class Client, class... First, std::size_t... I>
constexpr bool is_about(std::index_sequence<I...>)
{
    return std::invocable<Story&, First&..., nth<Client, I>...> ||
           std::invocable<Story&, First&..., nth<Client, I>..., const any_io_executor&>;
}

inline client& handle(client& zk)
{
    return zk;
}
inline client& handle(remote_client& remote)
{
    return remote.zk;
}

template <std::size_t Clients, class Story, class... First>
awaitable<void> play_with(const play_options& o, Story& story, First&... first)
{
    constexpr std::make_index_sequence<Clients> all;
    constexpr bool remote = is_about<Story, remote_client, First...>(all);
    constexpr bool remote_and_admin = is_about<Story, remote_client, First..., admin_client>(all);
    constexpr bool administered = remote_and_admin || is_about<Story, client, First..., admin_client>(all);
    const any_io_executor executor = co_await asio::this_coro::executor;
    std::deque<std::conditional_t<remote || remote_and_admin, remote_client, client>> clients;
    for (std::size_t i = 0; i < Clients; ++i) {
        const milliseconds session = i < o.sessions.size() ? o.sessions[i] : long_session;
        if constexpr (remote || remote_and_admin)
            clients.emplace_back(executor, server().port(), session);
        else
            clients.emplace_back(executor, fault_options(server().address(), session));
    }
    for (auto& each : clients) {
        const result<void> connected = co_await handle(each).wait_connected(default_limit);
        REQUIRE(!connected.has_error());
    }
    std::optional<admin_client> admin;
    if constexpr (administered)
        admin.emplace(server().port());
    const auto tell = [&]<std::size_t... I>(std::index_sequence<I...>, auto&... before) {
        if constexpr (std::invocable<Story&, decltype(before)..., decltype(clients[I])..., const any_io_executor&>)
            return story(before..., clients[I]..., executor);
        else
            return story(before..., clients[I]...);
    };
    const auto begin = [&] {
        if constexpr (administered)
            return tell(all, first..., *admin);
        else
            return tell(all, first...);
    };
    awaitable<void> told = begin();
    co_await std::move(told);
    co_await nothing_left(server().port());
    for (auto& each : clients) {
        if (handle(each).state() == connection_state::closed)
            continue;
        const result<void> closed = co_await handle(each).close();
        CHECK(!closed.has_error());
    }
}

} // namespace detail

template <std::size_t Clients, class Story> void play(const play_options& o, Story story, std::source_location where)
{
    const auto body = [&] { return detail::play_with<Clients>(o, story); };
    run_test(test_limit, body, where);
    expect_clean(server(), o.clean);
}

template <std::size_t Clients, class Story>
void play_timed(milliseconds tolerable, const play_options& o, Story story, std::source_location where)
{
    const auto wrong = play_undisturbed(tolerable, [&](timed_scene& noted) {
        const auto body = [&] { return detail::play_with<Clients>(o, story, noted); };
        run_test(test_limit, body, where);
    });
    CHECK(wrong == "");
    expect_clean(server(), o.clean);
}

} // namespace zklock::test
