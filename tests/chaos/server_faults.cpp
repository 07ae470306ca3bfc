#include "chaos/server_faults.hpp"

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
    std::string length; // stands before the data
    for (int bits = 24; bits >= 0; bits -= 8)
        length += static_cast<char>(data.size() >> bits & 0xff);
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        if (!file.path().filename().string().starts_with("log."))
            continue;
        std::string all(file.file_size(), '\0'); // mostly zeros, which servers have set aside
        std::ifstream in(file.path(), std::ios::binary);
        in.read(all.data(), static_cast<std::streamsize>(all.size()));
        for (auto at = all.find(data); at != all.npos; at = all.find(data, at + 1))
            if (std::string_view(all).substr(0, at).ends_with(length))
                return true;
    }
    return false;
}

} // namespace zklock::chaos
