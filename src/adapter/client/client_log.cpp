#include "adapter/client/client_log.hpp"

#include "runtime/log_environment.hpp"
#include "store/repeats.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace zklock::detail {
namespace {

struct client_lines {
    store::log_function to;
    std::string identifier;
    std::function<std::int64_t()> session;
    std::int64_t last_session = 0;
    store::repeats_by_key said{};

    void write(log_level level, std::string_view text)
    {
        const auto left_out = said.say(text, lease_clock::now());
        if (!left_out)
            return;
        if (const std::int64_t now = session(); now != 0)
            last_session = now;
        const std::string who =
            last_session != 0 ? store::logger::line(identifier, " ", store::session_name{last_session}) : identifier;
        to(level, store::logger::line(who, ": ", text, store::times_left_out{*left_out}));
    }
};

} // namespace

store::log_function client_log(store::log_function to, std::string identifier, std::function<std::int64_t()> session)
{
    if (!to)
        to = runtime::log_of_environment();
    if (!to)
        return {};
    const log_level most = store::most_taken(to).value_or(log_level::error);
    const auto lines =
        std::make_shared<client_lines>(client_lines{std::move(to), std::move(identifier), std::move(session)});
    return store::leveled_log{most, [lines](log_level level, std::string_view text) { lines->write(level, text); }};
}

} // namespace zklock::detail
