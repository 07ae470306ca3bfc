#pragma once
#include "runtime/blocking_call.hpp"
#include "runtime/strand.hpp"

#include <boost/asio/execution_context.hpp>
#include <boost/asio/ip/address.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zklock::bridge {

/// What the system's resolver said of a host name.
struct name_answer {
    std::vector<boost::asio::ip::address> addresses{};
    std::string why_none{};  ///< why there are no addresses, for people
    bool unanswered = false; ///< nobody could be asked, so the name may have addresses all the same
    std::chrono::steady_clock::time_point asked{};
};

/// A host name that is looked up.
struct name_lookup {
    using answered = std::function<void(const name_answer&)>;

    const std::string host;
    const runtime::strand strand;
    const answered done;
    std::atomic<bool> cancelled{false}; ///< nobody wants the answer
    std::atomic<bool> lost{false};      ///< there was no memory for it: the answer will not come
};

/// Does what blocks, for all clients of an execution context: above all, it looks up host names. The system's resolver
/// may block for minutes, and Asio's asks it for one name after the other. So this class has threads that ask it, which
/// are there only as long as there is work. All who ask for a name while it is being looked up get the same answer.
///
/// A lookup cannot be ended. One that takes longer than `patience` no longer counts: another thread looks names up
/// beside it, as long as there are no more than `most_threads` in all. The end of the context waits for the names that
/// are being looked up just then, and so does its preparation for a fork. Any other call is treated as a lookup is, but
/// comes before all names that wait, and has a thread where all are stuck with names.
class blocking_calls final : public boost::asio::execution_context::service {
public:
    inline static boost::asio::execution_context::id id;

    // These limits are for all clients of a context together.
    static constexpr std::size_t at_once = 8;
    static constexpr std::chrono::seconds patience{2}; ///< longer than a resolver that works takes
    static constexpr std::size_t most_threads = 32;

    explicit blocking_calls(boost::asio::execution_context& context);
    ~blocking_calls() override;

    /// Looks the name up, and calls `done` on its strand, unless the context ends before. From any thread.
    void begin(const std::shared_ptr<name_lookup>&);
    /// Makes the call on one of the threads, and then says so, unless the context ends before, or nobody wants the call
    /// when its turn comes. From any thread.
    void begin(std::shared_ptr<runtime::blocking_call>, runtime::call_told);

private:
    struct shared;
    void shutdown() override;
    void notify_fork(boost::asio::execution_context::fork_event) override;

    std::atomic<shared*> current_; ///< owned; replaced in a forked process
};

} // namespace zklock::bridge
