// sanitizers: address
// program: faults
// Connections that end at every point of an acquire and a release, in a session that survives them.
#include "integration/cut_scene.hpp"
#include "support/fresh_seed.hpp"

using namespace zklock::test;

namespace {

struct cut {
    opcode op;
    moment at;
    std::size_t skip = 0;
};

std::string_view name_of(opcode op)
{
    switch (op) {
    case opcode::connect: return "connect";
    case opcode::create2: return "create";
    case opcode::get_children2: return "children";
    case opcode::get_data: return "get";
    case opcode::sync: return "sync";
    case opcode::remove: return "delete";
    case opcode::watch_event: return "event";
    default: return "other";
    }
}

std::string describe(const std::vector<cut>& cuts)
{
    std::string all;
    for (const cut& c : cuts) {
        all += name_of(c.op);
        all += c.at == moment::request ? " request" : c.at == moment::reply ? " reply" : " delivered";
        all += (c.skip != 0 ? " after " + std::to_string(c.skip) : "") + "; ";
    }
    return all;
}

void arm(remote_client& client, const std::vector<cut>& cuts)
{
    for (const cut& c : cuts)
        client.link.on_next(c.op, c.at, fate::cut, c.skip);
}

// Each list in turn: the first place is where the acquire or the release is cut, the next ones are in its recovery.
const std::vector<std::vector<cut>> own_cuts{
    {{opcode::create2, moment::request}},
    {{opcode::create2, moment::reply}},
    {{opcode::create2, moment::delivered}},
    {{opcode::get_data, moment::request}}, // of the path itself, sent with the create
    {{opcode::get_data, moment::reply}},
    {{opcode::get_data, moment::delivered}},
    {{opcode::create2, moment::request}, {opcode::create2, moment::request}},
    {{opcode::create2, moment::request}, {opcode::create2, moment::reply}},
    {{opcode::create2, moment::reply}, {opcode::connect, moment::request}},
    {{opcode::create2, moment::reply}, {opcode::connect, moment::reply}},
    {{opcode::create2, moment::reply}, {opcode::sync, moment::request}},
    {{opcode::create2, moment::reply}, {opcode::sync, moment::reply}},
    {{opcode::create2, moment::request}, {opcode::sync, moment::request}},
    {{opcode::create2, moment::request}, {opcode::sync, moment::reply}},
    {{opcode::create2, moment::request}, {opcode::get_children2, moment::reply}},
    {{opcode::create2, moment::reply}, {opcode::sync, moment::reply}, {opcode::sync, moment::request}},
    {{opcode::create2, moment::reply}, {opcode::get_children2, moment::request}},
    {{opcode::create2, moment::reply}, {opcode::get_children2, moment::reply}},
    {{opcode::create2, moment::reply}, {opcode::get_data, moment::request, 1}},
    {{opcode::create2, moment::reply}, {opcode::get_data, moment::reply}}, // the first is never answered
    {{opcode::create2, moment::reply}, {opcode::get_data, moment::reply}, {opcode::sync, moment::reply}},
    {{opcode::remove, moment::request}},
    {{opcode::remove, moment::reply}},
    {{opcode::remove, moment::delivered}},
    {{opcode::remove, moment::request}, {opcode::remove, moment::reply}},
    {{opcode::remove, moment::reply}, {opcode::remove, moment::request}},
    {{opcode::create2, moment::reply}, {opcode::remove, moment::reply}},
};

} // namespace

TEST_CASE("an acquire and its release survive a cut at every step, and create one node")
{
    const std::uint16_t port = server().port();
    play<1>([&](admin_client& admin, remote_client& client) -> awaitable<void> {
        co_await connect_and_warm_up(client);
        const std::int64_t session = client.zk.session_id();
        for (const auto& cuts : own_cuts) {
            const auto story = describe(cuts);
            CAPTURE(story);
            const auto path = new_path(admin);
            mutex lock(client.zk, path);
            arm(client, cuts);
            auto acquiring = begin_acquire(lock);
            const auto acquired = co_await acquiring.end();
            REQUIRE(!acquired);
            guard& held = acquiring.value();
            CHECK(held);
            CHECK(admin.children(path).size() == 1);
            const auto node = admin.exists(held.node());
            REQUIRE(node);
            CHECK(node->ephemeral_owner == session);
            CHECK(held.fencing_token() == node->czxid * 4096);
            auto releasing = begin_release(held);
            CHECK(!co_await releasing.end());
            // A cut behind the last reply of the story is still to be noticed.
            co_await until("all cuts were made", [&] { return client.link.struck(); });
            co_await nothing_left(port);
            CHECK(creates_under(admin, path) == 1);
            co_await until("connected", [&] { return client.zk.state() == connection_state::connected; });
            CHECK(client.zk.session_id() == session);
        }
    });
}

namespace {

const std::vector<std::vector<cut>> waiter_cuts{
    {{opcode::create2, moment::request}},
    {{opcode::create2, moment::reply}},
    {{opcode::create2, moment::delivered}},
    {{opcode::get_children2, moment::request}},
    {{opcode::get_children2, moment::reply}},
    {{opcode::get_data, moment::request}},
    {{opcode::get_data, moment::reply}},
    {{opcode::get_data, moment::delivered}},
    {{opcode::get_data, moment::request, 1}},
    {{opcode::get_data, moment::reply, 1}},
    {{opcode::get_data, moment::delivered, 1}},
    {{opcode::get_data, moment::request, 2}},
    {{opcode::get_data, moment::reply, 2}},
    {{opcode::get_data, moment::delivered, 2}},
    {{opcode::get_data, moment::reply}, {opcode::get_data, moment::reply}},
    {{opcode::create2, moment::reply}, {opcode::get_data, moment::reply}},
    {{opcode::create2, moment::reply}, {opcode::get_data, moment::reply, 1}},
    {{opcode::create2, moment::reply}, {opcode::sync, moment::reply}, {opcode::get_data, moment::request, 1}},
};

const std::vector<std::vector<cut>> wake_cuts{
    {{opcode::watch_event, moment::reply}},
    {{opcode::watch_event, moment::delivered}},
    {{opcode::watch_event, moment::reply}, {opcode::get_data, moment::reply}},
    {{opcode::watch_event, moment::delivered}, {opcode::remove, moment::reply}},
};

/// Both watches of a waiter behind another client: on its predecessor and on its own node.
bool waits_behind(std::uint16_t port, std::int64_t session, admin_client& admin, const std::string& path)
{
    const auto names = queue_of(admin, path);
    return names.size() == 2 && watches_node(port, session, path + "/" + names[0]) &&
           watches_node(port, session, path + "/" + names[1]);
}

} // namespace

TEST_CASE("a waiter survives a cut at every step of its wait and of its wake-up")
{
    const std::uint16_t port = server().port();
    play<2>([&](admin_client& admin, remote_client& holder, remote_client& waiter) -> awaitable<void> {
        co_await connect_and_warm_up(holder);
        co_await connect_and_warm_up(waiter);
        const std::int64_t session = waiter.zk.session_id();

        const auto scenario = [&](const std::vector<cut>& cuts, bool at_wake) -> awaitable<void> {
            const auto story = describe(cuts);
            CAPTURE(story);
            const auto path = new_path(admin);
            guard first = must(co_await mutex(holder.zk, path).acquire());
            const std::int64_t first_token = first.fencing_token();
            if (!at_wake)
                arm(waiter, cuts);
            auto second = begin_acquire(mutex(waiter.zk, path));
            if (!at_wake)
                co_await until("all cuts were made", [&] { return waiter.link.struck(); });
            co_await until("it waits", [&] { return waits_behind(port, session, admin, path); });
            CHECK_FALSE(second.ended());
            if (at_wake)
                arm(waiter, cuts);
            auto first_release = begin_release(first);
            REQUIRE(!co_await second.end());
            CHECK(second.value());
            CHECK(second.value().fencing_token() > first_token);
            CHECK(!co_await first_release.end());
            co_await release_well(second);
            co_await until("all cuts were made", [&] { return waiter.link.struck(); });
            co_await nothing_left(port);
            CHECK(creates_under(admin, path) == 2);
            CHECK(waiter.zk.session_id() == session);
        };
        for (const auto& cuts : waiter_cuts)
            co_await scenario(cuts, false);
        for (const auto& cuts : wake_cuts)
            co_await scenario(cuts, true);
    });
}

TEST_CASE("those who queue behind a lost create, in its client and in another, have their turns")
{
    const std::vector<std::vector<cut>> stories{
        {{opcode::create2, moment::request}},
        {{opcode::create2, moment::reply}},
        {{opcode::multi, moment::request}}, // the first goes alone, the others together
        {{opcode::multi, moment::reply}},
        {{opcode::multi, moment::reply}, {opcode::sync, moment::reply}},
        {{opcode::exists, moment::request}}, // which tells the others' czxid
        {{opcode::exists, moment::reply}},
        {{opcode::create2, moment::reply}, {opcode::get_data, moment::reply}},
        {{opcode::multi, moment::reply}, {opcode::remove, moment::reply}}, // it may be repeated with the next one
    };
    const std::uint16_t port = server().port();
    play<2>([&](admin_client& admin, remote_client& disturbed, remote_client& calm) -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        co_await connect_and_warm_up(disturbed);
        co_await connect_and_warm_up(calm);
        for (const auto& cuts : stories) {
            const auto story = describe(cuts);
            CAPTURE(story);
            const auto path = new_path(admin);
            mutex ours(disturbed.zk, path), theirs(calm.zk, path);
            guard first = must(co_await theirs.acquire());

            critical_section section;
            section.enter(first);
            arm(disturbed, cuts);
            constexpr int waiters = 7;
            int ended = 0;
            const auto count = [&](std::exception_ptr e) {
                CHECK(!e);
                ++ended;
            };
            for (int i = 0; i < 5; ++i)
                asio::co_spawn(executor, visit(ours, section), count);
            co_await until("the create was cut", [&] { return disturbed.link.accepted() > 1; });
            for (int i = 0; i < 2; ++i)
                asio::co_spawn(executor, visit(theirs, section), count);
            co_await until("all have a node", [&] { return admin.children(path).size() == waiters + 1; });
            CHECK(section.grants == 1);
            section.leave();
            co_await release(first);
            co_await until("all had their turn", [&] { return ended == waiters; });
            CHECK(section.grants == waiters + 1);
            co_await until("all cuts were made", [&] { return disturbed.link.struck(); });
            co_await nothing_left(port);
            CHECK(creates_under(admin, path) == waiters + 1);
        }
    });
}

namespace {

/// Cuts one of the links at moments that a seed decides: now, or at some message of the near future.
awaitable<void> disturb(std::deque<remote_client>& clients, int times, std::mt19937_64& random,
                        const critical_section& section)
{
    constexpr std::array ops{opcode::any,  opcode::create2,     opcode::get_children2, opcode::get_data,
                             opcode::sync, opcode::watch_event, opcode::remove,        opcode::connect};
    constexpr std::array moments{moment::request, moment::reply, moment::delivered};
    const auto upto = [&random](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
    for (int i = 0; i < times; ++i) {
        proxy& link = clients[upto(clients.size())].link;
        const auto kind = upto(3);
        if (kind == 0)
            link.cut();
        else
            link.on_next(ops[upto(ops.size())], moments[upto(moments.size())], fate::cut, upto(4));
        // The next one when there was some progress, so that cuts come in bursts and apart.
        const int enough = section.grants + static_cast<int>(upto(6));
        const auto requests = link.count(opcode::any) + upto(8);
        co_await until("some progress", [&] { return section.grants >= enough || link.count(opcode::any) > requests; });
    }
}

awaitable<void> contend(mutex lock, critical_section& section, const bool& over)
{
    while (!over) {
        result<guard> held = co_await lock.acquire(60s);
        REQUIRE(!held.has_error());
        section.enter(held.value());
        for (int i = 0; i < 3; ++i) {
            const auto executor = co_await asio::this_coro::executor;
            co_await asio::post(executor, asio::use_awaitable);
        }
        CHECK(held.value());
        section.leave();
        must(co_await std::move(held).value().release());
    }
}

} // namespace

TEST_CASE("fifty random cuts: one holder at a time, growing tokens, everybody gets on, nothing is left")
{
    const std::uint16_t port = server().port();
    const auto seed = fresh_seed();
    MESSAGE("seed ", seed);
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        admin_client admin(port);
        const auto path = new_path(admin);
        std::deque<remote_client> clients;
        for (int i = 0; i < 3; ++i)
            clients.emplace_back(executor, port);
        critical_section section;
        bool over = false;
        int ended = 0;
        const auto count = [&](std::exception_ptr e) {
            CHECK(!e);
            ++ended;
        };
        std::vector<std::int64_t> sessions;
        for (auto& client : clients) {
            co_await client.connect();
            sessions.push_back(client.zk.session_id());
            for (int i = 0; i < 4; ++i)
                asio::co_spawn(executor, contend(mutex(client.zk, path), section, over), count);
        }
        std::mt19937_64 random(seed);
        co_await disturb(clients, 50, random, section);
        over = true;
        co_await until("everybody is done", [&] { return ended == 12; });
        MESSAGE("grants under fifty cuts: ", section.grants);
        co_await nothing_left(port);
        for (std::size_t i = 0; i < clients.size(); ++i)
            CHECK(clients[i].zk.session_id() == sessions[i]); // nobody needed a new one
        for (auto& client : clients)
            co_await client.close();
    });
}
