#include "jwt/verifier.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "jwt/test_signer.h"
#include "support/temporary_folder.h"

namespace weir::jwt {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kNow = 1'700'000'000 * kSecond;
const std::string kSecret = "a secret of more than sixty-four bytes, for every hash that there is";

class VerifierTest : public testing::Test {
 protected:
  VerifierTest() { settings_.keys = folder_ / "keys"; }

  void write_keys(const std::string& text) { std::ofstream(settings_.keys) << text; }

  Result<std::shared_ptr<Verifier>> open(const std::string& keys,
                                         std::vector<std::string> algorithms) {
    write_keys(keys);
    settings_.algorithms = std::move(algorithms);
    policy::Identity identity;
    identity.user = {policy::AttributeSource::Kind::kJwt, "sub"};
    identity.tier = {policy::AttributeSource::Kind::kJwt, "plan"};
    identity.jwt = settings_;
    return Verifier::open(identity);
  }
  void start(const std::string& keys, std::vector<std::string> algorithms) {
    auto opened = open(keys, std::move(algorithms));
    ASSERT_TRUE(opened) << opened.error().message;
    verifier_ = *opened;
  }
  std::string mistake_of(const std::string& keys, std::vector<std::string> algorithms) {
    const auto opened = open(keys, std::move(algorithms));
    if (opened) return "";
    const std::string& message = opened.error().message;
    const std::string start = "identity.jwt: " + settings_.keys + ": ";
    EXPECT_TRUE(message.starts_with(start)) << message;
    return message.substr(std::min(start.size(), message.size()));
  }

  // The user that the token names at `now`, or "-".
  std::string user_of(const std::string& token, std::int64_t now = kNow) {
    const auto claims = verifier_->verify(token, now);
    return claims && claims->user ? *claims->user : "-";
  }
  std::string user_of_payload(const std::string& payload, std::int64_t now = kNow) {
    return user_of(make_token(kSecret, "HS256", payload), now);
  }

  support::TemporaryFolder folder_;
  policy::Jwt settings_;
  std::shared_ptr<Verifier> verifier_;
};

TEST_F(VerifierTest, BelievesATokenOfEachAlgorithmThatIsListed) {
  for (const char* algorithm : {"HS256", "HS384", "HS512"}) {
    start(kSecret + "\n", {algorithm});
    EXPECT_EQ(user_of(make_token(kSecret, algorithm, R"({"sub":"ada"})")), "ada") << algorithm;
  }
  const TestKey rsa = make_rsa_key();
  for (const char* algorithm : {"RS256", "RS384", "RS512"}) {
    start(pem_of(rsa), {algorithm});
    EXPECT_EQ(user_of(make_token(rsa, algorithm, R"({"sub":"ada"})")), "ada") << algorithm;
  }
  const std::pair<const char*, const char*> curves[] = {
      {"ES256", "P-256"}, {"ES384", "P-384"}, {"ES512", "P-521"}};
  for (const auto& [algorithm, curve] : curves) {
    const TestKey key = make_ec_key(curve);
    start(pem_of(key), {algorithm});
    EXPECT_EQ(user_of(make_token(key, algorithm, R"({"sub":"ada"})")), "ada") << algorithm;
  }
}

TEST_F(VerifierTest, RefusesATokenOfWhichOneCharacterIsAnother) {
  const TestKey key = make_ec_key();
  start(pem_of(key), {"ES256"});
  const std::string token = make_token(key, "ES256", R"({"sub":"ada"})");
  ASSERT_EQ(user_of(token), "ada");
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(user_of(other), "-") << i;
    EXPECT_EQ(user_of(token.substr(0, i)), "-") << i;
  }
  EXPECT_EQ(user_of(make_token(make_ec_key(), "ES256", R"({"sub":"ada"})")), "-");
}

TEST_F(VerifierTest, RefusesATokenThatIsNotSignedWhateverItsHeaderCallsThat) {
  start(kSecret, {"HS256"});
  for (const char* none : {"none", "None", "NONE", "nOnE", "", "HS256"}) {
    std::string bare;
    append_base64url(bare, "{\"alg\":\"" + std::string(none) + "\"}");
    bare += '.';
    append_base64url(bare, R"({"sub":"ada"})");
    EXPECT_EQ(user_of(bare + "."), "-") << none;
    EXPECT_EQ(user_of(bare), "-") << none;
    EXPECT_EQ(user_of(make_token(std::string(), "HS256", R"({"sub":"ada"})",
                                 "{\"alg\":\"" + std::string(none) + "\"}")),
              "-")
        << none;
  }
  EXPECT_EQ(user_of(make_token(kSecret, "HS256", R"({"sub":"ada"})", R"({"typ":"JWT"})")), "-");
}

TEST_F(VerifierTest, APublicKeyIsNeverTheSecretOfAnHs256) {
  const TestKey rsa = make_rsa_key();
  const std::string pem = pem_of(rsa);
  start(pem, {"RS256"});
  EXPECT_EQ(user_of(make_token(pem, "HS256", R"({"sub":"ada"})")), "-");
  // Not even where both kinds of algorithms are listed.
  std::string set = R"({"keys":[{"kty":"oct","k":")";
  append_base64url(set, kSecret);
  const TestKey other = make_ec_key();
  start(set + "\"}]}", {"HS256"});
  EXPECT_EQ(user_of(make_token(pem, "HS256", R"({"sub":"ada"})")), "-");
  EXPECT_EQ(user_of(make_token(kSecret, "HS256", R"({"sub":"ada"})")), "ada");
  EXPECT_EQ(mistake_of(pem, {"RS256", "HS256"}), "holds no key for HS256, which algorithms lists");
}

TEST_F(VerifierTest, RefusesAnAlgorithmThatIsNotListedThoughAKeyWouldFit) {
  const TestKey rsa = make_rsa_key();
  start(pem_of(rsa), {"RS256"});
  EXPECT_EQ(user_of(make_token(rsa, "RS256", R"({"sub":"ada"})")), "ada");
  EXPECT_EQ(user_of(make_token(rsa, "RS512", R"({"sub":"ada"})")), "-");
}

TEST_F(VerifierTest, HoldsATokensTimesAgainstTheMomentThatItIsGiven) {
  start(kSecret, {"HS256"});
  const std::string payload = R"({"sub":"ada","nbf":1700000000,"exp":1700000060.5})";
  const std::int64_t begins = kNow - 30 * kSecond;  // the leeway
  const std::int64_t ends = kNow + 90 * kSecond + kSecond / 2;
  EXPECT_EQ(user_of_payload(payload, begins - 1), "-");
  EXPECT_EQ(user_of_payload(payload, begins), "ada");
  EXPECT_EQ(user_of_payload(payload, ends - 1), "ada");
  EXPECT_EQ(user_of_payload(payload, ends), "-");
  EXPECT_EQ(user_of_payload(payload, begins), "ada");  // what is remembered is looked at anew
}

TEST_F(VerifierTest, ATimeThatIsNoneOrFarAwayIsReadAsWhatItIs) {
  start(kSecret, {"HS256"});
  EXPECT_EQ(user_of_payload(R"({"sub":"ada"})"), "ada");
  EXPECT_EQ(user_of_payload(R"({"sub":"ada","exp":0})"), "-");
  EXPECT_EQ(user_of_payload(R"({"sub":"ada","exp":1e300})"), "ada");
  EXPECT_EQ(user_of_payload(R"({"sub":"ada","exp":9223372036854775807})"), "ada");
  EXPECT_EQ(user_of_payload(R"({"sub":"ada","nbf":9223372036854775807})"), "-");
  for (const char* wrong : {"-1", "\"1800000000\"", "null", "true", "[]", "{}"}) {
    EXPECT_EQ(user_of_payload(R"({"sub":"ada","exp":)" + std::string(wrong) + "}"), "-") << wrong;
    EXPECT_EQ(user_of_payload(R"({"sub":"ada","nbf":)" + std::string(wrong) + "}"), "-") << wrong;
  }
}

TEST_F(VerifierTest, WantsTheIssuerAndTheAudienceThatThePolicyNames) {
  settings_.issuer = "https://id.test";
  settings_.audience = "api";
  start(kSecret, {"HS256"});
  const auto user = [&](const std::string& rest) {
    return user_of_payload(R"({"sub":"ada")" + rest + "}");
  };
  EXPECT_EQ(user(R"(,"iss":"https://id.test","aud":"api")"), "ada");
  EXPECT_EQ(user(R"(,"iss":"https://id.test","aud":["web","api"])"), "ada");
  EXPECT_EQ(user(R"(,"iss":"https://id.test","aud":["web"])"), "-");
  EXPECT_EQ(user(R"(,"iss":"https://id.test","aud":[])"), "-");
  EXPECT_EQ(user(R"(,"iss":"https://id.test")"), "-");
  EXPECT_EQ(user(R"(,"iss":"https://id.test.evil","aud":"api")"), "-");
  EXPECT_EQ(user(R"(,"iss":["https://id.test"],"aud":"api")"), "-");
  EXPECT_EQ(user(R"(,"aud":"api")"), "-");
}

TEST_F(VerifierTest, ReadsTextsNumbersAndTruthsAsClaimsAndNothingElse) {
  start(kSecret, {"HS256"});
  const auto user = [&](const std::string& claim) {
    return user_of_payload("{\"sub\":" + claim + "}");
  };
  EXPECT_EQ(user("\"\\u00e4 b\""), "ä b");
  EXPECT_EQ(user("42"), "42");
  EXPECT_EQ(user("-1"), "-1");
  EXPECT_EQ(user("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(user("true"), "true");
  for (const char* none : {"\"\"", "1.5", "null", "[\"ada\"]", "{\"name\":\"ada\"}"}) {
    EXPECT_EQ(user(none), "-") << none;
  }
  const auto claims =
      verifier_->verify(make_token(kSecret, "HS256", R"({"sub":"ada","plan":"gold"})"), kNow);
  ASSERT_NE(claims, nullptr);
  EXPECT_EQ(claims->tier, "gold");
}

TEST_F(VerifierTest, RefusesTokensThatAnotherReaderCouldReadDifferently) {
  start(kSecret, {"HS256"});
  const std::string payload = R"({"sub":"ada"})";
  const std::string right = make_token(kSecret, "HS256", payload);
  ASSERT_EQ(user_of(right), "ada");
  EXPECT_EQ(user_of(right + "="), "-");
  EXPECT_EQ(user_of(right + "."), "-");
  EXPECT_EQ(user_of(right + ".x"), "-");
  EXPECT_EQ(user_of(" " + right), "-");
  EXPECT_EQ(user_of(right + std::string(1, '\0')), "-");
  EXPECT_EQ(user_of_payload(R"({"sub":"eve","sub":"ada"})"), "-");
  EXPECT_EQ(user_of_payload("[\"sub\"]"), "-");
  EXPECT_EQ(user_of_payload("{\"sub\":\"ada\"} "), "ada");
  EXPECT_EQ(user_of_payload("{\"sub\":\"ada\"}x"), "-");
  EXPECT_EQ(user_of_payload("{\"sub\":\"\xff\"}"), "-");
  const auto with_header = [&](const std::string& header) {
    return user_of(make_token(kSecret, "HS256", payload, header));
  };
  EXPECT_EQ(with_header(R"({"alg":"none","alg":"HS256"})"), "-");
  EXPECT_EQ(with_header(R"({"alg":["HS256"]})"), "-");
  EXPECT_EQ(with_header(R"({"alg":"hs256"})"), "-");
  EXPECT_EQ(with_header(R"({"alg":"HS256","crit":["b64"],"b64":false})"), "-");
  EXPECT_EQ(with_header(R"({"alg":"HS256","kid":1})"), "-");
}

TEST_F(VerifierTest, TheLargestTokenIsReadAndADeepOrALargerOneIsNot) {
  start(kSecret, {"HS256"});
  std::string payload = R"({"sub":"ada","x":")";
  const std::string empty = make_token(kSecret, "HS256", payload + "\"}");
  payload += std::string((kMaxTokenBytes - empty.size()) / 4 * 3, 'x') + "\"}";
  const std::string large = make_token(kSecret, "HS256", payload);
  ASSERT_LE(large.size(), kMaxTokenBytes);
  ASSERT_GT(large.size(), kMaxTokenBytes - 8);
  EXPECT_EQ(user_of(large), "ada");
  EXPECT_EQ(user_of_payload(payload.substr(0, payload.size() - 2) + "xxxxxxxx\"}"), "-");
  EXPECT_EQ(user_of_payload(R"({"sub":"ada","x":)" + std::string(2000, '[') +
                            std::string(2000, ']') + "}"),
            "-");
  EXPECT_EQ(user_of(""), "-");
  EXPECT_EQ(user_of(std::string(100'000, '.')), "-");
}

TEST_F(VerifierTest, AKeySetsKeyIdsAndAlgorithmsPickTheKey) {
  std::string one = R"({"kty":"oct","kid":"a","k":")";
  append_base64url(one, kSecret);
  std::string two = R"({"kty":"oct","kid":"b","alg":"HS512","k":")";
  append_base64url(two, kSecret + "2");
  const std::string others = R"({"kty":"OKP","crv":"Ed25519","x":"AA"},{"kty":"RSA","use":"enc"},)";
  start("{\"keys\":[" + others + one + "\"}," + two + "\"}]}", {"HS256", "HS512"});
  const auto user = [&](const std::string& secret, const char* algorithm, const char* id) {
    return user_of(make_token(
        secret, algorithm, R"({"sub":"ada"})",
        R"({"alg":")" + std::string(algorithm) + R"(","kid":")" + std::string(id) + "\"}"));
  };
  EXPECT_EQ(user(kSecret, "HS256", "a"), "ada");
  EXPECT_EQ(user(kSecret, "HS256", "b"), "-");
  EXPECT_EQ(user(kSecret, "HS256", ""), "ada");
  EXPECT_EQ(user(kSecret + "2", "HS512", "b"), "ada");
  EXPECT_EQ(user(kSecret + "2", "HS256", "b"), "-");
}

TEST_F(VerifierTest, ReadsTheKeysAgainAndForgetsWhatTheOldOnesFoundRight) {
  start(kSecret, {"HS256"});
  const std::string old_token = make_token(kSecret, "HS256", R"({"sub":"ada"})");
  ASSERT_EQ(user_of(old_token), "ada");
  const std::string fresh = kSecret + ", the next one";
  write_keys(fresh);
  ASSERT_TRUE(verifier_->read_keys_again());
  EXPECT_EQ(user_of(old_token), "-");
  EXPECT_EQ(user_of(make_token(fresh, "HS256", R"({"sub":"eve"})")), "eve");
  write_keys("short");
  EXPECT_FALSE(verifier_->read_keys_again());
  EXPECT_EQ(user_of(make_token(fresh, "HS256", R"({"sub":"eve"})")), "eve");
}

TEST_F(VerifierTest, SaysWhatIsWrongWithAFileOfKeysAndNothingThatItHolds) {
  const TestKey rsa = make_rsa_key();
  EXPECT_EQ(mistake_of("", {"HS256"}), "it is empty");
  EXPECT_EQ(mistake_of("short", {"HS256"}), "holds a secret of 5 bytes; HS256 wants 32 or more");
  EXPECT_EQ(mistake_of(pem_of(rsa), {"ES256"}), "holds no key for ES256, which algorithms lists");
  EXPECT_EQ(mistake_of(pem_of(rsa, /*is_private=*/true), {"RS256"}),
            "it holds a private key; the public one is enough here");
  EXPECT_EQ(mistake_of(pem_of(make_rsa_key(1024)), {"RS256"}),
            "an RSA key has 1024 bits, wants 2048 or more");
  EXPECT_EQ(mistake_of(pem_of(make_ec_key("secp256k1")), {"ES256"}),
            "a key is on the curve secp256k1, wants P-256, P-384 or P-521");
  EXPECT_EQ(mistake_of("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", {"RS256"}),
            "a block PUBLIC KEY is no public key and no certificate");
  EXPECT_EQ(mistake_of("{\"keys\":[]}", {"RS256"}), "it is a key set without a key that signs");
  EXPECT_EQ(mistake_of("{\"keys\":1}", {"RS256"}), "it is no key set: wants {\"keys\": [...]}");
  EXPECT_EQ(mistake_of("{", {"RS256"}), "it is no key set: not right JSON");
  std::filesystem::remove(settings_.keys);
  settings_.keys = folder_.path();
  EXPECT_EQ(mistake_of("", {"RS256"}), "is not a file but a folder or a device");
  settings_.keys = folder_ / "none";
  policy::Identity identity;
  identity.jwt = settings_;
  EXPECT_EQ(Verifier::open(identity).error().message,
            "identity.jwt: " + settings_.keys + ": cannot be opened: No such file or directory");
}

TEST_F(VerifierTest, ReadsAKeySetsRsaAndEcKeysAsTheNumbersThatTheyAre) {
  const auto number = [](const TestKey& key, const char* name, int size) {
    BIGNUM* value = nullptr;
    EVP_PKEY_get_bn_param(key.get(), name, &value);
    std::string bytes(static_cast<std::size_t>(size > 0 ? size : BN_num_bytes(value)), '\0');
    BN_bn2binpad(value, reinterpret_cast<unsigned char*>(bytes.data()),
                 static_cast<int>(bytes.size()));
    BN_free(value);
    std::string text;
    append_base64url(text, bytes);
    return text;
  };
  const TestKey rsa = make_rsa_key();
  const TestKey ec = make_ec_key();
  start(R"({"keys":[{"kty":"RSA","n":")" + number(rsa, "n", 0) + R"(","e":")" +
            number(rsa, "e", 0) + R"("},{"kty":"EC","crv":"P-256","x":")" + number(ec, "qx", 32) +
            R"(","y":")" + number(ec, "qy", 32) + "\"}]}",
        {"RS256", "ES256"});
  EXPECT_EQ(user_of(make_token(rsa, "RS256", R"({"sub":"ada"})")), "ada");
  EXPECT_EQ(user_of(make_token(ec, "ES256", R"({"sub":"eve"})")), "eve");
  EXPECT_EQ(mistake_of(R"({"keys":[{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}]})", {"ES256"}),
            "a coordinate of a key has the wrong size");
}

TEST_F(VerifierTest, LeavesOutAKeySetsKeysOnCurvesThatNoAlgorithmNames) {
  const std::string other = R"({"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"})";
  std::string ours = R"({"kty":"oct","k":")";
  append_base64url(ours, kSecret);
  start("{\"keys\":[" + other + "," + ours + "\"}]}", {"HS256"});
  EXPECT_EQ(user_of(make_token(kSecret, "HS256", R"({"sub":"ada"})")), "ada");
  EXPECT_EQ(mistake_of("{\"keys\":[" + other + "]}", {"ES256"}),
            "it is a key set without a key that signs");
  EXPECT_EQ(mistake_of(R"({"keys":[{"kty":"EC","x":"AA","y":"AA"}]})", {"ES256"}),
            "a key's curve is none of P-256, P-384 and P-521");
}

TEST_F(VerifierTest, AShortRsaKeyOfAKeySetIsRefusedAndNotLeftOut) {
  std::string ours = R"({"kty":"oct","k":")";
  append_base64url(ours, kSecret);
  std::string modulus(128, '\xC1');
  std::string short_key = R"({"kty":"RSA","e":"AQAB","n":")";
  append_base64url(short_key, modulus);
  EXPECT_EQ(mistake_of("{\"keys\":[" + ours + "\"}," + short_key + "\"}]}", {"HS256"}),
            "an RSA key has 1024 bits, wants 2048 or more");
}

TEST(VerifiedTokens, HoldTwoGenerationsAndNotOneTokenMore) {
  VerifiedTokens tokens;
  const auto verified = std::make_shared<const Verified>();
  const auto hot = VerifiedTokens::digest_of("hot");
  tokens.add(hot, verified);
  for (int i = 0; i < 50'000; ++i) {
    tokens.add(VerifiedTokens::digest_of(std::to_string(i)), verified);
    ASSERT_NE(tokens.find(hot), nullptr) << i;  // what is used stays
  }
  EXPECT_LE(tokens.size(), 2 * VerifiedTokens::kShards * VerifiedTokens::kPerGeneration);
  EXPECT_EQ(tokens.find(VerifiedTokens::digest_of("0")), nullptr);
}

}  // namespace
}  // namespace weir::jwt
