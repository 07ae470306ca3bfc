#include "session_scene.hpp"

#include "runtime/log_environment.hpp"

#include <cstdlib>
#include <regex>
#include <sstream>
#include <stdexcept>

#include <unistd.h>

using namespace zklock::unit;

namespace {

static_assert(to_string(log_level::warning) == "warning" && noexcept(to_string(log_level::warning)));
static_assert(to_string(acl::creator_all_or_read) == "creator_all_or_read" && noexcept(to_string(acl::open)));
static_assert(to_string(parent_kind::container) == "container" && noexcept(to_string(parent_kind::container)));
static_assert(to_string(naming::kazoo) == "kazoo" && noexcept(to_string(naming::kazoo)));
static_assert(to_string(node_kind::ephemeral) == "ephemeral" && noexcept(to_string(node_kind::ephemeral)));
static_assert(to_string(errc::timed_out) == "timed_out" && noexcept(to_string(errc::timed_out)));
static_assert(to_string(connection_state::suspended) == "suspended");
static_assert(to_string(lock_event::kind::released) == "released");
static_assert(to_string(transaction::operation::kind::check) == "check");

/// A file that is read from its beginning, and gone with the test.
class scratch_file {
public:
    scratch_file() : file_(std::tmpfile()) { REQUIRE(file_ != nullptr); }
    ~scratch_file() { std::fclose(file_); }
    scratch_file(const scratch_file&) = delete;
    scratch_file& operator=(const scratch_file&) = delete;

    [[nodiscard]] std::FILE* get() const { return file_; }
    [[nodiscard]] std::string text() const
    {
        std::string all;
        std::rewind(file_);
        for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_))
            all += static_cast<char>(c);
        return all;
    }

private:
    std::FILE* file_;
};

/// What is written to stderr meanwhile.
template <class F> std::string on_stderr(F f)
{
    const scratch_file file;
    std::fflush(stderr);
    const int before = ::dup(2);
    REQUIRE(before != -1);
    ::dup2(::fileno(file.get()), 2);
    f();
    std::fflush(stderr);
    ::dup2(before, 2);
    ::close(before);
    return file.text();
}

/// A session whose log is kept.
struct logging_scene : scene {
    explicit logging_scene(log_level most = log_level::debug)
    {
        const auto keep = [this](log_level level, std::string_view text) {
            lines.push_back(std::string(to_string(level)) + ' ' + std::string(text));
        };
        options.log = store::leveled_log{most, keep};
        start();
        connect();
    }
    [[nodiscard]] std::ptrdiff_t said(std::string_view begin, std::string_view more) const
    {
        return std::ranges::count_if(
            lines, [&](const std::string& line) { return line.starts_with(begin) && line.find(more) != line.npos; });
    }

    std::vector<std::string> lines;
};

} // namespace

TEST_CASE("enumerations have names, which streams write, too")
{
    std::ostringstream out;
    out << errc::lost << ' ' << lock_event::kind::queued << ' ' << log_level::debug << ' ' << naming::curator;
    CHECK(out.str() == "lost queued debug curator");
    CHECK(to_string(static_cast<errc>(10'000)) == "unknown");
    std::set<std::string_view> names;
    for (int value = 1; value <= static_cast<int>(errc::quota_exceeded); ++value)
        names.insert(to_string(static_cast<errc>(value)));
    CHECK(names.size() == static_cast<std::size_t>(errc::quota_exceeded));
}

TEST_CASE("a line in a file: time, level, text, without control characters, and up to a level")
{
    const scratch_file file;
    const auto log = log_to(file.get(), log_level::warning);
    log(log_level::error, "one\ntwo\x1b[31m");
    log(log_level::warning, "three");
    log(log_level::info, "four");
    const std::regex expected("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z error one\\?two\\?\\[31m\n"
                              "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z warning three\n");
    CAPTURE(file.text());
    CHECK(std::regex_match(file.text(), expected));
    CHECK_FALSE(log_to(nullptr));
}

TEST_CASE("a function of one's own has lines up to a level, and the others are not put together for it")
{
    std::vector<std::string> lines;
    const auto keep = [&](log_level, std::string_view text) { lines.emplace_back(text); };
    const auto log = log_to(keep, log_level::warning);
    log(log_level::warning, "one");
    log(log_level::info, "two");
    CHECK(lines == std::vector<std::string>{"one"});
    const store::logger of_client(log);
    CHECK(of_client.on(log_level::warning));
    CHECK_FALSE(of_client.on(log_level::info));
    CHECK_FALSE(log_to(store::log_function()));
}

TEST_CASE("the environment has the log written to stderr; what it says wrongly is told once")
{
    ::unsetenv("ZKLOCK_LOG");
    CHECK_FALSE(runtime::log_of_environment());
    ::setenv("ZKLOCK_LOG", "", 1);
    CHECK_FALSE(runtime::log_of_environment());
    for (const auto& [name, most] : {std::pair{"error", log_level::error},
                                     {"warning", log_level::warning},
                                     {"info", log_level::info},
                                     {"debug", log_level::debug}}) {
        ::setenv("ZKLOCK_LOG", name, 1);
        const auto log = runtime::log_of_environment();
        REQUIRE(log);
        CHECK(store::most_taken(log) == most);
        const std::string said = on_stderr([&log, most = most] { log(most, "hello"); });
        CHECK(said.ends_with("Z " + std::string(name) + " hello\n"));
    }
    ::setenv("ZKLOCK_LOG", "loud", 1);
    const std::string said = on_stderr([] {
        CHECK_FALSE(runtime::log_of_environment());
        CHECK_FALSE(runtime::log_of_environment());
    });
    CHECK(said.find("ZKLOCK_LOG=loud") != said.npos);
    CHECK(std::ranges::count(said, '\n') == 1);
    ::unsetenv("ZKLOCK_LOG");
}

TEST_CASE("texts, numbers, times, sessions; nothing is put together that is dropped, and nothing thrown comes out")
{
    std::vector<std::string> lines;
    const store::log_function keep = [&lines](log_level, std::string_view text) { lines.emplace_back(text); };
    const store::log_function some = store::leveled_log{log_level::info, keep};
    const store::logger log(some);
    CHECK(log.on(log_level::info));
    CHECK_FALSE(log.on(log_level::debug));
    log(log_level::info, "a ", 12, " b ", 1234567ms, ", ", store::session_name{0x1000abc}, store::times_left_out{3},
        store::times_left_out{0});
    log(log_level::debug, "c");
    log(log_level::error, -5ms);
    CHECK(lines ==
          std::vector<std::string>{"a 12 b 1234.567 s, 0x1000abc (left out since it was said last: 3)", "-0.005 s"});
    const store::log_function none, throws = [](log_level, std::string_view) { throw std::runtime_error("full"); };
    CHECK_FALSE(store::logger(none).on(log_level::error));
    store::logger{throws}(log_level::error, "d");
}

TEST_CASE("what comes again and again is said ever more rarely, with a count")
{
    store::repeats line;
    auto now = store::repeats::time_point(1h);
    std::vector<std::uint64_t> said;
    for (int i = 0; i < 1000; ++i, now += 100ms) // 100 s
        if (const auto left_out = line.say(now))
            said.push_back(*left_out);
    CHECK(said == std::vector<std::uint64_t>{0, 9, 19, 39, 79, 159, 319}); // after 1, 2, 4 … s
    now += 30min;                                                          // long after the next would have been said
    CHECK(line.say(now) == 369);
    CHECK(line.say(now + 1s) == 0);
}

TEST_CASE("a lock that is lost: why, which node and token, how long it was held; once")
{
    std::string why;
    logging_scene s;
    const auto held = s.hold("/p", 0);
    s.clock.pass(1500ms);
    SUBCASE("its node is deleted") {
        s.servers.observer->on_node_event(store::event_kind::deleted, "/p/" + s.node(1, 0));
        why = "held for 1.500 s (node " + s.node(1, 0) + ", token " + std::to_string(held->given.fencing_token) +
              "): somebody else has deleted its node";
    }
    SUBCASE("its session is ended") {
        s.servers.observer->on_disconnected();
        s.servers.observer->on_expired();
        why = "the servers have ended the session; the servers were last heard 1.500 s before";
    }
    SUBCASE("its lease ends") {
        s.clock.skip(20s);
        s.clock.pass(0ms);
        why = "its lease was not renewed in time; the servers were last heard 21.500 s before";
    }
    SUBCASE("the servers are heard again, and its lease ends before it is renewed") {
        s.clock.pass(6s);
        s.reconnect();
        s.clock.pass(3s);
        why = "its lease was not renewed in time; the servers were last heard 2.";
    }
    SUBCASE("its lease has ended when it is released") {
        s.clock.skip(20s);
        s.release(*held);
        why = "its lease was not renewed in time; the servers were last heard 21.500 s before";
    }
    SUBCASE("its client is closed") {
        s.session->close([] {});
        why = "the client was closed before its guard was released";
    }
    SUBCASE("its client is refused") {
        s.servers.observer->on_disconnected();
        s.servers.observer->on_authentication_failed();
        why = "the servers have refused the credentials";
    }
    s.clock.run();
    CHECK(s.said("warning lost /p, held for ", why) == 1);
    CHECK(s.said("warning lost ", "(node " + s.node(1, 0) + ", token ") == 1);
    CHECK(s.said("error", "") == 0);
}

TEST_CASE("a release is no loss, and says nothing; nor does anything where nobody would read it")
{
    logging_scene s;
    const auto held = s.hold("/p", 0);
    s.release(*held);
    CHECK(s.lines.empty());
    logging_scene quiet(log_level::error);
    const auto lost = quiet.hold("/p", 0);
    quiet.end_session();
    CHECK(lost->losses == 1);
    CHECK(quiet.lines.empty());
}

TEST_CASE("an acquire that is refused is told at the level debug, and one that is forbidden as a warning")
{
    logging_scene s;
    const auto held = s.hold("/p", 0);
    const auto tried = s.acquire("/p", {}, acquire_mode::look_once);
    CHECK(tried->ended == errc::busy);
    CHECK(s.lines == std::vector<std::string>{"debug no lock on /p: busy"});
    s.lines.clear();
    const auto forbidden = s.acquire("/q");
    asked(s).to("create /q/" + prefix(s.uuids)).ends(outcome::no_auth);
    CHECK(forbidden->ended == errc::access_denied);
    CHECK(s.lines == std::vector<std::string>{"warning no lock on /q: access_denied"});
}

TEST_CASE("a turn that comes late is told, with how late; again and again it is told rarely")
{
    logging_scene s;
    s.clock.pass(60s);
    CHECK(s.said("warning a turn", "") == 0);
    for (int i = 0; i < 10; ++i) {
        s.answer_syncs();
        s.clock.skip(4s); // the heartbeat was due after 2.5 s
        s.clock.pass(0ms);
    }
    CHECK(s.said("warning a turn of the client began ", " s late") >= 1);
    CHECK(s.said("warning a turn of the client began ", " s late") < 10);
    CHECK(s.said("warning a turn", "left out since it was said last") >= 1);
}

TEST_CASE("to be asked to let go, and to do so, is told once each")
{
    logging_scene s;
    const auto held = s.hold("/p", 0);
    held->handle->on_revoked([] {});
    s.clock.run();
    s.servers.take().show(0, std::string(queue::revocation_request));
    s.clock.run();
    CHECK(s.said("info is asked to let go of /p: ", s.node(1, 0)) == 1);
    CHECK(s.said("info lets go", "") == 0);
    s.release(*held);
    CHECK(s.said("info lets go of /p, as it was asked to: ", s.node(1, 0)) == 1);
}
