// c_recipe_peer NAME SERVERS SESSION_TIMEOUT_MS JOURNAL: a peer that queues as ZooKeeper's own C recipe does;
// peer.hpp tells what it reads and notes. It knows one recipe, mutex, needs `hold`, and serves one attempt after the
// other, because its nodes are called by its session. The session's time-out is the benchmark's.
#include "c_client/recipe_lock.hpp"
#include "c_client/session.hpp"
#include "interoperation/journal.hpp"

#include <iostream>
#include <iterator>
#include <sstream>

namespace {

using namespace zklock::bench;

void serve(const std::string& name, const std::string& servers, const char* file)
{
    zklock::test::journal noted(file, true);
    const auto note = [&](const std::string& attempt, const std::string& event, const std::string& words = {}) {
        noted.note(name + " " + attempt + " " + event + " " +
                   std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()) + words);
    };
    loop turning;
    session own(turning, servers);
    std::map<std::string, recipe_lock*> watchers;
    own.on_event = [&](int, const char* path) { recipe_lock::dispatch(watchers, path); };
    note("-", "ready");
    for (std::string text; std::getline(std::cin, text) && text != "quit";) {
        std::istringstream line(text);
        const std::vector<std::string> words(std::istream_iterator<std::string>(line), {});
        std::map<std::string, int> options;
        for (std::size_t i = 4; i < words.size(); ++i)
            options[words[i].substr(0, words[i].find('='))] = std::stoi(words[i].substr(words[i].find('=') + 1));
        const auto& [attempt, path] = std::tie(words.at(1), words.at(3));
        recipe_lock lock(own, watchers, path);
        for (int turn = options.contains("times") ? options["times"] : 1; turn > 0; --turn) {
            bool granted = false;
            bool released = false;
            lock.lock([&] { granted = true; });
            turning.run_until([&] { return granted; });
            note(attempt, "granted", " exclusive " + path + "/" + lock.node());
            turning.run_for(std::chrono::milliseconds(options.at("hold")));
            note(attempt, "leaving");
            lock.unlock([&] { released = true; });
            turning.run_until([&] { return released; });
            note(attempt, "released");
        }
        note(attempt, "done");
    }
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 5) {
        std::cerr << "usage: c_recipe_peer NAME SERVERS SESSION_TIMEOUT_MS JOURNAL\n";
        return 2;
    }
    try {
        serve(argv[1], argv[2], argv[4]);
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
