#include "adapter/client/client_log.hpp"

#include "runtime/log_environment.hpp"
#include "store/repeats.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace zklock::detail {
namespace {

class client_lines {
public:
    client_lines(store::log_function to, std::string identifier, std::function<std::int64_t()> session)
        : to_(std::move(to)), identifier_(std::move(identifier)), session_(std::move(session))
    {
    }

    void write(log_level level, std::string_view text)
    {
        const auto left_out = said_.say(text, lease_clock::now());
        if (!left_out)
            return;
        if (const std::int64_t now = session_(); now != 0)
            last_session_ = now;
        std::string line = identifier_;
        if (last_session_ != 0) {
            line += ' ';
            store::logger::add(line, store::session_name{last_session_});
        }
        line += ": ";
        line += text;
        store::logger::add(line, store::times_left_out{*left_out});
        to_(level, line);
    }

private:
    const store::log_function to_;
    const std::string identifier_;
    const std::function<std::int64_t()> session_;
    std::int64_t last_session_ = 0;
    store::repeats_by_key said_;
};

} // namespace

store::log_function client_log(store::log_function to, std::string identifier, std::function<std::int64_t()> session)
{
    if (!to)
        to = runtime::log_of_environment();
    if (!to)
        return {};
    const log_level most = store::most_taken(to).value_or(log_level::error);
    const auto lines = std::make_shared<client_lines>(std::move(to), std::move(identifier), std::move(session));
    return store::leveled_log{most, [lines](log_level level, std::string_view text) { lines->write(level, text); }};
}

} // namespace zklock::detail
