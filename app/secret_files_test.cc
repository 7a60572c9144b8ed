#include "app/secret_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace barnabas::app {
namespace {

class SecretFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(directory);
    std::ofstream(directory + "/store.p12") << "not looked at";
    std::ofstream(directory + "/password") << "p=a s s\r\nsecond line\n";
    std::ofstream(directory + "/empty");
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  const std::string directory = ::testing::TempDir() + "/barnabas_secret_files_test";
};

TEST_F(SecretFiles, name_stores_and_hold_passwords) {
  const char* environment[] = {"KAFKA_SSL_KEYSTORE_FILENAME=store.p12",
                               "KAFKA_SSL_KEYSTORE_CREDENTIALS=password",
                               "KAFKA_SSL_KEY_CREDENTIALS=password",
                               "KAFKA_SSL_TRUSTSTORE_FILENAME=",
                               "KAFKA_SSL_KEYSTORE_FILENAME_OTHER=x",
                               "PATH=/bin",
                               nullptr};
  const auto settings = settings_of_secret_files(environment, directory);
  ASSERT_TRUE(settings) << settings.error().message;
  ASSERT_EQ(settings->size(), 3U);
  EXPECT_EQ((*settings)[0].name, "ssl.keystore.location");
  EXPECT_EQ((*settings)[0].value, directory + "/store.p12");
  EXPECT_EQ((*settings)[1].name, "ssl.keystore.password");
  EXPECT_EQ((*settings)[1].value, "p=a s s");
  EXPECT_EQ((*settings)[2].name, "ssl.key.password");
}

TEST_F(SecretFiles, that_cannot_be_read_are_an_error_with_variable_and_path) {
  for (const char* name : {"missing", "empty", "."}) {
    const std::string variable = std::string("KAFKA_SSL_KEYSTORE_CREDENTIALS=") + name;
    const char* environment[] = {variable.c_str(), nullptr};
    const auto settings = settings_of_secret_files(environment, directory);
    ASSERT_FALSE(settings) << name;
    EXPECT_TRUE(
        settings.error().message.starts_with("KAFKA_SSL_KEYSTORE_CREDENTIALS: " + directory + "/" + name))
        << settings.error().message;
  }
}

}  // namespace
}  // namespace barnabas::app
