#include "run_to_end.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <utility>

namespace demo {

int run_to_end(boost::asio::awaitable<int> program, const std::string& name)
{
    int status = 1;
    boost::asio::io_context io(1);
    boost::asio::co_spawn(io, std::move(program), [&](std::exception_ptr error, int returned) {
        if (!error) {
            status = returned;
            return;
        }
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& e) {
            fmt::print(stderr, "{}: {}\n", name, e.what());
        }
    });
    io.run();
    return status;
}

} // namespace demo
