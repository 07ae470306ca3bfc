// Transactions, alone and guarded by a lock.
#include "node_scene.hpp"

using namespace zklock::unit;

namespace {

/// A lock that is held by so many nodes.
class held_by_many final : public recipes::acquisition {
public:
    explicit held_by_many(std::size_t nodes) : nodes_(nodes) {}

    bool withdraw() override { return false; }
    void release(store::unique_function<void(error_code)>) override {}
    void on_lost(store::unique_function<void()>) override {}
    void on_revoked(std::function<void()>) override {}
    [[nodiscard]] std::vector<std::string> nodes_of(const recipes::grant&) const override
    {
        return std::vector<std::string>(nodes_, "/n");
    }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }
    [[nodiscard]] bool held(store::scheduler::time_point) const noexcept override { return true; }
    [[nodiscard]] std::optional<lock_loss> loss(store::scheduler::time_point) const noexcept override { return {}; }
    [[nodiscard]] store::scheduler::time_point held_until() const noexcept override { return {}; }

private:
    std::size_t nodes_;
    const std::string path_ = "/many";
};

} // namespace

TEST_CASE("without a guard: one request, and a result for each operation")
{
    connected<node_scene> s;
    told<commit_result> done, empty;
    nodes::commit(*s.session, some_writes(), {}, done.teller());
    nodes::commit(*s.session, transaction(), {}, empty.teller());
    CHECK(s.servers.pending() ==
          "batch create /made-, set /stock at version 7, remove /old, check /there at version 2");
    s.clock.run();
    CHECK(empty.ended == error_code());
    const auto request = asked(s).to(std::string("batch ") + some_writes_asked).kept();
    REQUIRE(request.writes.size() == 4);
    CHECK(request.writes[0].data == "new");
    CHECK(request.writes[0].created == node_kind::persistent_sequential);
    CHECK(request.writes[1].data == "41");
    request.done({"/made-0000000003"});
    s.clock.run();
    CHECK(done.ended == error_code());
    REQUIRE(done.value.results.size() == 4);
    CHECK(done.value.results[0].path == "/made-0000000003");
    CHECK_FALSE(done.value.results[0].stat);
    CHECK(done.value.results[1].stat);
    CHECK(done.value.results[2].path.empty());
    CHECK_FALSE(done.value.failed);
}

TEST_CASE("guarded: the lock's node is looked for first, in any version; the release goes behind it")
{
    connected<node_scene> s;
    const auto a = s.hold("/p", 0);
    told<commit_result> done, looked;
    nodes::commit(*s.session, some_writes(), s.claim_of(*a), done.teller());
    nodes::commit(*s.session, transaction(), s.claim_of(*a), looked.teller());
    s.release(*a);
    CHECK(s.servers.pending() == "batch " + s.own(*a) + ", create /made-, set /stock at version 7, remove /old, " +
                                     "check /there at version 2, batch " + s.own(*a) + ", remove " + a->given.node);
    s.fail(2, outcome::bad_version);
    CHECK(done.ended_with(errc::bad_version));
    CHECK(done.value.failed == 1); // counted without the lock's
    asked(s).to("batch check /p/" + scene::node(1, 0)).done({});
    CHECK(looked.ended == error_code());
    CHECK(a->losses == 0);
}

TEST_CASE("what the servers say of the lock's node is about the lock")
{
    connected<node_scene> s;
    const auto a = s.hold("/p", 0);
    told<commit_result> forbidden, unclear, lost, after;
    nodes::commit(*s.session, some_writes(), s.claim_of(*a), forbidden.teller());
    nodes::commit(*s.session, some_writes(), s.claim_of(*a), unclear.teller());
    nodes::commit(*s.session, some_writes(), s.claim_of(*a), lost.teller());
    s.fail(0, outcome::no_auth);
    CHECK(forbidden.ended_with(errc::access_denied));
    CHECK_FALSE(forbidden.value.failed);
    asked(s).to("batch " + s.own(*a) + ", " + some_writes_asked).ends(outcome::server_error); // about none of them
    CHECK(unclear.ended_with(errc::server_error));
    CHECK_FALSE(unclear.value.failed);
    CHECK(a->losses == 0);
    asked(s).to("batch " + s.own(*a) + ", " + some_writes_asked).kept().fail(0, outcome::no_node);
    CHECK_FALSE(a->handle->held(s.clock.now()));
    s.clock.run();
    CHECK(lost.ended_with(errc::lost));
    CHECK_FALSE(lost.value.failed);
    CHECK(a->losses == 1);
    nodes::commit(*s.session, some_writes(), s.claim_of(*a), after.teller());
    s.clock.run();
    CHECK(after.ended_with(errc::lost));
    CHECK(s.servers.pending().empty());
}

TEST_CASE("a log of all lines tells which transactions have failed, by which operation, and why")
{
    std::vector<std::string> lines;
    node_scene s([&](client_options& o) {
        o.log = [&](log_level level, std::string_view line) {
            if (level == log_level::debug)
                lines.emplace_back(line);
        };
    });
    s.connect();
    const auto a = s.hold("/p", 0);
    lines.clear();
    told<commit_result> refused, unclear, lost, alone;
    nodes::commit(*s.session, some_writes(), s.claim_of(*a), refused.teller());
    nodes::commit(*s.session, some_writes(), s.claim_of(*a), unclear.teller());
    nodes::commit(*s.session, some_writes(), {}, alone.teller());
    nodes::commit(*s.session, some_writes(), s.claim_of(*a), lost.teller());
    const std::string guarded = "a transaction guarded by " + a->given.node + " has failed: ";
    s.fail(2, outcome::bad_version);
    CHECK(lines == std::vector{guarded + "set /stock: the node has another version"});
    lines.clear();
    asked(s).to("batch " + s.own(*a) + ", " + some_writes_asked).ends(outcome::unknown);
    CHECK(lines == std::vector{guarded + "the answer was lost: it may have been done"});
    lines.clear();
    s.fail(0, outcome::node_exists);
    CHECK(lines == std::vector<std::string>{"a transaction has failed: create /made-: the node exists already"});
    lines.clear();
    s.fail(0, outcome::no_node);
    CHECK(lines == std::vector{guarded + "the lock was lost"});
}

TEST_CASE("what is sent for the lock's nodes counts, also when there is nothing else")
{
    connected<node_scene> s;
    for (const bool alone : {true, false}) {
        CAPTURE(alone);
        const auto t = alone ? transaction() : transaction().check("/there");
        told<commit_result> too_much, not_too_much;
        nodes::commit(*s.session, t, recipes::nodes::claim{std::make_shared<held_by_many>(20'000), {}},
                      too_much.teller());
        s.clock.run();
        CHECK(too_much.ended_with(errc::invalid_option));
        CHECK(s.servers.requests.empty());
        nodes::commit(*s.session, t, recipes::nodes::claim{std::make_shared<held_by_many>(2), {}},
                      not_too_much.teller());
        REQUIRE(s.servers.requests.size() == 1);
        s.servers.take().done({});
        s.clock.run();
        CHECK(not_too_much.ended == error_code());
    }
}

TEST_CASE("after the lease has ended nothing is asked, noticed or not")
{
    connected<node_scene> s;
    const auto a = s.hold("/p", 0);
    told<commit_result> late;
    s.clock.skip(20s); // the process did not run
    nodes::commit(*s.session, some_writes(), s.claim_of(*a), late.teller());
    CHECK_FALSE(s.servers.asks("batch"));
    s.clock.run();
    CHECK(late.ended_with(errc::lost));
    CHECK(a->losses == 1);
}

TEST_CASE("while disconnected it waits as long as the lock is held")
{
    connected<node_scene> s;
    const auto a = s.hold("/p", 0), b = s.hold("/q", 0);
    s.disconnect();
    told<commit_result> sent, lost, released;
    nodes::commit(*s.session, some_writes(), s.claim_of(*a), sent.teller());
    const auto unsent = nodes::commit(*s.session, some_writes(), s.claim_of(*b), released.teller());
    unsent->end_unsent(errc::not_owner); // as at b's release
    s.reappear();
    show_writes_kept(s);
    CHECK(s.servers.asks("batch " + s.own(*a)));
    CHECK_FALSE(s.servers.asks("batch " + s.own(*b)));
    s.clock.run();
    CHECK(released.ended_with(errc::not_owner));
    while (!s.servers.requests.empty())
        asked(s).to("batch " + s.own(*a) + ", " + some_writes_asked).ends(outcome::unknown);
    CHECK(sent.ended_with(errc::outcome_unknown));
    s.disconnect();
    nodes::commit(*s.session, some_writes(), s.claim_of(*a), lost.teller());
    s.clock.pass(10s);
    s.reappear();
    show_writes_kept(s);
    s.clock.run();
    CHECK(lost.ended_with(errc::lost));
    CHECK_FALSE(s.servers.asks("batch"));
}

TEST_CASE("a writer that becomes a reader while disconnected: what it had called before is done before")
{
    connected<node_scene> s;
    const auto a = s.hold_as_writer("/p");
    const std::string reader = scene::downgraded("/p");
    told<commit_result> unknown, waiting, after;
    told<recipes::grant> downgraded;
    nodes::commit(*s.session, transaction(), s.claim_of(*a), unknown.teller());
    asked(s).to("batch check /p/" + scene::node(1, 0, "__WRIT__")).ends(outcome::unknown);
    CHECK(unknown.ended_with(errc::outcome_unknown));
    nodes::commit(*s.session, transaction(), s.claim_of(*a), waiting.teller());
    CHECK(a->handle->downgrade(downgraded.teller()));
    s.disconnect();
    s.reappear();
    show_writes_kept(s);
    const std::string commit = "batch " + s.own(*a);
    const std::string downgrade = "batch create " + reader + ", remove " + a->given.node + " at version 0";
    CHECK(s.servers.pending().starts_with(commit + ", "));
    CHECK(s.servers.pending().ends_with(downgrade));
    while (!s.servers.requests.empty()) {
        const auto request = s.servers.take();
        if (!request.writes.empty())
            request.done({reader});
        else if (request.show)
            request.show(0, "");
        else if (request.list)
            request.list({std::string(queue::name_of(a->given.node))});
        else
            request.answer(outcome::ok);
        s.clock.run();
    }
    CHECK(waiting.ended == error_code());
    CHECK(downgraded.ended == error_code());
    CHECK(downgraded.value.node == reader);
    CHECK(a->losses == 0);
    nodes::commit(*s.session, transaction(), recipes::nodes::claim(a->handle, downgraded.value), after.teller());
    CHECK(s.servers.pending().ends_with("batch check " + reader));
}

TEST_CASE("of several locks all nodes are looked for")
{
    connected<node_scene> s;
    const auto both = s.acquire_by([&s](recipes::acquire_call call) {
        return recipes::multi_acquisition::start(*s.session, {s.member("/p"), s.member("/q")}, std::move(call));
    });
    asked(s).to("create /p/" + prefix(1)).number(103, 3).to("watch /p").alone(4, 103);
    asked(s).to("create /q/" + prefix(2)).number(104, 4).to("watch /q").alone(5, 104);
    REQUIRE(both->ended == error_code());
    told<commit_result> lost;
    nodes::commit(*s.session, transaction().set("/stock", "1"), s.claim_of(*both), lost.teller());
    CHECK(s.servers.pending() == "batch check /p/" + s.node(1, 3) + ", check /q/" + s.node(2, 4) + ", set /stock");
    s.fail(1, outcome::no_node);
    CHECK(lost.ended_with(errc::lost));
    CHECK(both->losses == 1);
}
