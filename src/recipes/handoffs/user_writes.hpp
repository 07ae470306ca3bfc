#pragma once
#include "store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace zklock::recipes {

/// The writes that users have asked of a client, so that it is known whether there were any while something was held.
class user_writes {
public:
    /// What was known at a moment.
    struct moment {
        std::uint64_t ended = 0;
        std::uint64_t unknown = 0;
        bool quiet = false; ///< no write waits, is under way, or may still be done
    };
    [[nodiscard]] moment now() const noexcept { return {ended_, unknown_, open_ == 0 && unknown_ == settled_}; }

    /// Whether at no moment since that one a write waited, was under way, ended, or may still be done.
    [[nodiscard]] bool none_since(const moment& then) const noexcept
    {
        const moment last = now();
        return then.quiet && last.quiet && then.ended == last.ended && then.unknown == last.unknown;
    }

    /// A write was done over a connection that is newer than all whose answers were lost. So those are done, or never
    /// will be: their connections cannot write any more.
    void server_proved() noexcept { settled_ = unknown_; }

private:
    friend class user_write;
    std::uint64_t ended_ = 0;
    std::uint64_t unknown_ = 0; ///< whose answer was lost
    std::uint64_t settled_ = 0; ///< of those
    std::size_t open_ = 0;      ///< that wait, or are under way
};

/// One of those writes, from the call until its end is certain. It counts nothing unless it has begun.
class user_write {
public:
    user_write() = default;
    user_write& operator=(user_write&&) = delete;
    void begin(std::shared_ptr<user_writes> in) noexcept
    {
        in_ = std::move(in);
        ++in_->open_;
    }
    ~user_write()
    {
        if (under_way_ != 0)
            lose();
        under_way_ = 0;
        close();
    }

    /// A request of it is being made.
    void sends() noexcept { ++under_way_; }
    void answered(const store::reply& answer) noexcept
    {
        --under_way_;
        if (answer.result == store::outcome::unknown && !answer.undone)
            lose();
    }
    /// It ends, once all that was sent is answered.
    void close() noexcept
    {
        if (!in_ || under_way_ != 0)
            return;
        --in_->open_;
        in_->ended_ += lost_ ? 0 : 1;
        in_.reset();
    }

private:
    void lose() noexcept
    {
        if (in_)
            ++in_->unknown_;
        lost_ = true;
    }

    std::shared_ptr<user_writes> in_;
    std::size_t under_way_ = 0;
    bool lost_ = false;
};

} // namespace zklock::recipes
