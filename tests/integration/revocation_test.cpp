// sanitizers: address
// program: recipes
// Asking the holder of a lock to let go, as Curator's programs do it and as ours do.
#include "integration/recipe_scene.hpp"

using namespace zklock::test;

namespace {

const std::string elsewhere = "/revocation/elsewhere";

awaitable<void> until_read(const remote_client& remote, std::size_t times)
{
    co_await until("the own node is read again", [&] { return remote.link.count(opcode::get_data) == times; });
}

} // namespace

TEST_CASE("a holder is asked by data on its node; before the wait, too; other data ask nothing")
{
    const std::string path = "/revocation/asked";
    play<1>({.sessions = {120s}, .clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        co_await warm_up(remote, path);
        mutex lock(remote.zk, path);

        guard held = must(co_await lock.acquire());
        remote.link.forget();
        auto wait = begin_wait_revoked(held);
        co_await until_watched(remote.zk, held.node());
        CHECK(remote.link.count(opcode::get_data) == 1);
        CHECK(remote.link.count(opcode::any) == 1);
        auto second = begin_wait_revoked(held); // costs nothing more
        admin.set(held.node(), "host:1\nnote=1");
        co_await until_read(remote, 2);
        co_await until_watched(remote.zk, held.node());
        admin.set(held.node(), revoke_request + "\n");
        co_await until_read(remote, 3);
        co_await until_watched(remote.zk, held.node());
        CHECK_FALSE(wait.ended());
        admin.set(held.node(), revoke_request);
        CHECK(!co_await wait.end());
        CHECK(!co_await second.end());
        CHECK(held);                        // asked, not forced
        must(co_await held.wait_revoked()); // and it stays
        auto lost = begin_wait_lost(held);
        co_await release(std::move(held));
        CHECK(co_await lost.end() == asio::error::operation_aborted);

        held = must(co_await lock.acquire());
        admin.set(held.node(), revoke_request);
        must(co_await held.wait_revoked());
        co_await release(std::move(held));

        // Nor does the next one inherit it.
        held = must(co_await lock.acquire());
        auto idle = begin_wait_revoked(held);
        co_await until_watched(remote.zk, held.node());
        co_await release(std::move(held));
        CHECK(co_await idle.end() == asio::error::operation_aborted);
    });
}

TEST_CASE("wait_revoked: cancelled, released, dropped, lost, of nobody")
{
    const std::string path = "/revocation/ends";
    play<1>({.clean = {path}}, [&](remote_client& remote) -> awaitable<void> {
        mutex lock(remote.zk, path);
        co_await waits_end(lock, begin_wait_revoked<guard>);

        guard held = must(co_await lock.acquire());
        auto until_lost = begin_wait_revoked(held);
        remote.link.expire_session();
        CHECK(co_await until_lost.end() == errc::lost);
        CHECK(error_in(co_await held.wait_revoked()) == errc::lost);
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);

        held = must(co_await lock.acquire());
        auto until_closed = begin_wait_revoked(held);
        co_await remote.close();
        CHECK(co_await until_closed.end() == errc::lost);
        CHECK(error_in(co_await held.wait_revoked()) == errc::lost);
    });
}

TEST_CASE("asking: a contender with one request, the holder with two; "
          "who is gone; who waits; what is no node of the lock")
{
    const std::string path = "/revocation/asking";
    const auto story = [&](admin_client& admin, remote_client& holder, remote_client& other) -> awaitable<void> {
        co_await warm_up(holder, path);
        co_await warm_up(other, elsewhere);
        mutex theirs(holder.zk, path), ours(other.zk, path);
        CHECK(must(co_await ours.revoke_holders()) == 0);

        guard held = must(co_await theirs.acquire());
        auto waits = co_await queued(admin, path, 2, begin_acquire(ours));
        co_await until_watched(other.zk, held.node());
        auto asked = begin_wait_revoked(held);
        other.link.forget();
        CHECK(must(co_await ours.revoke_holders()) == 1);
        CHECK(other.link.count(opcode::get_children2) + other.link.count(opcode::get_children) == 1);
        CHECK(other.link.count(opcode::set_data) == 1);
        CHECK(!co_await asked.end());

        std::vector<contender> queue = must(co_await ours.contenders());
        REQUIRE(queue.size() == 2);
        CHECK(queue[0].revoked);
        CHECK(queue[0].identifier.empty());
        CHECK_FALSE(queue[1].revoked);
        CHECK_FALSE(queue[1].identifier.empty());

        // The waiter, by the holder: it hears of it once it holds. And a client may ask itself.
        holder.link.forget();
        must(co_await theirs.revoke(queue[1]));
        CHECK(holder.link.count(opcode::set_data) == 1);
        CHECK(holder.link.count(opcode::any) == 1);
        co_await release(std::move(held));
        guard next = co_await granted(waits);
        must(co_await next.wait_revoked());
        co_await release(std::move(next));
        must(co_await ours.revoke(queue[1])); // gone
        next = must(co_await ours.acquire());
        auto by_itself = begin_wait_revoked(next);
        CHECK(must(co_await ours.revoke_holders()) == 1);
        CHECK(!co_await by_itself.end());

        contender elsewhere_node = queue[0];
        elsewhere_node.node = "/elsewhere/" + elsewhere_node.node.substr(path.size() + 1);
        CHECK(error_in(co_await ours.revoke(elsewhere_node)) == errc::invalid_path);
        elsewhere_node.node = path;
        CHECK(error_in(co_await ours.revoke(elsewhere_node)) == errc::invalid_path);
        elsewhere_node.node.clear();
        CHECK(error_in(co_await ours.revoke(elsewhere_node)) == errc::invalid_path);
        mutex wrong(other.zk, "revocation");
        CHECK(error_in(co_await wrong.revoke_holders()) == errc::invalid_path);

        // Of a node that may not be written.
        const std::vector<access_rule> read_only(1, access_rule{1, "world", "anyone"});
        admin.set_access(next.node(), read_only);
        CHECK(error_in(co_await theirs.revoke_holders()) == errc::access_denied);
        co_await release(std::move(next));
        co_await nothing_left(server().port());
        co_await holder.close();
        co_await other.close();
        CHECK(error_in(co_await ours.revoke(queue[1])) == errc::closed);
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path}}, story);
}

TEST_CASE("asked while the connection is away: heard at the next one; asking waits for it, or is cancelled")
{
    const std::string path = "/revocation/away";
    play<1>({.sessions = {60s}, .clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        mutex lock(remote.zk, path);
        guard held = must(co_await lock.acquire());
        auto wait = begin_wait_revoked(held);
        co_await until_watched(remote.zk, held.node());
        co_await remote.cut_off();
        admin.set(held.node(), revoke_request);
        pending<> late;
        held.wait_revoked(late.handler());
        pending<std::size_t> asks;
        lock.revoke_holders(asks.handler());
        pending<std::size_t> gives_up;
        lock.revoke_holders(gives_up.handler());
        gives_up.cancel();
        CHECK(co_await gives_up.end() == asio::error::operation_aborted);
        CHECK_FALSE(wait.ended());
        CHECK_FALSE(asks.ended());
        remote.link.accept();
        CHECK(!co_await wait.end());
        CHECK(!co_await late.end());
        CHECK(!co_await asks.end());
        CHECK(asks.value() == 1);
        CHECK(held);
        co_await release(std::move(held));

        // The answer to the request is lost: it is asked again, and told once.
        held = must(co_await lock.acquire());
        remote.link.on_next(opcode::set_data, moment::reply, fate::cut);
        CHECK(must(co_await lock.revoke_holders()) == 1);
        remote.link.wait_struck();
        must(co_await held.wait_revoked());
        co_await release(std::move(held));
    });
}

TEST_CASE("re-entrant holds, several locks, and a leader are asked")
{
    const std::string path = "/revocation/recipes";
    const auto story = [&](remote_client& remote) -> awaitable<void> {
        const lock_owner me;
        reentrant_mutex again(remote.zk, path + "/a");
        guard outer = must(co_await again.owned_by(me).acquire());
        guard inner = must(co_await again.owned_by(me).acquire());
        auto wait_outer = begin_wait_revoked(outer);
        auto wait_inner = begin_wait_revoked(inner);
        CHECK(must(co_await again.revoke_holders()) == 1);
        CHECK(!co_await wait_outer.end());
        CHECK(!co_await wait_inner.end());
        guard late = must(co_await again.owned_by(me).acquire());
        must(co_await late.wait_revoked());
        co_await release(late, outer);
        CHECK(inner);
        std::vector<contender> queue = must(co_await again.contenders());
        must(co_await again.revoke(queue.at(0)));
        co_await release(std::move(inner));
        outer = must(co_await again.owned_by(me).acquire()); // a new node: nobody has asked for it
        auto fresh = begin_wait_revoked(outer);
        co_await until_watched(remote.zk, outer.node());
        CHECK_FALSE(fresh.ended());
        co_await release(std::move(outer));
        CHECK(co_await fresh.end() == asio::error::operation_aborted);

        mutex a(remote.zk, path + "/a"), b(remote.zk, path + "/b");
        multi_lock both(a, b);
        multi_guard held = must(co_await both.acquire());
        auto one_of_them = begin_wait_revoked(held);
        CHECK(must(co_await b.revoke_holders()) == 1);
        CHECK(!co_await one_of_them.end());
        CHECK(held);
        must(co_await std::move(held).release());

        election chair(remote.zk, path + "/c");
        int terms = 0;
        const auto reign = [&](leadership& term) -> awaitable<void> {
            ++terms;
            CHECK(must(co_await chair.revoke_holders()) == 1);
            must(co_await term.wait_revoked());
            const std::optional<contender> leader = must(co_await chair.leader());
            CHECK(leader->revoked);
            must(co_await chair.revoke(*leader));
        };
        must(co_await chair.lead(reign));
        CHECK(terms == 1);
    };
    play<1>({.sessions = {120s}, .clean = {path + "/a", path + "/b", path + "/c"}}, story);
}
