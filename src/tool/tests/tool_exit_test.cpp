// Every exit comes within its time limits, whatever name servers and readers of stderr do.
#include "tool/tests/tool_scene.hpp"

#include "support/skip.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

using namespace zklock::test;

namespace {

/// Takes questions on port 53 of an address of the loopback interface, and answers none.
class mute_name_server {
public:
    /// Whether there is one: the port needs root.
    [[nodiscard]] bool is_there()
    {
        socket_ = unique_fd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
        sockaddr_in here{};
        here.sin_family = AF_INET;
        here.sin_port = htons(53);
        ::inet_pton(AF_INET, address.c_str(), &here.sin_addr);
        return ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0;
    }

    /// Other processes may have one, too.
    const std::string address =
        "127.77." + std::to_string(::getpid() / 250 % 250) + '.' + std::to_string(::getpid() % 250 + 1);

private:
    unique_fd socket_;
};

} // namespace

TEST_CASE("a name server that does not answer holds up no exit")
{
    tool_scene scene;
    mute_name_server server;
    std::ofstream(scene.file("resolv.conf")) << "nameserver " << server.address << "\noptions timeout:30 attempts:5\n";
    const std::string hidden = "mount --bind resolv.conf /etc/resolv.conf && ";
    if (!server.is_there() || scene.run_command({"unshare", "-m", "sh", "-c", hidden + "true"}).status != 0)
        return skip("a name server of one's own needs root");
    const std::string options = " --servers zookeeper.example:2181 --connect-timeout 1 ";
    for (const std::string& words : {"ls" + options + "/exit/x", "doctor" + options, "top" + options + "/exit/x",
                                     "run" + options + "/exit/x -- true", "run -w 1" + options + "/exit/x"}) {
        CAPTURE(words);
        const auto began = steady_clock::now();
        const ended_tool ended =
            scene.run_command({"unshare", "-m", "sh", "-c", hidden + tool_scene::program() + ' ' + words});
        INFO(ended.text);
        CHECK(ended.status == 122);
        CHECK(steady_clock::now() - began < std::chrono::seconds(25)); // the first question takes 30 s
    }
}

TEST_CASE("nobody reads stderr, and the pipe is full: the command runs, and the status is told all the same")
{
    tool_scene scene;
    std::ofstream(scene.file("full.sh")) << "mkfifo full; exec 3<>full\n"
                                            "dd if=/dev/zero of=full bs=4096 oflag=nonblock 2>/dev/null\n"
                                            "exec \"$@\" 2>full\n";
    const auto full = [&](const std::string& name, const std::string& words) {
        const std::string directory = "mkdir " + name + " && cd " + name + " && ";
        const ended_tool ended = scene.run_command(
            {"sh", "-c", directory + "ZKLOCK_LOG=debug exec sh ../full.sh " + tool_scene::program() + ' ' + words});
        INFO(ended.text);
        return ended.status;
    };
    CHECK(full("run", "run -v /exit/full -- sh -c 'exit 7'") == 7);
    CHECK(full("json", "run --json /exit/full -- sh -c 'exit 7'") == 7);
    CHECK(full("ls", "ls /exit/full") == 0);
    CHECK(full("option", "run --nonsense /exit/full -- true") == 120);
    CHECK(full("path", "ls exit") == 120);
    CHECK(full("servers", "ls --servers 127.0.0.1:1 --connect-timeout 0.5 /exit/full") == 122);
}

TEST_CASE("a signal ends top well while its reader does not read")
{
    tool_scene scene;
    pipe_ends shown;
    auto top = scene.start_command({"sh", "-c",
                                    "mkfifo full; exec 3<>full; dd if=/dev/zero of=full bs=4096 "
                                    "oflag=nonblock 2>/dev/null; echo $$; exec " +
                                        tool_scene::program() + " top /exit/top >full"});
    const pid_t id = scene.await_pid("output");
    wait_until("a wait for the reader", default_limit, [&] {
        std::ifstream in("/proc/" + std::to_string(id) + "/wchan");
        std::string where;
        return std::getline(in, where) && where.find("pipe_write") != std::string::npos;
    });
    top.signal(SIGTERM);
    CHECK_MESSAGE(top.wait() == 0, scene.contents("output"));
}
