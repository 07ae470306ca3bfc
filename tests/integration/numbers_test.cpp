// sanitizers: none
// program: told
// A path whose numbers are scarce: it is made again, while several clients use it. No server gets near 2^31 within a
// test's time, so these clients take a few numbers for many.
#include "adapter/client/client_core.hpp"

#include "integration/fault_scene.hpp"
#include "support/run_until.hpp"

using namespace zklock::test;

namespace {

/// What a client's thread would run is run by the test.
struct stage {
    asio::io_context io;

    void until(const char* what, const std::function<bool()>& done)
    {
        INFO(what);
        run_until(io, done);
    }
};

struct member {
    explicit member(stage& s, std::int32_t scarce_from)
        : stage_(s), core_(runtime::make_strand(s.io.get_executor()), std::make_shared<runtime::turns>(),
                           fault_options(server().address(), milliseconds{30'000}),
                           std::make_shared<recipes::hold_counts>(), counters_)
    {
        core_.session.set_numbers_scarce_from(scarce_from);
        s.until("connected", [this] { return core_.session.state() == connection_state::connected; });
    }
    ~member()
    {
        bool closed = false;
        core_.session.close([&] { closed = true; });
        stage_.until("closed", [&] { return closed; });
    }
    member(const member&) = delete;
    member& operator=(const member&) = delete;

    struct attempt {
        std::shared_ptr<recipes::acquisition> handle;
        std::optional<error_code> ended;
        std::int64_t token = 0;
        std::string node;
    };
    /// `ended` is called when it has.
    std::shared_ptr<attempt> acquire(const std::string& path, std::function<void(attempt&)> ended)
    {
        const auto a = std::make_shared<attempt>();
        recipes::acquire_request request;
        request.path = path;
        request.done = [a, ended = std::move(ended)](error_code ec, const recipes::grant& given) {
            a->ended = ec;
            a->token = given.fencing_token;
            a->node = given.node;
            ended(*a);
        };
        a->handle = core_.locks.acquire(std::move(request));
        return a;
    }

private:
    stage& stage_;
    counters::connection_counters counters_;
    zklock::detail::client_core core_;
};

/// Acquires again and again.
class user {
public:
    user(member& m, std::string path, unsigned times, std::function<void(const member::attempt&)> inside)
        : member_(m), path_(std::move(path)), left_(times), inside_(std::move(inside))
    {
    }

    void go()
    {
        if (left_ == 0) {
            done_ = true;
            return;
        }
        --left_;
        now_ = member_.acquire(path_, [this](member::attempt& a) {
            CHECK_FALSE(*a.ended);
            inside_(a);
            a.handle->release([this](error_code ec) {
                CHECK_FALSE(ec);
                go();
            });
        });
    }
    [[nodiscard]] bool done() const noexcept { return done_; }

private:
    member& member_;
    const std::string path_;
    unsigned left_;
    const std::function<void(const member::attempt&)> inside_;
    std::shared_ptr<member::attempt> now_;
    bool done_ = false;
};

} // namespace

TEST_CASE("three clients, and a path that has to be made again every few grants: tokens grow, and nobody is left out")
{
    constexpr std::int32_t scarce_from = 20;
    constexpr unsigned times = 50;
    const std::string path = "/numbers/many";
    {
        stage s;
        std::deque<member> members;
        for (int i = 0; i < 3; ++i)
            members.emplace_back(s, scarce_from);
        std::int64_t last = 0;
        std::int32_t highest = 0;
        unsigned begun = 0; // how often the numbers were
        const auto inside = [&](const member::attempt& a) {
            CHECK(a.token > last);
            last = a.token;
            const std::int32_t number = queue::name_rules().sequence_of(queue::name_of(a.node)).value_or(-1);
            highest = std::max(highest, number);
            begun += number == 0;
        };
        std::deque<user> users;
        for (int i = 0; i < 9; ++i)
            users.emplace_back(members[static_cast<std::size_t>(i % 3)], path, times, inside);
        for (user& u : users)
            u.go();
        const auto is_done = [](const user& u) { return u.done(); };
        s.until("all are done", [&] { return std::all_of(users.begin(), users.end(), is_done); });
        // Each client may have sent one create for each of its users before it knew.
        CHECK(highest < scarce_from + 9);
        CHECK(begun >= 9 * times / (scarce_from + 9));
    }
    expect_clean(server(), {path});
}
