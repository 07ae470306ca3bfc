#pragma once
#include <boost/intrusive/slist.hpp>

#include <atomic>
#include <memory>

namespace zklock::detail {

/// Something to do on a client's strand. It is its own place in the line there, so to have it done takes no memory. It
/// is done once, if it is posted again before that.
class strand_task : public boost::intrusive::slist_base_hook<> {
public:
    virtual ~strand_task() = default;
    virtual void run() = 0;

private:
    friend class task_line;
    std::shared_ptr<strand_task> self_; ///< while it is in line
    std::atomic<bool> in_line_{false};
};

/// A line of them. Only claim() and release() may be called from several threads at once.
class task_line {
public:
    /// False if it is in line.
    [[nodiscard]] static bool claim(strand_task& t) noexcept { return !t.in_line_.exchange(true); }
    /// It may be put in line again. What was done by those who could not claim it is seen now.
    static void release(strand_task& t) noexcept { t.in_line_.exchange(false); }

    [[nodiscard]] bool empty() const noexcept { return line_.empty(); }
    /// It has been claimed.
    void push(std::shared_ptr<strand_task> t) noexcept
    {
        strand_task& last = *t;
        last.self_ = std::move(t);
        line_.push_back(last);
    }
    /// The first, which is released; null if there is none.
    [[nodiscard]] std::shared_ptr<strand_task> take_first() noexcept
    {
        if (line_.empty())
            return nullptr;
        strand_task& first = line_.front();
        line_.pop_front();
        auto taken = std::move(first.self_);
        release(first);
        return taken;
    }
    /// Takes all out of another line, to which none of this has to be added.
    void take_all(task_line& from) noexcept { line_.swap(from.line_); }

private:
    boost::intrusive::slist<strand_task, boost::intrusive::cache_last<true>,
                            boost::intrusive::constant_time_size<false>>
        line_;
};

} // namespace zklock::detail
