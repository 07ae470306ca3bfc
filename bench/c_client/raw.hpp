#pragma once
#include "c_client/session.hpp"

#include <optional>
#include <string>

namespace zklock::bench {

/// Where a contender's node goes; the server appends the number. As long as zklock's and Curator's names are.
inline std::string contender_prefix(const std::string& parent)
{
    return parent + "/_c_00000000-0000-0000-0000-000000000000-lock-";
}
inline const int contender_flags = ZOO_EPHEMERAL | ZOO_SEQUENCE;

/// What the raw workloads have in common: one session, whose path exists.
class raw_scene : public workload {
public:
    explicit raw_scene(request asked) : asked_(std::move(asked)) {}

    void set_up() override
    {
        session_.emplace(loop_, asked_.text("servers"));
        make_path(loop_, *session_, path());
    }
    void tear_down() override { session_.reset(); }

protected:
    [[nodiscard]] std::string path() const { return asked_.text("path"); }
    [[nodiscard]] std::chrono::milliseconds seconds() const { return asked_.milliseconds("ms"); }

    request asked_;
    loop loop_;
    std::optional<session> session_;
};

std::unique_ptr<workload> make_raw_latency_workload(const request& asked); ///< uncontended, first, children, handoff
std::unique_ptr<workload> make_raw_apart_workload(const request& asked);   ///< handoff between processes
std::unique_ptr<workload> make_raw_rate_workload(const request& asked);    ///< crowd, independent, arrivals
std::unique_ptr<workload> make_raw_service(const request& asked);          ///< prepare, until_children
std::unique_ptr<workload> make_raw_fleet(const request& asked);            ///< fleet

} // namespace zklock::bench
