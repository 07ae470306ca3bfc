// sanitizers: none
// A holder whose servers have moved, while another ensemble lives at their old address; and one who waits for its lock,
// and knows the right place.
#include "integration/fault_scene.hpp"
#include "integration/moved_scene.hpp"

using namespace zklock::test;

namespace {

const std::string disbelieved = "has expired, which is not believed";
const std::string another_chroot = "is another than in the session before";
constexpr milliseconds short_session{6'000};
constexpr milliseconds margin{2'000};

/// A client that keeps what it logs.
struct logging_client {
    logging_client(const asio::any_io_executor& executor, const std::string& servers, milliseconds session_timeout)
        : zk(executor, options(servers, session_timeout))
    {
    }

    awaitable<void> connect()
    {
        must(co_await zk.wait_connected(default_limit));
        session = zk.session_id();
    }
    awaitable<void> close() { must(co_await zk.close()); }
    [[nodiscard]] std::ptrdiff_t lines_with(const std::string& text) const
    {
        return std::ranges::count_if(*log, [&](const std::string& line) { return line.find(text) != line.npos; });
    }

    std::shared_ptr<std::vector<std::string>> log = std::make_shared<std::vector<std::string>>();
    client zk;
    std::int64_t session = 0;

private:
    client_options options(const std::string& servers, milliseconds session_timeout) const
    {
        auto o = fault_options(servers, session_timeout);
        o.lease_margin = margin;
        o.log = log_to([to = log](log_level, std::string_view line) {
            to->emplace_back(line);
            report_on_failure("A client: " + to->back());
        });
        return o;
    }
};

/// One who holds a lock, whose servers are called by a name, and one who waits for it at the address where they are
/// found in the end.
struct holder_and_waiter {
    holder_and_waiter(const asio::any_io_executor& executor, const two_ensembles& there, const std::string& chroot,
                      milliseconds session_timeout)
        : a(executor, there.at_port("zoo.moved") + chroot, session_timeout),
          b(executor, there.at_port("127.0.0.2") + chroot, session_timeout), path(new_path()), at_root(chroot + path)
    {
    }
    ~holder_and_waiter() { holds->over = true; }
    holder_and_waiter(const holder_and_waiter&) = delete;
    holder_and_waiter& operator=(const holder_and_waiter&) = delete;

    awaitable<void> begin(admin_client& admin)
    {
        co_await a.connect();
        co_await b.connect();
        holds->of_a.push_back(begin_acquire(mutex(a.zk, path)));
        REQUIRE(!co_await holds->of_a.front().end());
        holds->of_b = begin_acquire(mutex(b.zk, path));
        co_await until_queued(admin, at_root, 2);
    }
    /// From now on, the program ends if both hold it.
    void never_two() { asio::co_spawn(a.zk.get_executor(), watch(holds), asio::detached); }
    [[nodiscard]] guard& held() { return holds->of_a.back().value(); }

    awaitable<void> close()
    {
        co_await a.close();
        co_await b.close();
    }

    struct all_holds {
        std::vector<pending<guard>> of_a;
        pending<guard> of_b;
        bool over = false;
    };
    static awaitable<void> watch(std::shared_ptr<all_holds> all)
    {
        const auto never_two = [&all] {
            const bool a = std::ranges::any_of(all->of_a, [](auto& each) { return static_cast<bool>(each.value()); });
            if (a && all->of_b.value())
                broken_promise("two hold the lock");
            return all->over;
        };
        co_await until("it is over", never_two, test_limit);
    }

    logging_client a, b;
    const std::string path, at_root;
    std::shared_ptr<all_holds> holds = std::make_shared<all_holds>();
};

/// In each ensemble, unless it is empty. `ours`: of the first.
void make_chroots(two_ensembles& there, admin_client& ours, const std::string& chroot)
{
    if (chroot.empty())
        return;
    ours.create(chroot);
    admin_client other(there.other.port());
    other.create(chroot);
}

/// The first goes on where its servers are now, and the other has the lock after it.
awaitable<void> keep_it(two_ensembles& there, const own_hosts& hosts, std::string chroot, bool told_at_once)
{
    admin_client admin(there.ours.port());
    make_chroots(there, admin, chroot);
    holder_and_waiter both(co_await asio::this_coro::executor, there, chroot, long_session);
    both.never_two();
    co_await both.begin(admin);
    auto lost = begin_wait_lost(both.held());
    const auto token = both.held().fencing_token();

    hosts.write(told_at_once ? "127.0.0.2 zoo.moved\n" : ""); // without it, nobody can be asked
    there.other_moves_in();
    if (!told_at_once) {
        co_await until("it is told that its session is over",
                       [&] { return both.a.lines_with(disbelieved) != 0 || lost.ended(); });
        CHECK(both.a.zk.state() == connection_state::suspended);
        CHECK(both.held());
        hosts.write("127.0.0.2 zoo.moved\n");
    }
    co_await until("it is back", [&both] {
        return both.a.zk.metrics().reconnects != 0 && both.a.zk.state() == connection_state::connected;
    });
    CHECK(both.a.zk.session_id() == both.a.session);
    CHECK(both.a.zk.metrics().expiries == 0);
    CHECK(both.held());
    CHECK_FALSE(lost.ended());
    CHECK_FALSE(both.holds->of_b.ended());
    CHECK(queue_of(admin, both.at_root).size() == 2);
    co_await release_well(both.holds->of_a.front());
    REQUIRE(!co_await both.holds->of_b.end());
    CHECK(both.holds->of_b.value().fencing_token() > token);
    co_await release_well(both.holds->of_b);
    CHECK_FALSE(admin_client(there.other.port()).exists(both.at_root));
    co_await both.close();
}

} // namespace

TEST_CASE("a holder whose servers have moved keeps its lock and its session, whatever is said at their old address")
{
    const own_hosts hosts;
    if (!hosts.made())
        return;
    for (const std::string chroot : {"", "/app"})
        for (const bool told_at_once : {false, true}) {
            CAPTURE(chroot);
            CAPTURE(told_at_once);
            two_ensembles there;
            hosts.write("127.0.0.1 zoo.moved\n");
            const auto body = [&]() -> awaitable<void> { return keep_it(there, hosts, chroot, told_at_once); };
            run_test(test_limit, body);
            expect_clean(there.ours);
            expect_clean(there.other);
        }
}

TEST_CASE(
    "a name server that still tells of the old address: by its chroot's node a client knows another ensemble, and "
    "is granted nothing there while its earlier session may live")
{
    const own_hosts hosts;
    if (!hosts.made())
        return;
    two_ensembles there;
    hosts.write("127.0.0.1 zoo.moved\n");
    const auto body = [&]() -> awaitable<void> {
        admin_client admin(there.ours.port());
        make_chroots(there, admin, "/app");
        holder_and_waiter both(co_await asio::this_coro::executor, there, "/app", short_session);
        co_await both.begin(admin);
        auto lost = begin_wait_lost(both.held());

        const auto moved = steady_clock::now();
        there.other_moves_in();
        CHECK(!co_await lost.end());
        both.holds->of_a.push_back(begin_acquire(mutex(both.a.zk, both.path)));
        REQUIRE(!co_await both.holds->of_b.end()); // when the earlier session ends, where it was
        CHECK_FALSE(both.holds->of_a.back().ended());
        co_await release_well(both.holds->of_b);
        REQUIRE(!co_await both.holds->of_a.back().end());
        CHECK(both.holds->of_a.back().ended_at() >= moved + short_session + margin + usual_tick);
        CHECK(both.a.lines_with(another_chroot) == 1);
        CHECK(both.a.zk.metrics().expiries == 1);
        CHECK(admin_client(there.other.port()).exists(both.at_root));
        co_await release_well(both.holds->of_a.back());
        co_await both.close();
    };
    run_test(test_limit, body);
    expect_clean(there.ours);
    expect_clean(there.other);
}
