#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "policy/load.h"
#include "policy/testing.h"
#include "support/temporary_folder.h"

namespace weir::policy {
namespace {

class LoadFile : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }

  const support::TemporaryFolder folder_;
};

TEST_F(LoadFile, TakesTheFormatFromTheName) {
  EXPECT_TRUE(load_file(write("a.yaml", "limits: []")).policy.has_value());
  EXPECT_TRUE(load_file(write("a.yml", "limits: []")).policy.has_value());
  EXPECT_TRUE(load_file(write("a.toml", "limits = []")).policy.has_value());
  for (const char* name : {"a.yaml~", ".a.yaml.swp", "a.yaml.bak", "README.md", "a"}) {
    const std::string path = write(name, "limits: []");
    EXPECT_EQ(all(load_file(path).mistakes),
              path + ": is no policy by its name, wants .yaml, .yml or .toml\n");
  }
}

TEST_F(LoadFile, NamesAFileThatCannotBeRead) {
  const std::string missing = folder_ / "missing.yaml";
  EXPECT_EQ(all(load_file(missing).mistakes),
            missing + ": cannot be opened: No such file or directory\n");
  const std::string dangling = folder_ / "dangling.yaml";
  ASSERT_EQ(::symlink("nowhere", dangling.c_str()), 0);
  EXPECT_EQ(all(load_file(dangling).mistakes),
            dangling + ": cannot be opened: No such file or directory\n");
  const std::string folder = folder_ / "folder.yaml";
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  EXPECT_EQ(all(load_file(folder).mistakes),
            folder + ": is not a file but a folder or a device; name one policy file\n");
  const std::string pipe = folder_ / "pipe.yaml";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(all(load_file(pipe).mistakes),
            pipe + ": is not a file but a folder or a device; name one policy file\n");
}

TEST_F(LoadFile, WarnsOfASecretThatEveryUserCanRead) {
  const std::string literal = "limits: []\nadmin: { listen: 127.0.0.1:1, token: s3cret }\n";
  const std::string variable = "limits: []\nadmin: { listen: 127.0.0.1:1, token: \"${T:-x}\" }\n";
  const std::string open = write("open.yaml", literal, 0644);
  EXPECT_EQ(all(load_file(open).warnings),
            open +
                ":2:31: token holds a secret, and every user of this machine can read the "
                "file\n");
  EXPECT_EQ(all(load_file(write("closed.yaml", literal, 0640)).warnings), "");
  EXPECT_EQ(all(load_file(write("variable.yaml", variable, 0644)).warnings), "");
  EXPECT_EQ(load_file(open).warnings[0].to_string().find("s3cret"), std::string::npos);
}

}  // namespace
}  // namespace weir::policy
