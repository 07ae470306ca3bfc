#include "tool/program/run_program.hpp"

#include "tool/program/exit_status.hpp"

#include <boost/asio/co_spawn.hpp>

#include <cstdio>
#include <exception>
#include <utility>

namespace zklock::tool {

int run_program(boost::asio::io_context& io, boost::asio::awaitable<int> program)
{
    int status = failed;
    boost::asio::co_spawn(io, std::move(program), [&](std::exception_ptr error, int returned) {
        if (!error) {
            status = returned;
            return;
        }
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& e) {
            std::fprintf(stderr, "zklock: %s\n", e.what());
        }
        io.stop(); // what is still open belongs to what has failed
    });
    io.run();
    return status;
}

} // namespace zklock::tool
