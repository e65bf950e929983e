// Certificates of a test's own, made by openssl in a folder: an authority, and a certificate for
// localhost that it signed, which servers and clients show alike.
//
// THREADS: one.

#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace weir::support {

class Certificates {
 public:
  Certificates() { renew(); }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  std::string ca() const { return folder_ / "ca.pem"; }
  std::string cert() const { return folder_ / "cert.pem"; }
  std::string key() const { return folder_ / "key.pem"; }
  const std::string& folder() const { return folder_.path(); }

  // A new authority, certificate and key under the same names.
  void renew() const {
    const std::string new_key = " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes ";
    run("openssl req -x509 -days 2 -subj /CN=authority -keyout ca-key.pem -out new-ca.pem" +
        new_key);
    run("openssl req -subj /CN=localhost -keyout new-key.pem -out request.pem" + new_key);
    run("printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' > names");
    run("openssl x509 -req -in request.pem -CA new-ca.pem -CAkey ca-key.pem -CAcreateserial"
        " -days 2 -extfile names -out new-cert.pem");
    for (const char* name : {"ca.pem", "key.pem", "cert.pem"}) {
      std::filesystem::rename(folder_ / (std::string("new-") + name), folder_ / name);
    }
  }

  // Arguments of a redis-server that speaks TLS on `port`, and wants a certificate of its clients.
  std::vector<std::string> server_arguments(int port) const {
    return {"--tls-port",         std::to_string(port),
            "--tls-cert-file",    cert(),
            "--tls-key-file",     key(),
            "--tls-ca-cert-file", ca(),
            "--tls-auth-clients", "yes"};
  }

 private:
  void run(const std::string& command) const {
    const std::string in_folder = "cd " + folder_.path() + " && " + command + " 2>/dev/null";
    if (std::system(in_folder.c_str()) != 0) std::abort();
  }

  TemporaryFolder folder_;
};

}  // namespace weir::support
