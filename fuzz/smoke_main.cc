// Runs a fuzz target without libFuzzer: each file of the corpus, then mutations of them from a fixed seed, so
// that every run does the same. `fuzz_NAME DIRECTORY|FILE… [--runs N] [--seconds N] [--seed N]`. When the
// target crashes, the input is printed in hex and the program exits with 1.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<uint8_t>;
using barnabas::SeededRandom;

constexpr std::size_t input_bytes_max = 64 * 1024;

struct Options {
  std::vector<std::string> paths;
  uint64_t runs = 5'000;
  uint64_t seconds = 10;
  uint64_t seed = 1;
};

const Input* current_input = nullptr;

void write_text(std::string_view text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

/// Only calls what a signal handler may call.
void on_crash(int) {
  write_text("fuzz target crashed with input (hex): ");
  if (current_input != nullptr) {
    for (const uint8_t byte : *current_input) {
      constexpr std::string_view digits = "0123456789abcdef";
      const char pair[] = {digits[byte >> 4], digits[byte & 0xf]};
      write_text({pair, 2});
    }
  }
  write_text("\n");
  _exit(1);
}

void run(const Input& input) {
  // The target gets a buffer of exactly that size, so that a sanitizer sees a read behind it.
  const Input exact(input.begin(), input.end());
  current_input = &exact;
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
  current_input = nullptr;
}

uint64_t number_behind(int count, char** words, int& at) {
  if (at + 1 >= count) {
    std::fprintf(stderr, "%s needs a number\n", words[at]);
    std::exit(2);
  }
  return std::strtoull(words[++at], nullptr, 10);
}

Options parse(int count, char** words) {
  Options options;
  for (int at = 1; at < count; ++at) {
    const std::string_view word = words[at];
    if (word == "--runs") {
      options.runs = number_behind(count, words, at);
    } else if (word == "--seconds") {
      options.seconds = number_behind(count, words, at);
    } else if (word == "--seed") {
      options.seed = number_behind(count, words, at);
    } else {
      options.paths.emplace_back(word);
    }
  }
  return options;
}

std::vector<Input> read_corpus(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  std::vector<Input> corpus;
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "cannot read %s\n", file.c_str());
      std::exit(2);
    }
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

/// A number that breaks things more often than others do.
void write_odd_number(Input& input, SeededRandom& random) {
  static constexpr uint64_t odd[] = {0,
                                     1,
                                     0x7f,
                                     0x80,
                                     0xff,
                                     0x7fff,
                                     0x8000,
                                     0xffff,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     0x7fffffffffffffff,
                                     0x8000000000000000,
                                     0xffffffffffffffff};
  const uint64_t value = odd[random.below(std::size(odd))];
  const std::size_t width = std::size_t{1} << random.below(4);
  if (input.size() < width) return;
  const std::size_t at = random.below(input.size() - width + 1);
  for (std::size_t i = 0; i < width; ++i)
    input[at + i] = static_cast<uint8_t>(value >> (8 * (width - 1 - i)));
}

void mutate(Input& input, const std::vector<Input>& corpus, SeededRandom& random) {
  const auto place = [&] { return static_cast<std::ptrdiff_t>(random.below(input.size() + 1)); };
  switch (random.below(7)) {
    case 0:
      if (!input.empty()) input[random.below(input.size())] ^= static_cast<uint8_t>(1 << random.below(8));
      break;
    case 1:
      if (!input.empty()) input[random.below(input.size())] = static_cast<uint8_t>(random.next());
      break;
    case 2:
      write_odd_number(input, random);
      break;
    case 3:
      input.insert(input.begin() + place(), 1 + random.below(8), static_cast<uint8_t>(random.next()));
      break;
    case 4: {
      const auto [first, last] = std::minmax({place(), place()});
      input.erase(input.begin() + first, input.begin() + std::min(last, first + 16));
      break;
    }
    case 5: {
      const auto [first, last] = std::minmax({place(), place()});
      const Input piece(input.begin() + first, input.begin() + last);
      input.insert(input.begin() + place(), piece.begin(), piece.end());
      break;
    }
    default: {
      const Input& other = corpus[random.below(corpus.size())];
      input.resize(static_cast<std::size_t>(place()));
      input.insert(input.end(), other.end() - static_cast<std::ptrdiff_t>(random.below(other.size() + 1)),
                   other.end());
    }
  }
  if (input.size() > input_bytes_max) input.resize(input_bytes_max);
}

}  // namespace

int main(int count, char** words) {
  const Options options = parse(count, words);
#ifdef __SANITIZE_ADDRESS__
  signal(SIGABRT, on_crash);  // the sanitizer reports the others better
#else
  for (const int each : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) signal(each, on_crash);
#endif

  std::vector<Input> corpus = read_corpus(options.paths);
  corpus.emplace_back();  // the empty input
  for (const Input& input : corpus) run(input);

  SeededRandom random(options.seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  uint64_t done = 0;
  for (; done < options.runs && std::chrono::steady_clock::now() < end; ++done) {
    Input input = corpus[random.below(corpus.size())];
    for (uint64_t changes = 1 + random.below(4); changes > 0; --changes) mutate(input, corpus, random);
    run(input);
  }
  std::printf("%zu inputs of the corpus, %llu mutations, seed %llu\n", corpus.size(),
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(options.seed));
  return 0;
}
