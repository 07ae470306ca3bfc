#include "support/expect_clean.hpp"

#include "support/admin_client.hpp"
#include "support/four_letter_words.hpp"

#include <algorithm>

namespace zklock::test {

namespace {

constexpr std::size_t shown = 20;

std::string leftovers(std::uint16_t port, const std::vector<std::string>& paths, bool clients_live)
{
    std::string found;
    std::size_t lines = 0;
    const auto add = [&](const std::string& line) {
        if (++lines <= shown)
            found += "\n  " + line;
    };
    for (const auto& [session, nodes] : ephemerals(port))
        for (const auto& node : nodes)
            add("ephemeral node " + node);
    const auto watched = watches(port);
    for (const auto& [path, sessions] : watched)
        if (!clients_live || std::find(paths.begin(), paths.end(), path) == paths.end())
            add("watch on " + path);
    if (!clients_live && watched.empty() && watch_count(port) != 0)
        add("watch of the children of some node");
    if (!paths.empty()) {
        admin_client admin{port};
        for (const auto& path : paths) {
            admin.sync(path);
            for (const auto& name : admin.children(path))
                add("child " + path + "/" + name);
        }
    }
    if (lines > shown)
        found += "\n  and " + std::to_string(lines - shown) + " more";
    return found;
}

void expect_clean_port(std::uint16_t port, const std::vector<std::string>& paths, milliseconds limit,
                       bool clients_live = false)
{
    std::string found;
    try {
        wait_until("nothing left on the server", limit, [&] {
            try {
                found = leftovers(port, paths, clients_live);
            } catch (const std::runtime_error& e) { // such as a member that is changing its role
                found = std::string("\n  cannot tell: ") + e.what();
            }
            return found.empty();
        });
    } catch (const std::runtime_error& e) {
        throw std::runtime_error(e.what() + std::string("; left:") + found);
    }
}

} // namespace

void expect_clean(zookeeper_server& server, const std::vector<std::string>& paths, milliseconds limit)
{
    expect_clean_port(server.port(), paths, limit);
}

void expect_no_contender(zookeeper_server& server, const std::vector<std::string>& paths, milliseconds limit)
{
    expect_clean_port(server.port(), paths, limit, true);
}

void expect_clean(zookeeper_ensemble& ensemble, const std::vector<std::string>& paths, milliseconds limit)
{
    for (std::size_t i = 0; i < ensemble.size(); ++i)
        if (ensemble[i].running())
            expect_clean_port(ensemble[i].port(), paths, limit);
}

} // namespace zklock::test
