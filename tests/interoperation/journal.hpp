#pragma once
#include "support/polling.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace zklock::test {

/// A line that a peer has noted: `PEER ATTEMPT WHAT NANOSECONDS [WORD...]`; the time is that of the machine's monotonic
/// clock, for whoever reads it after a failure.
///
///     ready                      connected ("-" for the attempt)
///     granted KIND NODE          KIND is exclusive, shared, or a number of permits; NODE the full path
///     downgrading                gives up its exclusiveness now
///     downgraded NODE
///     leaving                    is about to give the lock back; also: has been told that it is lost
///     released
///     gave-up WHY                timed-out, cancelled, busy
///     revoked                    was asked to let go
///     handoffs TAKEN GIVEN       so many past the servers until now ("-" for the attempt)
///     permits NUMBER             goes by that many permits from now on (Curator's, of a SharedCount that changed)
///     failed TEXT                anything else
///     done                       no more turns
///     killed                     noted by the test, for the whole peer
struct event {
    std::string peer, attempt, what;
    std::vector<std::string> words;
};

/// What all peers of a test have noted, in one file to which each line is added by one write. A peer notes a grant
/// after it and the end of its hold before it: so holds that overlap in the file have overlapped, and the file is the
/// witness of mutual exclusion.
class journal {
public:
    /// Begins a new one; or, for a peer, goes on with what there is.
    explicit journal(std::filesystem::path file, bool existing = false);

    [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }
    /// How many permits the path whose nodes stand for them has, for as long as the journal is judged.
    void limit(const std::string& path, std::size_t permits) { permits_[path] = permits; }
    [[nodiscard]] const std::map<std::string, std::size_t>& permits() const noexcept { return permits_; }
    /// For the test itself, in a peer's name.
    void note(const std::string& line);
    [[nodiscard]] const std::vector<event>& events();
    [[nodiscard]] std::size_t count(std::string_view peer, std::string_view attempt, std::string_view what);
    /// Until it stands there; throws when the peer's attempt has failed before, or never does it.
    void wait_for(const std::string& peer, const std::string& attempt, const std::string& what,
                  milliseconds limit = default_limit);
    /// The last event's words; it must have happened.
    [[nodiscard]] std::vector<std::string> words_of(std::string_view peer, std::string_view attempt,
                                                    std::string_view what);
    [[nodiscard]] std::string text() const;

private:
    std::filesystem::path file_;
    std::size_t read_ = 0; ///< bytes
    std::vector<event> events_;
    std::map<std::string, std::size_t> permits_;
};

/// What is wrong with what was noted, a line each: holders that exclude each other and were inside together, more
/// permits than a path has, permits of a path of which nobody said how many it has, grants out of the order of the
/// numbers.
///
/// @param permits How many each path has, of all paths whose holders have permits.
[[nodiscard]] std::string violations(const std::vector<event>& events,
                                     const std::map<std::string, std::size_t>& permits = {});

/// Ends the program if there are violations, after printing all that was noted: no second attempt makes that good.
void expect_sound(journal& noted);

/// The sequence number at the end of a node's name.
[[nodiscard]] std::int64_t number_of(std::string_view node);

} // namespace zklock::test
