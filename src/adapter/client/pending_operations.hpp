#pragma once
#include "adapter/client/strand_task.hpp"

#include <boost/intrusive/list.hpp>

#include <memory>
#include <utility>

namespace zklock::detail {

/// An operation as its client sees it; see operation.hpp.
class pending_operation
    : public strand_task,
      public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    using place_in_list = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

public:
    /// The client is closed, has failed, or was never open: ends the operation if it has not ended.
    virtual void end_as_closed() = 0;
    /// The execution context is going away: drops the handler uncalled.
    virtual void abandon() = 0;

protected:
    /// Takes it off its list, and returns what has kept it alive: perhaps the last pointer to it.
    [[nodiscard]] std::shared_ptr<pending_operation> leave() noexcept
    {
        place_in_list::unlink();
        return std::move(self_);
    }

private:
    friend class pending_operations;
    std::shared_ptr<pending_operation> self_;
};

/// The operations of a client that have begun, and have not ended.
class pending_operations {
public:
    /// The operation stays alive, and among them, until it ends.
    void add(std::shared_ptr<pending_operation> op) noexcept { begun_.push_back(keep(std::move(op))); }
    /// The same, of one that waits for the end of the client: it comes after those that this ends.
    void add_last(std::shared_ptr<pending_operation> op) noexcept { last_.push_back(keep(std::move(op))); }
    /// The client is closed.
    void end_all()
    {
        for_each([](pending_operation& op) { op.end_as_closed(); });
    }
    /// The client has failed.
    void end_failed() noexcept
    {
        for_each([](pending_operation& op) {
            try {
                op.end_as_closed();
            } catch (...) { // NOLINT: the executor does not take the handler, which is destroyed
            }
        });
    }
    void abandon_all()
    {
        for_each([](pending_operation& op) { op.abandon(); });
    }

private:
    using list = boost::intrusive::list<pending_operation, boost::intrusive::constant_time_size<false>>;

    static pending_operation& keep(std::shared_ptr<pending_operation> op) noexcept
    {
        pending_operation& kept = *op;
        kept.self_ = std::move(op);
        return kept;
    }
    /// Each is off its list then, whatever becomes of it.
    template <class F> void for_each(F f)
    {
        for (auto* each : {&begun_, &last_})
            while (!each->empty()) {
                auto& first = each->front();
                each->pop_front();
                const auto kept = std::move(first.self_);
                f(*kept);
            }
    }

    list begun_;
    list last_; ///< those that wait for the end of the client
};

} // namespace zklock::detail
