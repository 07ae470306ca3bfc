#pragma once
#include "tool/run/hold.hpp"

#include <zklock/acquirable.hpp>
#include <zklock/client.hpp>
#include <zklock/events.hpp>
#include <zklock/semaphore.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace zklock::tool {

/// What kind of lock is at the path, and how it is wanted.
struct lock_choice {
    lock_choice() = default;

    std::string path;
    bool shared = false;
    unsigned limit = 0; ///< permits of a semaphore; 0: it is none
};

/// A lock that is wanted. An exclusive one is a mutex: readers of a shared mutex heed it as a writer.
class wanted_lock {
public:
    wanted_lock(const client& zk, const lock_choice& choice);

    using answer = std::function<void(error_code, std::optional<hold>)>;

    /// Acquires it: for ever; or for that long; or only if it is free now, with a time of zero. The slot cancels it.
    void acquire(std::optional<std::chrono::milliseconds> limit, boost::asio::cancellation_slot slot, answer told);

    /// Who holds it and who waits for it. Of a semaphore, those who wait.
    void list(std::function<void(error_code, std::vector<contender>)> told);
    /// Of a semaphore, who holds permits; of other locks as list().
    void list_holders(std::function<void(error_code, std::vector<contender>)> told);

    [[nodiscard]] std::optional<wait_report> last_timeout() const;

private:
    using any = std::variant<acquirable<guard>, semaphore>;
    static any make(const client& zk, const lock_choice& choice);

    any lock_;
};

} // namespace zklock::tool
