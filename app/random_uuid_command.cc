#include "app/random_uuid_command.h"

#include <CLI/CLI.hpp>
#include <ostream>

#include "base/uuid.h"

namespace barnabas::app {

void RandomUuidCommand::declare(CLI::App& app) {
  app.footer("Example: barnabas format -c server.properties -t \"$(barnabas random-uuid)\"");
}

int RandomUuidCommand::run(std::ostream& out, std::ostream&) {
  out << Uuid::random().to_string() << "\n";
  return 0;
}

}  // namespace barnabas::app
