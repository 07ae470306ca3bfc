// sanitizers: none
// program: tls
// What is to be seen on the wire: nothing of a session's password, with which anybody could take the session over, and
// nothing of paths and data.
#include "integration/tls_scene.hpp"

using namespace zklock::test;

namespace {

const auto wire_server = secured_by_tls_1_3();

/// A session's password, as the servers make it of its number: sixteen bytes of Java's `Random`.
std::string password_of(std::int64_t session)
{
    constexpr std::uint64_t super_secret = 0xB3415C00ULL, factor = 0x5DEECE66DULL, mask = (1ULL << 48) - 1;
    std::uint64_t seed = ((static_cast<std::uint64_t>(session) ^ super_secret) ^ factor) & mask;
    std::string made;
    for (int i = 0; i < 4; ++i) {
        seed = (seed * factor + 0xB) & mask;
        auto word = static_cast<std::uint32_t>(seed >> 16);
        for (int byte = 0; byte < 4; ++byte, word >>= 8)
            made += static_cast<char>(word & 0xFF);
    }
    return made;
}

} // namespace

TEST_CASE("the password of a session is known, and is seen on the plain port")
{
    proxy between(server().port());
    admin_client admin(between.port());
    admin.keep_alive();
    REQUIRE(between.sessions().size() == 1);
    CHECK(between.sessions()[0].password == password_of(between.sessions()[0].id));
    admin.close();
}

TEST_CASE("through connects, closes, cuts and reconnects no password, path or datum is seen")
{
    const std::string path = "/tls-wire-secret-path", datum = "a-secret-datum";
    std::vector<std::int64_t> sessions;
    std::string seen;
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        secure_client kept(executor, server().secure_port());
        must(co_await kept.zk.wait_connected(default_limit));
        sessions.push_back(kept.zk.session_id());
        must(co_await kept.zk.create(path, datum));
        for (int round = 0; round < 10; ++round) {
            secure_client brief(executor, server().secure_port());
            mutex lock(brief.zk, path + "/lock");
            guard held = must(co_await lock.acquire(default_limit));
            sessions.push_back(brief.zk.session_id());
            auto waits = begin_acquire(mutex(kept.zk, path + "/lock"));
            switch (round % 5) {
            case 0: brief.link.cut(); break;
            case 1: // in the middle of a request
                brief.link.on_next(opcode::tls_record, moment::request, fate::cut);
                brief.zk.get(path, [](error_code, const node_content&) {});
                co_await until("it is cut", [&brief] { return brief.link.struck(); });
                break;
            case 2: // in the middle of the next handshake
                brief.link.on_next(opcode::tls_record, moment::reply, fate::cut, 1);
                brief.link.cut();
                must(co_await brief.zk.wait_connected(default_limit));
                break;
            case 3: must(co_await brief.zk.close()); break;
            case 4: // nobody is there when it is cut off, and it is closed without a connection
                brief.link.refuse();
                brief.link.cut();
                must(co_await brief.zk.close());
                close_session(server().port(), {sessions.back(), password_of(sessions.back())});
                break;
            }
            held = guard();
            co_await take_turn(waits);
            must(co_await brief.zk.close());
            seen += brief.link.captured();
        }
        must(co_await kept.zk.close());
        seen += kept.link.captured();
    };
    run_test(test_limit, body);
    CHECK(seen.size() > 10'000);
    for (const auto session : sessions) {
        CAPTURE(session);
        CHECK(seen.find(password_of(session)) == seen.npos);
    }
    CHECK(seen.find(path) == seen.npos);
    CHECK(seen.find(datum) == seen.npos);
    CHECK(seen.find("lock-") == seen.npos);
    expect_clean(server(), {path + "/lock"});
}
