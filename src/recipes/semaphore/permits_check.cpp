#include "recipes/semaphore/permits_check.hpp"

#include "recipes/semaphore/semaphore_path.hpp"
#include "recipes/session/error_mapping.hpp"
#include "recipes/session/option_faults.hpp"

#include <string>

namespace zklock::recipes {

using store::outcome;

bool permits_check::passed() const noexcept
{
    return now_ == state::passed || !semaphore_.options().check_permits;
}

void permits_check::begin()
{
    if (now_ != state::due || passed())
        return;
    now_ = state::under_way;
    session_.store.get(semaphore_.path(), false,
                       semaphore_.expect([this](const store::get_reply& answer) { on_read(answer); }));
}

void permits_check::on_read(const store::get_reply& answer)
{
    now_ = state::due;
    switch (answer.result) {
    case outcome::ok: break;
    case outcome::no_node: // it is made with the nodes
    case outcome::unknown: return semaphore_.look_again();
    default: return semaphore_.fail_heads(error_of(answer.result));
    }
    if (answer.data.empty())
        return write(answer.stat.version);
    const auto number = number_in(answer.data);
    if (!number || *number == static_cast<std::int64_t>(semaphore_.options().permits))
        now_ = state::passed; // other text is somebody's own business
    else
        semaphore_.fail_heads(report_fault(session_, semaphore_.path(),
                                           {"permits", std::to_string(semaphore_.options().permits),
                                            std::to_string(*number) + ", as the path's data says (check_permits)"}));
}

void permits_check::write(std::int32_t version)
{
    now_ = state::under_way;
    session_.store.set(semaphore_.path(), std::to_string(semaphore_.options().permits), version,
                       semaphore_.expect([this](const store::stat_reply& answer) { on_written(answer); }));
}

void permits_check::on_written(const store::stat_reply& answer)
{
    now_ = state::due;
    semaphore_.look_again();
    switch (answer.result) {
    case outcome::ok: break;
    case outcome::bad_version: // somebody else was faster: it is read again
    case outcome::no_node:
    case outcome::unknown: return;
    default: return semaphore_.fail_heads(error_of(answer.result));
    }
    now_ = state::passed;
    semaphore_.path_written(answer.stat);
}

} // namespace zklock::recipes
