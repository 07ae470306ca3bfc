// The examples of how zklock is used in a program, some of them in several processes or told to end by a signal.
#include "example.hpp"
#include "support/admin_client.hpp"
#include "support/expect_clean.hpp"
#include "support/tcp_socket.hpp"

#include <sys/resource.h>

#include <deque>
#include <map>
#include <string_view>

using namespace zklock::test;

TEST_CASE("callbacks")
{
    example program("callbacks");
    program.expect(0, "held, with token [0-9]+\n"
                      "the second acquire was cancelled\n"
                      "released\n");
    expect_clean(server(), {"/examples/callbacks"});
}

TEST_CASE("futures")
{
    example program("futures");
    program.expect(0, "two locks are held: /examples/futures/stock, /examples/futures/report\n"
                      "a third acquire finds the first busy\n"
                      "released\n");
    expect_clean(server(), {"/examples/futures"});
}

TEST_CASE("thread pool: two programs count in one file, and nothing is counted twice")
{
    const temporary_directory shared;
    const std::string file = shared.path() / "number";
    example one("thread_pool", {server().address(), file}), other("thread_pool", {server().address(), file});
    one.expect(0, "200 times\n");
    other.expect(0, "200 times\n");
    int number = 0;
    std::ifstream(file) >> number;
    CHECK(number == 400);
    expect_clean(server(), {"/examples/thread_pool"});
}

TEST_CASE("run until a signal: the body ends in good order, also of one who waits")
{
    example holder("run_until_signal");
    holder.wait_for("at work");
    example waiter("run_until_signal");
    wait_until("it queues", default_limit, [] {
        admin_client admin{server().port()};
        return admin.children("/examples/run").size() == 2;
    });
    waiter.terminate();
    waiter.expect(0, "signal 15\n");
    holder.terminate();
    holder.expect(0, "at work, with token [0-9]+\n"
                     "stopped between two steps\n"
                     "signal 15\n");
    expect_clean(server(), {"/examples/run"});
}

TEST_CASE("run until a signal: a lock that is lost stops the body, and is an error")
{
    admin_client admin{server().port()};
    example program("run_until_signal");
    program.wait_for("at work");
    const auto nodes = admin.children("/examples/run");
    REQUIRE(nodes.size() == 1);
    admin.remove("/examples/run/" + nodes.front());
    program.expect(1, "at work, with token [0-9]+\n"
                      "stopped between two steps\n"
                      "run: the lock was lost\n");
    admin.close();
    expect_clean(server(), {"/examples/run"});
}

TEST_CASE("election: the leader hands over in good order")
{
    example ann("election", {server().address(), "ann"});
    ann.wait_for("ann leads");
    example ben("election", {server().address(), "ben"});
    ben.wait_for("ben stands");
    ann.terminate();
    ann.expect(0, "ann stands\nann leads, after nobody\nann hands over\n");
    ben.wait_for("ben leads");
    ben.terminate();
    ben.expect(0, "ben stands\nben leads, after ann\nben hands over\n");
    expect_clean(server(), {"/examples/election"});
}

TEST_CASE("election: a leader that has lost its place stops, and stands again")
{
    admin_client admin{server().port()};
    example ann("election", {server().address(), "ann"});
    ann.wait_for("ann leads");
    const auto nodes = admin.children("/examples/election");
    REQUIRE(nodes.size() == 1);
    admin.remove("/examples/election/" + nodes.front());
    ann.wait_for("ann has lost the leadership\nann leads");
    ann.terminate();
    ann.expect(0, "ann stands\n"
                  "ann leads, after (.*)\n"
                  "ann has lost the leadership\n"
                  "ann leads, after \\1\n"
                  "ann hands over\n");
    admin.close();
    expect_clean(server(), {"/examples/election"});
}

TEST_CASE("node watch: each state is told, over a deletion, too")
{
    admin_client admin{server().port()};
    example program("node_watch");
    program.wait_for("waiting for");
    admin.create("/examples-config", "blue");
    program.wait_for("configured: blue");
    admin.set("/examples-config", "green");
    program.wait_for("configured: green");
    admin.remove("/examples-config");
    program.wait_for("green\nwaiting for");
    admin.create("/examples-config", "red");
    program.wait_for("configured: red");
    program.terminate();
    program.expect(0, "waiting for /examples-config\n"
                      "configured: blue\n"
                      "configured: green\n"
                      "waiting for /examples-config\n"
                      "configured: red\n");
    admin.close();
    expect_clean(server());
}

namespace {

/// What a server of the example http_server answers to an order.
std::string order_from(std::uint16_t port, std::string_view target = "/orders")
{
    tcp_socket http(port, default_limit);
    http.send("POST " + std::string(target) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    return http.receive_to_end();
}

std::uint16_t port_of(example& program)
{
    program.wait_for("\n");
    const std::string line = program.printed();
    return static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(' '))));
}

} // namespace

TEST_CASE("HTTP server: two of them sell ten units to twelve buyers")
{
    std::deque<example> servers;
    std::deque<std::uint16_t> ports;
    for (int i = 0; i < 2; ++i) {
        auto& program = servers.emplace_back("http_server", std::vector{server().address(), std::string("0")});
        ports.push_back(port_of(program));
    }
    // All are on their way before the first is answered.
    std::deque<tcp_socket> buyers;
    for (std::size_t i = 0; i < 12; ++i)
        buyers.emplace_back(ports[i % 2], default_limit)
            .send("POST /orders HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    std::map<std::string, int> answers;
    for (auto& buyer : buyers) {
        const std::string answer = buyer.receive_to_end();
        ++answers[answer.substr(0, answer.find('\r')) + answer.substr(answer.rfind("\r\n\r\n") + 4)];
    }
    CHECK(answers ==
          std::map<std::string, int>{{"HTTP/1.1 201 Createdsold\n", 10}, {"HTTP/1.1 409 Conflictsold out\n", 2}});
    CHECK(order_from(ports[0], "/").starts_with("HTTP/1.1 404 "));
    for (auto& program : servers) {
        program.terminate();
        program.expect(0, "listening on [0-9]+\n");
    }
    expect_clean(server(), {"/examples/http_server"});
}

TEST_CASE("HTTP server: a client that hangs up leaves the queue, and takes no unit from those behind")
{
    const std::string path = "/examples/http_server";
    admin_client admin(server().port());
    example program("http_server", {server().address(), "0"});
    const std::uint16_t port = port_of(program);
    admin.set("/examples-shop", "10");
    admin.create_all(path);
    const std::string holder = admin.create(path + "/lock-", {}, create_mode::ephemeral_sequential);
    const auto wait_for_contenders = [&](std::size_t count) {
        wait_until(std::to_string(count) + " contend", default_limit,
                   [&] { return admin.children(path).size() == count; });
    };
    tcp_socket gone(port, default_limit);
    gone.send("POST /orders HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_for_contenders(2);
    tcp_socket stays(port, default_limit);
    stays.send("POST /orders HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    wait_for_contenders(3);
    gone.close();
    wait_for_contenders(2);
    admin.remove(holder);
    CHECK(stays.receive_to_end().starts_with("HTTP/1.1 201 "));
    CHECK(admin.get("/examples-shop") == "9");
    program.terminate();
    program.expect(0, "listening on [0-9]+\n");
    admin.close();
    expect_clean(server(), {"/examples/http_server"});
}

TEST_CASE("HTTP server: without a descriptor left it says so, and serves on when it has one")
{
    example program("http_server", {server().address(), "0"});
    const std::uint16_t port = port_of(program);
    rlimit usual{};
    REQUIRE(prlimit(program.pid(), RLIMIT_NOFILE, nullptr, &usual) == 0);
    rlimit none = usual;
    none.rlim_cur = 3; // as many as the standard ones
    REQUIRE(prlimit(program.pid(), RLIMIT_NOFILE, &none, nullptr) == 0);
    tcp_socket buyer(port, default_limit); // by the system; nobody has accepted it
    buyer.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    program.wait_for("accept: Too many open files\n");
    REQUIRE(prlimit(program.pid(), RLIMIT_NOFILE, &usual, nullptr) == 0);
    CHECK(buyer.receive_to_end().starts_with("HTTP/1.1 404 "));
    program.terminate();
    program.expect(0, "listening on [0-9]+\n(accept: Too many open files\n)+");
    expect_clean(server());
}
