// with_server COMMAND ARGUMENTS...: runs the command beside a ZooKeeper server of its own, whose address it finds in
// the environment variable ZOOKEEPER, and ends with the command's status.
#include "support/child_process.hpp"
#include "support/zookeeper_server.hpp"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

int main(int count, char** arguments)
try {
    const std::vector<std::string> command(arguments + 1, arguments + count);
    if (command.empty()) {
        std::cerr << "usage: with_server COMMAND ARGUMENTS...\n";
        return 2;
    }
    zklock::test::zookeeper_server server;
    ::setenv("ZOOKEEPER", server.address().c_str(), 1);
    zklock::test::child_process process{command, std::filesystem::current_path(), {}};
    return process.wait(std::chrono::minutes{1});
} catch (const std::exception& e) {
    std::cerr << "with_server: " << e.what() << '\n';
    return 1;
}
