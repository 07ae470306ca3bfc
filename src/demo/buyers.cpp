// The buyers of the demonstration, who all order one unit at the same moment, spread over the order servers.
#include "crowd.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <stdexcept>

int main(int argc, char** argv)
{
    demo::crowd_settings s;
    int patience_s = 60;
    CLI::App app("Buyers who all order one unit at the same moment.");
    app.add_option("--server", s.servers, "ADDRESS:PORT of an order server; several: buyers take turns")->required();
    app.add_option("--buyers", s.buyers, "how many")->check(CLI::Range(1, 1'000))->capture_default_str();
    app.add_option("--patience", patience_s, "seconds that a buyer waits for an answer")
        ->check(CLI::Range(1, 3'600))
        ->capture_default_str();
    app.add_flag("--watch-queue", s.watch_queue, "show who queued, as read from ZooKeeper during the sale");
    try {
        app.parse(argc, argv);
        s.patience = std::chrono::seconds(patience_s);
        return demo::buy_all_at_once(s) ? 0 : 1;
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    } catch (const std::invalid_argument& e) {
        fmt::print(stderr, "buyers: {}\n", e.what());
        return 2;
    }
}
