#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <functional>

namespace zklock::tool {

/// The signals that the tool heeds. What was ignored when it was started stays ignored, as under nohup.
class caught_signals {
public:
    caught_signals(boost::asio::io_context& io, std::function<void(int)> told);

    /// Heeds those, too, that only a command understands: the terminal's key that stops it, and a new size of it.
    void heed_job_control();
    /// Leaves them to what they do by themselves.
    void unheed_job_control();

    /// Stops this process as SIGTSTP does by itself, and with `whole_group` those of its group. Returns when it goes
    /// on.
    void stop_ourselves(bool whole_group);

    void end() { signals_.cancel(); }

private:
    void add(int number);
    void wait();

    boost::asio::signal_set signals_;
    std::function<void(int)> told_;
    bool job_control_ = false;
};

/// Whether it is a request to end: for a tool that only waits, any that would end it by itself.
[[nodiscard]] bool ends_the_tool(int number);
/// Its name, such as `TERM`.
[[nodiscard]] const char* name_of_signal(int number);

} // namespace zklock::tool
