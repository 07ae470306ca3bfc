#include "tool/program/run_program.hpp"

#include "tool/program/exit_status.hpp"
#include "tool/program/standard_error.hpp"
#include "tool/program/voice.hpp"

#include <boost/asio/co_spawn.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

namespace zklock::tool {

boost::asio::io_context& make_context()
{
    static auto& all = *new std::vector<std::unique_ptr<boost::asio::io_context>>; // neither it nor they are destroyed
    return *all.emplace_back(std::make_unique<boost::asio::io_context>(1));
}

int run_program(boost::asio::io_context& io, boost::asio::awaitable<int> program)
{
    int status = failed;
    boost::asio::co_spawn(io, std::move(program), [&](std::exception_ptr error, int returned) {
        io.stop(); // what is still open is a lookup of a name, or belongs to what has failed
        if (!error) {
            status = returned;
            return;
        }
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& e) {
            write_to_stderr(as_message(e.what()));
        }
    });
    io.run();
    return status;
}

void end_process(int status)
{
    std::cout.flush();
    std::fflush(stdout);
    std::_Exit(status);
}

} // namespace zklock::tool
