// sanitizers: address
// program: recipes
// A client's own operations on nodes: what each does, every error, and what becomes of them when the connection does
// not last.
#include "integration/recipe_scene.hpp"
#include "store/store.hpp"

using namespace zklock::test;

namespace {

// Not in a coroutine: see src/README.md on gcc 12.
constexpr node_kind sequential_kinds[] = {node_kind::persistent_sequential, node_kind::ephemeral_sequential};
constexpr const char* bad_paths[] = {"", "errors", "/errors/", "//", "/errors/./x", "/errors/\x01"};

std::string joined(std::vector<std::string> names)
{
    std::sort(names.begin(), names.end());
    std::string all;
    for (const auto& name : names)
        all += (all.empty() ? "" : " ") + name;
    return all;
}

std::string without_connects(const proxy& link)
{
    std::string all;
    for (const auto& seen : link.history())
        if (seen.op != opcode::ping && seen.op != opcode::connect)
            all += (all.empty() ? "" : " ") + std::to_string(static_cast<int>(seen.op)) + (seen.in_multi ? "*" : "");
    return all;
}

} // namespace

TEST_CASE("each operation is one request, and says what it did")
{
    play<1>([&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        client& zk = remote.zk;
        co_await until_asked(remote.link, opcode::sync); // the heartbeat of the beginning
        remote.link.forget();

        CHECK(must(co_await zk.create("/ops", "top")) == "/ops");
        for (const node_kind kind : sequential_kinds) {
            const std::string made = must(co_await zk.create("/ops/n-", "", kind));
            CHECK(made.starts_with("/ops/n-000000000"));
            const bool ours = admin.exists(made)->ephemeral_owner == zk.session_id();
            CHECK(ours == (kind == node_kind::ephemeral_sequential));
        }
        CHECK(must(co_await zk.create("/ops/e", "mine", node_kind::ephemeral)) == "/ops/e");
        CHECK(must(co_await zk.create("/ops/c", "", node_kind::container)) == "/ops/c");
        CHECK(must(co_await zk.create("/ops/", "", node_kind::persistent_sequential)) == "/ops/0000000004");

        const node_content read = must(co_await zk.get("/ops"));
        CHECK(read.data == "top");
        const auto known = *admin.exists("/ops");
        CHECK(read.stat.czxid == known.czxid);
        CHECK(read.stat.mzxid == known.mzxid);
        CHECK(read.stat.pzxid == known.pzxid);
        CHECK(read.stat.cversion == known.cversion);
        CHECK(read.stat.num_children == 5);
        CHECK(read.stat.data_length == 3);
        CHECK(read.stat.version == 0);
        CHECK(read.stat.created.time_since_epoch() == milliseconds(known.ctime));
        const std::string binary("a\0b\n", 4);
        const node_stat set = must(co_await zk.set("/ops", binary));
        CHECK(set.version == 1);
        CHECK(set.modified.time_since_epoch() == milliseconds(admin.exists("/ops")->mtime));
        CHECK(must(co_await zk.set("/ops", binary, 1)).version == 2);
        CHECK(must(co_await zk.get("/ops")).data == binary);

        CHECK(joined(must(co_await zk.children("/ops"))) == "0000000004 c e n-0000000000 n-0000000001");
        const auto found = must(co_await zk.exists("/ops/e"));
        REQUIRE(found);
        CHECK(found->ephemeral_owner == zk.session_id());
        CHECK_FALSE(must(co_await zk.exists("/ops/none")));
        must(co_await zk.remove("/ops/e"));
        must(co_await zk.remove("/ops/c", 0));
        CHECK(without_connects(remote.link) == "15 15 15 15 19 15 4 5 5 4 12 3 3 2 2");
        CHECK(must(co_await zk.children("/")).size() >= 2); // zookeeper and ops
        co_await remote.close();
        admin.remove_all("/ops");
    });
}

TEST_CASE("every error an operation can meet")
{
    play<1>([&](admin_client& admin, client& zk) -> awaitable<void> {
        admin.create_all("/errors/full/child");
        must(co_await zk.create("/errors/e", "", node_kind::ephemeral));
        CHECK(error_in(co_await zk.create("/errors", "")) == errc::node_exists);
        CHECK(error_in(co_await zk.create("/none/x", "")) == errc::no_node);
        CHECK(error_in(co_await zk.create("/errors/e/x", "")) == errc::invalid_path);
        CHECK(error_in(co_await zk.get("/none")) == errc::no_node);
        CHECK(error_in(co_await zk.set("/none", "")) == errc::no_node);
        CHECK(error_in(co_await zk.set("/errors", "", 7)) == errc::bad_version);
        CHECK(error_in(co_await zk.remove("/none")) == errc::no_node);
        CHECK(error_in(co_await zk.remove("/errors/full", 7)) == errc::bad_version);
        CHECK(error_in(co_await zk.remove("/errors/full")) == errc::not_empty);
        CHECK(error_in(co_await zk.children("/none")) == errc::no_node);

        for (const char* path : bad_paths) {
            CAPTURE(path);
            CHECK(error_in(co_await zk.create(path, "")) == errc::invalid_path);
            CHECK(error_in(co_await zk.get(path)) == errc::invalid_path);
            CHECK(error_in(co_await zk.set(path, "")) == errc::invalid_path);
            CHECK(error_in(co_await zk.remove(path)) == errc::invalid_path);
            CHECK(error_in(co_await zk.children(path)) == errc::invalid_path);
            CHECK(error_in(co_await zk.exists(path)) == errc::invalid_path);
        }
        // As long as can be, and longer than the servers read.
        const std::string longest(store::largest_request - 400, 'x');
        must(co_await zk.set("/errors", longest));
        CHECK(must(co_await zk.get("/errors")).data.size() == longest.size());
        CHECK(error_in(co_await zk.set("/errors", std::string(store::largest_request, 'x'))) == errc::invalid_option);
        CHECK(error_in(co_await zk.create("/errors/x", std::string(4'000'000, 'x'))) == errc::invalid_option);
        CHECK(zk.state() == connection_state::connected);

        must(co_await zk.close());
        CHECK(error_in(co_await zk.create("/errors/x", "")) == errc::closed);
        CHECK(error_in(co_await zk.get("/errors")) == errc::closed);
        CHECK(error_in(co_await zk.commit(transaction())) == errc::closed);
        admin.remove_all("/errors");
    });
}

TEST_CASE("the first read on a new connection goes behind a sync: its server may not know all that the last one did")
{
    play<1>({.sessions = {120s}}, [&](remote_client& remote) -> awaitable<void> {
        client& zk = remote.zk;
        co_await until_asked(remote.link, opcode::sync); // the heartbeat of the beginning
        must(co_await zk.create("/behind", "0"));
        remote.link.forget();
        CHECK(must(co_await zk.get("/behind")).data == "0");
        CHECK(remote.link.count(opcode::sync) == 0);
        for (int connection = 0; connection < 2; ++connection) {
            remote.link.on_next(opcode::get_data, moment::reply, fate::cut);
            remote.link.forget();
            CHECK(must(co_await zk.get("/behind")).data == "0");
            CHECK(must(co_await zk.children("/behind")).empty());
            CHECK(remote.link.count(opcode::get_data) == 2);
            CHECK(remote.link.count(opcode::sync) == 1);
        }
        must(co_await zk.remove("/behind"));
    });
}

namespace {

constexpr std::int32_t throttled_op = -127;

} // namespace

TEST_CASE("a write that the server throttles is not repeated, for what was sent after it may be done; a read is")
{
    play<1>([&](remote_client& remote) -> awaitable<void> {
        client& zk = remote.zk;
        co_await until_asked(remote.link, opcode::sync); // the heartbeat of the beginning
        must(co_await zk.create("/throttled", "0"));     // is answered after it: nothing else is on its way
        remote.link.refuse_next(opcode::set_data, throttled_op);
        remote.link.forget();
        CHECK(error_in(co_await zk.set("/throttled", "1")) == errc::outcome_unknown);
        CHECK(must(co_await zk.get("/throttled")).data == "0");
        CHECK(remote.link.count(opcode::set_data) == 1);

        remote.link.refuse_next(opcode::get_data, throttled_op);
        remote.link.forget();
        CHECK(must(co_await zk.get("/throttled")).data == "0");
        CHECK(remote.link.count(opcode::get_data) == 2);
        must(co_await zk.remove("/throttled"));
    });
}

TEST_CASE("cancelled on their way: a read is aborted, the outcome of a write unknown; so is it at a close")
{
    play<1>([&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        remote.link.on_next(opcode::create2, moment::reply, fate::hold);
        pending<std::string> made;
        pending<node_content> read;
        remote.zk.create("/sent", "x", made.handler());
        remote.zk.get("/sent", read.handler());
        co_await until_struck(remote.link);
        made.cancel(asio::cancellation_type::total);
        read.cancel();
        CHECK(co_await made.end() == errc::outcome_unknown);
        CHECK(co_await read.end() == asio::error::operation_aborted);
        remote.link.release();
        CHECK(must(co_await remote.zk.get("/sent")).data == "x");

        remote.link.on_next(opcode::remove, moment::reply, fate::hold);
        pending<> removed;
        pending<node_content> unread;
        remote.zk.remove("/sent", removed.handler());
        remote.zk.get("/sent", unread.handler());
        co_await until_struck(remote.link);
        pending<> closed;
        remote.zk.close(closed.handler());
        remote.link.release();
        CHECK_FALSE(co_await closed.end());
        REQUIRE(removed.ended());
        REQUIRE(unread.ended());
        const bool known = !removed.error(); // the answer may have come in time
        CHECK((known || removed.error() == errc::outcome_unknown));
        CHECK((unread.error() == errc::closed || unread.error() == errc::no_node));
        CHECK_FALSE(admin.exists("/sent"));
    });
}

TEST_CASE("a pending operation neither keeps the client open nor outlives its context")
{
    pending<std::string> forgotten;
    {
        asio::io_context context;
        {
            client zk(context, fault_options("127.0.0.1:1", long_session));
            zk.create("/a", "", forgotten.handler());
        }
        context.run(); // the last handle is gone: it closes
        CHECK(forgotten.error() == errc::closed);
        client other(context, fault_options("127.0.0.1:1", long_session));
        pending<commit_result> dropped;
        other.commit(transaction().check("/"), dropped.handler());
        context.restart();
        context.poll();
        CHECK_FALSE(dropped.ended());
    }
}
