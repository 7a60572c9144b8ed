#include "io/disk.h"

#include <cerrno>
#include <system_error>

#include "io/system_error.h"

namespace barnabas::io {

Error system_error(std::string_view call, const std::string& path, int number) {
  ErrorKind kind = ErrorKind::io;
  if (number == ENOSPC || number == EDQUOT) kind = ErrorKind::no_space;
  if (number == ENOENT) kind = ErrorKind::not_found;
  if (number == EEXIST) kind = ErrorKind::already_exists;
  const int kept = kind == ErrorKind::io || kind == ErrorKind::no_space ? number : 0;
  return Error{kind, std::string(call) + " " + path + ": " + std::system_category().message(number), kept};
}

std::string parent_directory(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  if (slash == 0) return "/";
  return path.substr(0, slash);
}

Result<std::string> read_file(Disk& disk, const std::string& path, uint64_t size_max) {
  BARNABAS_ASSIGN(const auto file, disk.open(path, OpenMode::read));
  BARNABAS_ASSIGN(const uint64_t size, file->size());
  if (size > size_max) {
    return fail(ErrorKind::too_large, path + ": " + std::to_string(size) + " bytes, at most " +
                                          std::to_string(size_max) + " expected");
  }
  std::string content(size, '\0');
  BARNABAS_ASSIGN(const std::size_t count,
                  file->read_at(std::as_writable_bytes(std::span(content.data(), content.size())), 0));
  content.resize(count);
  return content;
}

Result<void> replace_file(Disk& disk, const std::string& path, std::string_view content) {
  const std::string temporary = path + ".tmp";
  {
    BARNABAS_ASSIGN(const auto file, disk.open(temporary, OpenMode::create));
    BARNABAS_TRY(file->truncate(0));
    if (!content.empty()) BARNABAS_TRY(file->write_at(as_byte_view(content), 0));
    BARNABAS_TRY(file->sync_data());
  }
  BARNABAS_TRY(disk.rename(temporary, path));
  return disk.sync_directory(parent_directory(path));
}

}  // namespace barnabas::io
