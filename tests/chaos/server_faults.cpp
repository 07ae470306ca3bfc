#include "chaos/server_faults.hpp"

#include "support/wire.hpp"

#include <fstream>

namespace zklock::chaos {

std::string different_data(std::istream& log)
{
    for (std::string line; std::getline(log, line);)
        if (line.find("Digests are not matching") != std::string::npos)
            return line;
    return {};
}

bool was_written(const std::filesystem::path& folder, std::string_view data)
{
    const std::string record = test::wire_writer().text(data).frame().substr(4); // a log has no frames
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        if (!file.path().filename().string().starts_with("log."))
            continue;
        std::string all(file.file_size(), '\0'); // mostly zeros, which servers have set aside
        std::ifstream in(file.path(), std::ios::binary);
        in.read(all.data(), static_cast<std::streamsize>(all.size()));
        for (auto at = all.find(data); at != all.npos; at = all.find(data, at + 1))
            if (std::string_view(all).substr(0, at + data.size()).ends_with(record))
                return true;
    }
    return false;
}

} // namespace zklock::chaos
