#pragma once
#include "bridge/names/blocking_calls.hpp"
#include "bridge/names/host_list.hpp"
#include "bridge/names/server_address.hpp"
#include "runtime/strand.hpp"
#include "runtime/turns.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zklock::bridge {

/// Makes addresses of a host list, without blocking anybody. It belongs to the strand. Names are looked up all at once,
/// and a name that takes its time is not asked for twice meanwhile.
class host_resolver : public std::enable_shared_from_this<host_resolver> {
public:
    using clock = server_address::clock;
    using failed = std::function<void(const host_port&, const std::string& why)>;
    using answered = std::function<void()>;

    /// What it calls is called in turns.
    host_resolver(const runtime::strand& strand, const std::vector<host_port>& servers,
                  std::shared_ptr<runtime::turns> = std::make_shared<runtime::turns>());

    /// Begins a round: asks for each name that is not being looked up, and tells `miss` at once of those whose answers
    /// were lost for want of memory. Later `news` is called for each name that was answered, once at least, and before
    /// that `miss` if the name has no address. A name whose answer is to a question from before `since` is asked again.
    void resolve(clock::time_point since, failed miss, answered news);

    /// There is more in the list than addresses.
    [[nodiscard]] bool has_names() const noexcept { return !names_.empty(); }
    /// Names that were asked for in this round are still being looked up.
    [[nodiscard]] bool busy() const noexcept { return asked_ != 0; }
    /// No name is being looked up, of this round or an earlier one.
    [[nodiscard]] bool complete() const noexcept;
    /// What is known: the addresses that stand in the list, and those of the names' last answers. An address to which
    /// several names lead is there once, with all of these.
    [[nodiscard]] std::vector<address_ptr> found() const;
    /// The names that had no address when they were answered last, and why.
    [[nodiscard]] std::map<std::string, std::string> unresolved() const;

    /// Forgets what is under way; its functions will not be called.
    void cancel();

private:
    struct name {
        host_port server;
        std::shared_ptr<name_lookup> lookup; ///< null: it is not being looked up
        bool of_this_round = false;
        std::vector<boost::asio::ip::address> addresses;     ///< of its last answer
        clock::time_point asked{};                           ///< when the question was asked to which that was given
        std::optional<clock::time_point> unanswered_since{}; ///< when the first was that has no answer
        std::string why_none{};                              ///< there was no address when it was asked last
    };
    void ask(name&);
    void answer(name&, const name_answer&);
    void tell();

    runtime::strand strand_;
    const std::shared_ptr<runtime::turns> turns_;
    std::vector<host_port> given_; ///< the addresses in the list
    std::vector<name> names_;
    std::size_t asked_ = 0;
    failed miss_;
    answered news_;
    clock::time_point since_{};
};

} // namespace zklock::bridge
