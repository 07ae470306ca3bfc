// sanitizers: none
// program: told
// A client with options that cannot be: find_fault() and the log name the same one. And servers with a chroot behind
// them, the form of other clients.
#include "integration/kept_log.hpp"
#include "integration/recipe_scene.hpp"

using namespace zklock::test;

namespace {

template <class F> std::string fault_of(F spoil)
{
    client_options o;
    spoil(o);
    const auto fault = find_fault(o);
    return fault ? to_string(*fault) : "none";
}

} // namespace

TEST_CASE("the option that is wrong is named, with its value and what is accepted")
{
    CHECK(fault_of([](client_options&) {}) == "none");
    CHECK(fault_of([](client_options& o) { o.session_timeout = 50ms; }) ==
          "session_timeout is 50 ms, and has to be 100 ms to 2147483647 ms");
    CHECK(fault_of([](client_options& o) { o.clock_drift = 0.5; }) ==
          "clock_drift is 0.5, and has to be 0 to below 0.5");
    CHECK(fault_of([](client_options& o) { o.server_tick = 0ms; }) ==
          "server_tick is 0 ms, and has to be 1 ms to 2147483647 ms");
    CHECK(fault_of([](client_options& o) {
              o.lease_margin = 10s;
          }).starts_with("lease_margin is 10000 ms, and has to be so much less than session_timeout (10000 ms)"));
    CHECK(fault_of([](client_options& o) {
              o.loss_notice = 8s;
          }).starts_with("loss_notice is 8000 ms, and has to be so much less than session_timeout (10000 ms)"));
    CHECK(fault_of([](client_options& o) { o.connect_backoff = 10s; }) ==
          "connect_backoff_limit is 5000 ms, and has to be connect_backoff (10000 ms) or more");
    CHECK(fault_of([](client_options& o) { o.node_budget = 0; }).starts_with("node_budget is 0, and has to be 1 to"));
    CHECK(fault_of([](client_options& o) { o.access = acl::creator_all; }).starts_with("access is acl::creator_all"));
    CHECK(fault_of([](client_options& o) {
              o.servers = "a:1,b:0,c:2";
          }).starts_with("servers is \"a:1,b:0,c:2\", where \"b:0\" cannot be read, and has to be host:port"));
    const std::string secret = fault_of([](client_options& o) { o.auth.push_back({"", "hush"}); });
    CHECK(secret.starts_with("auth is"));
    CHECK(secret.find("hush") == secret.npos);
}

TEST_CASE("a client's access list with a digest that is nobody's; the log tells no password")
{
    const auto fault_of_id = [](std::string id) {
        const auto fault = find_fault(with(&client_options::access, access_list{{"digest", std::move(id)}}));
        return fault ? to_string(*fault) : "none";
    };
    const std::string accepted = ", and has to be of digests user:hash, with the hash in base 64, as digest_entry() "
                                 "makes them of user and password";
    const std::string wrong = "access is an entry of the digest of \"ann\" whose hash cannot be one" + accepted;
    const std::string letters = "V28q/NynI4JI3Rk54h0r8O5kMug"; // 27
    CHECK(fault_of_id(digest_entry("ann", "secret").id) == "none");
    CHECK(fault_of_id(digest_entry("", "").id) == "none");
    CHECK(fault_of_id("ann:" + letters + "=") == "none");
    CHECK(fault_of_id("ann:" + letters.substr(0, 22) + "==") == "none");          // of 16 bytes
    CHECK(fault_of_id("ann:" + letters + letters.substr(0, 16) + "=") == "none"); // SHA-256, by digestAlg
    CHECK(fault_of_id("ann:" + letters + letters + letters + letters.substr(0, 5) + "==") == "none"); // SHA-512
    CHECK(fault_of_id("ann:" + letters.substr(0, 24) + "AAAAAAAA") == "none");                        // of 24 bytes
    CHECK(fault_of_id("secret").starts_with(
        "access is an entry of the scheme digest whose id has no hash, and has to be"));
    CHECK(fault_of_id("secret").find("\"secret\"") == std::string::npos);
    CHECK(fault_of_id("ann:secret") == wrong);
    CHECK(fault_of_id("ann:x") == wrong); // what servers show of others
    CHECK(fault_of_id("ann:") == wrong);
    CHECK(fault_of_id("ann:" + letters) == wrong);
    CHECK(fault_of_id("ann:" + letters + "A=") == wrong);
    CHECK(fault_of_id("ann:" + letters.substr(0, 25) + "===") == wrong);
    CHECK(fault_of_id("ann:" + letters.substr(0, 26) + "=A") == wrong);
    CHECK(fault_of_id("ann:" + letters.substr(0, 26) + " =") == wrong);
    CHECK(fault_of_id("ann:" + letters + "=:") == wrong);
    CHECK(fault_of_id("ann:b:" + letters + "=") == wrong); // servers take no user with a colon
    CHECK(fault_of_id("ann:" + letters.substr(0, 19) + "=") == wrong);
    CHECK(fault_of_id("ann:========================") == wrong);
}

TEST_CASE("chroots behind the servers")
{
    CHECK(fault_of([](client_options& o) { o.servers = "a:1,b:2/app/locks"; }) == "none");
    CHECK(fault_of([](client_options& o) { o.servers = "[::1]:1,[fe80::2]/app"; }) == "none");
    CHECK(fault_of([](client_options& o) { o.servers = "a/"; }) == "none");
    CHECK(fault_of([](client_options& o) {
              o.servers = "a/";
              o.chroot = "/app";
          }) == "none");
    CHECK(fault_of([](client_options& o) {
              o.servers = "a:1/app";
              o.chroot = "/app";
          }) == "chroot is \"/app\", and has to be empty where servers ends with one (\"/app\")");
    CHECK(fault_of([](client_options& o) {
              o.servers = "a:1/app,b:2/app";
          }).starts_with("servers is \"a:1/app,b:2/app\", and has to be host:port,host:port/chroot: one path"));
    CHECK(fault_of([](client_options& o) { o.servers = "a:1/app/"; }) ==
          "servers is \"a:1/app/\" (it ends with '/'), and has to be host:port,host:port/chroot: one path, behind the "
          "last server");
    CHECK(fault_of([](client_options& o) {
              o.servers = "a:1,b:0/app";
          }).starts_with("servers is \"a:1,b:0/app\", where \"b:0\" cannot be read, and has to be host:port"));
    for (const char* no_host : {"/app", " /app", ""}) {
        CHECK(to_string(find_fault(options_for(no_host)).value()) ==
              "servers is \"" + std::string(no_host) +
                  "\", where no server is named, and has to be host:port,host:port or host:port,host:port/chroot, with "
                  "ports from 1 to 65535 (2181 if there is none) and IPv6 addresses in brackets");
    }
    CHECK(fault_of([](client_options& o) { o.chroot = "app"; }) ==
          "chroot is \"app\" (it is relative: it does not begin with '/'), and has to be empty, or a path such as "
          "/app/locks");
    CHECK(fault_of([](client_options& o) { o.chroot = "/app/"; }) ==
          "chroot is \"/app/\" (it ends with '/'), and has to be empty, or a path such as /app/locks");
    const std::string with_nul{"/a\0", 3};
    for (const std::string& bad : {std::string("a"), std::string("/a/"), std::string("//"), std::string("/a//b"),
                                   std::string("/."), std::string("/a/.."), std::string("/a\n"), with_nul}) {
        CAPTURE(bad);
        CHECK(fault_of([&](client_options& o) {
                  o.chroot = bad;
              }).ends_with(", and has to be empty, or a path such as /app/locks"));
    }
    for (const char* good : {"", "/", "/a/b.c"}) {
        CAPTURE(good);
        CHECK(fault_of([&](client_options& o) { o.chroot = good; }) == "none");
    }

    // Paths they are, but surely none that was meant, or none that could be used.
    CHECK(fault_of([](client_options& o) { o.servers = "a:1/app "; }) ==
          "servers is \"a:1/app \", and has to be host:port,host:port/chroot: a path without a blank at its end");
    CHECK(fault_of([](client_options& o) { o.servers = "a:1/ "; }).starts_with("servers is \"a:1/ \""));
    CHECK(fault_of([](client_options& o) { o.chroot = "/app "; }) ==
          "chroot is \"/app \", and has to be a path without a blank at its end");
    CHECK(fault_of([](client_options& o) { o.chroot = "/my app"; }) == "none");
    CHECK(fault_of([](client_options& o) { o.servers = "a:1/zookeeper/x"; }) ==
          "servers is \"a:1/zookeeper/x\", and has to be host:port,host:port/chroot: a path outside of /zookeeper, "
          "which is the servers' own");
    CHECK(fault_of([](client_options& o) { o.chroot = "/zookeeper/x"; }) ==
          "chroot is \"/zookeeper/x\", and has to be a path outside of /zookeeper, which is the servers' own");
    CHECK(fault_of([](client_options& o) { o.chroot = "/zookeeper"; }).starts_with("chroot is \"/zookeeper\""));
    CHECK(fault_of([](client_options& o) { o.chroot = "/zookeepers"; }) == "none");
    CHECK(fault_of([](client_options& o) { o.chroot = "/app/zookeeper"; }) == "none");

    play<0>({.clean = {"/options_told/app/lock"}}, [&](admin_client& admin) -> awaitable<void> {
        admin.create_all("/options_told/app");
        client_options o =
            fault_options(server().address() + "," + server().address() + "/options_told/app", long_session);
        client zk(co_await asio::this_coro::executor, o);
        guard held = must(co_await mutex(zk, "/lock").acquire(60s));
        CHECK(admin.exists("/options_told/app" + held.node()));
        co_await release(std::move(held));
        must(co_await zk.close());
    });
}

TEST_CASE("the log of a client that cannot be used says why")
{
    const auto body = [&]() -> awaitable<void> {
        const kept_log log;
        client_options o;
        o.session_timeout = 1ms;
        o.identifier = "me";
        o.log = log;
        client zk(co_await asio::this_coro::executor, o);
        CHECK(error_in(co_await mutex(zk, "/lock").acquire()) == errc::invalid_option);
        CHECK(error_in(co_await zk.wait_connected(60s)) == errc::invalid_option);
        CHECK(log.lines(log_level::error) ==
              std::vector<std::string>{"me: the client cannot be used: session_timeout is 1 ms, and has to "
                                       "be 100 ms to 2147483647 ms"});
    };
    run_test(test_limit, body);
}
