#include "support/undisturbed.hpp"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <thread>

namespace zklock::test {

namespace {

/// Notices when this process does not run, by a thread that wants to be woken every few milliseconds.
class stall_watch {
public:
    stall_watch() : thread_([this] { watch(); }) {}
    ~stall_watch() { longest(); }
    stall_watch(const stall_watch&) = delete;
    stall_watch& operator=(const stall_watch&) = delete;

    /// Ends the watch. It waits for the thread: when the process has just gone on, the thread may be the last to
    /// run.
    milliseconds longest()
    {
        over_ = true;
        if (thread_.joinable())
            thread_.join();
        return milliseconds{longest_};
    }

private:
    void watch()
    {
        auto last = began_;
        for (bool over = false; !over;) {
            over = over_; // before the look at the clock: what stood still until now is seen
            if (!over)
                ::poll(nullptr, 0, 5);
            const auto now = steady_clock::now();
            longest_ = std::max(longest_, std::chrono::duration_cast<milliseconds>(now - last).count());
            last = now;
        }
    }

    const steady_clock::time_point began_ = steady_clock::now(); ///< not the thread's own, which may be late
    std::atomic<bool> over_ = false;
    milliseconds::rep longest_ = 0; // the thread's own until it has ended
    std::thread thread_;            // the last: it uses the others
};

} // namespace

std::string play_undisturbed(milliseconds tolerable, const std::function<void(timed_scene&)>& scene)
{
    constexpr int attempts = 5;
    for (int attempt = 1;; ++attempt) {
        stall_watch watch;
        timed_scene played;
        std::string wrong;
        bool counts = true;
        try {
            scene(played);
            for (const auto& complaint : played.complaints())
                wrong += complaint + '\n';
        } catch (const premise_failed& e) {
            wrong = std::string("the premise failed: ") + e.what();
            counts = false;
        } catch (const std::exception& e) {
            if (attempt == attempts || watch.longest() <= tolerable)
                throw;
            wrong = e.what();
        }
        counts = counts && watch.longest() <= tolerable;
        if (wrong.empty() || counts || attempt == attempts)
            return wrong;
        std::cout << "disturbed, a standstill of " << watch.longest().count() << " ms; once more, instead of: " << wrong
                  << std::endl;
    }
}

} // namespace zklock::test
