// grpc++ against weir's gRPC listener: weir_grpc_peer HOST:PORT. Prints "grpc++ ok".
//
// The policy behind it: limit login, key [user], token_bucket, rate 1/h, burst 2.

#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/dynamic_message.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "envoy/service/ratelimit/v3/rls.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"

namespace {

namespace rls = envoy::service::ratelimit::v3;
namespace reflection = grpc::reflection::v1;

using Channel = std::shared_ptr<grpc::Channel>;

constexpr const char* kService = "envoy.service.ratelimit.v3.RateLimitService";

void require(bool right, const std::string& what) {
  if (right) return;
  std::fprintf(stderr, "not so: %s\n", what.c_str());
  std::exit(1);
}

void require_code(const grpc::Status& status, grpc::StatusCode wanted, const std::string& what) {
  require(status.error_code() == wanted,
          what + ": " + std::to_string(status.error_code()) + " " + status.error_message());
}

rls::RateLimitRequest request(const std::string& user) {
  rls::RateLimitRequest out;
  out.set_domain("edge");
  auto* entry = out.add_descriptors()->add_entries();
  entry->set_key("user");
  entry->set_value(user);
  return out;
}

class Peer {
 public:
  explicit Peer(Channel channel)
      : channel_(std::move(channel)), stub_(rls::RateLimitService::NewStub(channel_)) {}

  void decisions() {
    for (const std::uint32_t left : {1u, 0u}) {
      const auto answer = ask(request("bob"));
      require(answer.overall_code() == rls::RateLimitResponse::OK, "admitted");
      require(answer.statuses(0).limit_remaining() == left, "what is left");
      require(answer.statuses(0).current_limit().name() == "login", "the limit's name");
    }
    const auto refused = ask(request("bob"));
    require(refused.overall_code() == rls::RateLimitResponse::OVER_LIMIT, "refused");
    require(refused.statuses(0).duration_until_reset().seconds() > 0, "until when");
    require(refused.dynamic_metadata().fields().at("limit").string_value() == "login", "metadata");
    bool retry = false;
    for (const auto& header : refused.response_headers_to_add()) {
      retry = retry || header.key() == "retry-after";
    }
    require(retry, "the header retry-after");
    require(refused.raw_body().find("RATE_LIMITED") != std::string::npos, "the body");
    auto own = request("bob");
    own.mutable_descriptors(0)->mutable_limit()->set_requests_per_unit(5);
    own.mutable_descriptors(0)->mutable_limit()->set_unit(envoy::type::v3::MINUTE);
    require(ask(own).statuses(0).limit_remaining() == 4, "an override's own counter");
    auto look = request("bob");
    look.mutable_descriptors(0)->mutable_hits_addend()->set_value(0);
    require(ask(look).overall_code() == rls::RateLimitResponse::OK, "a peek is admitted");
  }

  void calls_that_fail() {
    grpc::ClientContext late;
    late.set_deadline(std::chrono::system_clock::now() - std::chrono::seconds(1));
    rls::RateLimitResponse answer;
    require_code(stub_->ShouldRateLimit(&late, request("x"), &answer),
                 grpc::StatusCode::DEADLINE_EXCEEDED, "a deadline that has passed");
    grpc::ClientContext cancelled;
    cancelled.TryCancel();
    require_code(stub_->ShouldRateLimit(&cancelled, request("x"), &answer),
                 grpc::StatusCode::CANCELLED, "a cancelled call");
    grpc::ClientContext compressed;
    compressed.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    require_code(stub_->ShouldRateLimit(&compressed, request(std::string(10'000, 'x')), &answer),
                 grpc::StatusCode::UNIMPLEMENTED, "a compressed message");
    grpc::ClientContext large;
    require_code(stub_->ShouldRateLimit(&large, request(std::string(2 << 20, 'x')), &answer),
                 grpc::StatusCode::RESOURCE_EXHAUSTED, "a message over its bound");
    grpc::ClientContext empty;
    require_code(stub_->ShouldRateLimit(&empty, rls::RateLimitRequest(), &answer),
                 grpc::StatusCode::INVALID_ARGUMENT, "no domain");
    const std::string path = "/" + std::string(kService) + "/NoSuchMethod";
    const grpc::internal::RpcMethod method(path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
    grpc::ClientContext unknown;
    const auto status =
        grpc::internal::BlockingUnaryCall<rls::RateLimitRequest, rls::RateLimitResponse>(
            channel_.get(), method, &unknown, request("x"), &answer);
    require_code(status, grpc::StatusCode::UNIMPLEMENTED, "a method that is not there");
    require(ask(request("after")).overall_code() == rls::RateLimitResponse::OK,
            "the channel lives");
  }

  void many_at_once() {
    struct Call {
      grpc::ClientContext context;
      rls::RateLimitResponse answer;
      grpc::Status status;
      std::unique_ptr<grpc::ClientAsyncResponseReader<rls::RateLimitResponse>> reader;
    };
    constexpr int kCalls = 600;
    grpc::CompletionQueue queue;
    std::vector<std::unique_ptr<Call>> calls;
    for (int i = 0; i < kCalls; ++i) {
      calls.push_back(std::make_unique<Call>());
      Call& call = *calls.back();
      call.reader = stub_->AsyncShouldRateLimit(&call.context,
                                                request("many" + std::to_string(i % 200)), &queue);
      call.reader->Finish(&call.answer, &call.status, &call);
    }
    int admitted = 0;
    for (int i = 0; i < kCalls; ++i) {
      void* tag = nullptr;
      bool right = false;
      require(queue.Next(&tag, &right) && right, "a call ends");
      const Call& call = *static_cast<Call*>(tag);
      require(call.status.ok(), "a call of many: " + call.status.error_message());
      admitted += call.answer.overall_code() == rls::RateLimitResponse::OK ? 1 : 0;
    }
    require(admitted == 400, "two of each user's three, not " + std::to_string(admitted));
  }

  void health() {
    const auto stub = grpc::health::v1::Health::NewStub(channel_);
    grpc::health::v1::HealthCheckRequest asked;
    asked.set_service(kService);
    grpc::health::v1::HealthCheckResponse answer;
    grpc::ClientContext context;
    require(stub->Check(&context, asked, &answer).ok(), "health answers");
    require(answer.status() == grpc::health::v1::HealthCheckResponse::SERVING, "it is serving");
  }

  // As a client that knows nothing of the services but their names would do.
  void generic_client() {
    google::protobuf::SimpleDescriptorDatabase files;
    bool listed = false;
    for (const std::string& name : list_services()) {
      listed = listed || name == kService;
      learn(name, files);
    }
    require(listed, "the service is listed");
    google::protobuf::DescriptorPool pool(&files);
    const auto* service = pool.FindServiceByName(kService);
    require(service != nullptr && service->method_count() == 1, "the service is described");
    const auto* health = pool.FindServiceByName("grpc.health.v1.Health");
    require(health != nullptr && health->method(1)->server_streaming(), "so is health");
    call_by_description(*service->method(0), pool);
  }

 private:
  rls::RateLimitResponse ask(const rls::RateLimitRequest& asked) {
    grpc::ClientContext context;
    rls::RateLimitResponse answer;
    const auto status = stub_->ShouldRateLimit(&context, asked, &answer);
    require(status.ok(), "a call: " + status.error_message());
    return answer;
  }

  reflection::ServerReflectionResponse reflect(const reflection::ServerReflectionRequest& asked) {
    const auto stub = reflection::ServerReflection::NewStub(channel_);
    grpc::ClientContext context;
    const auto stream = stub->ServerReflectionInfo(&context);
    reflection::ServerReflectionResponse answer;
    require(stream->Write(asked) && stream->Read(&answer), "reflection answers");
    stream->WritesDone();
    require(stream->Finish().ok(), "reflection ends well");
    return answer;
  }

  std::vector<std::string> list_services() {
    reflection::ServerReflectionRequest asked;
    asked.set_list_services("");
    std::vector<std::string> names;
    const auto answer = reflect(asked);
    for (const auto& one : answer.list_services_response().service()) {
      names.push_back(one.name());
    }
    return names;
  }

  void learn(const std::string& symbol, google::protobuf::SimpleDescriptorDatabase& files) {
    reflection::ServerReflectionRequest asked;
    asked.set_file_containing_symbol(symbol);
    const auto answer = reflect(asked);
    require(answer.has_file_descriptor_response(), symbol + " is described");
    for (const std::string& bytes : answer.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      require(file.ParseFromString(bytes), "a description is one");
      google::protobuf::FileDescriptorProto known;
      if (!files.FindFileByName(file.name(), &known)) files.Add(file);
    }
  }

  void call_by_description(const google::protobuf::MethodDescriptor& method,
                           const google::protobuf::DescriptorPool& pool) {
    google::protobuf::DynamicMessageFactory factory(&pool);
    const std::unique_ptr<google::protobuf::Message> asked(
        factory.GetPrototype(method.input_type())->New());
    require(asked->ParseFromString(request("generic").SerializeAsString()), "the request's shape");
    const auto* domain = method.input_type()->FindFieldByName("domain");
    require(asked->GetReflection()->GetString(*asked, domain) == "edge", "the field domain");
    const std::string path = "/" + method.service()->full_name() + "/" + method.name();
    const grpc::internal::RpcMethod called(path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
    grpc::ClientContext context;
    rls::RateLimitResponse told;
    const auto status =
        grpc::internal::BlockingUnaryCall<rls::RateLimitRequest, rls::RateLimitResponse>(
            channel_.get(), called, &context, request("generic"), &told);
    require(status.ok(), "the call: " + status.error_message());
    const std::unique_ptr<google::protobuf::Message> answer(
        factory.GetPrototype(method.output_type())->New());
    require(answer->ParseFromString(told.SerializeAsString()), "the answer's shape");
    const auto* code = method.output_type()->FindFieldByName("overall_code");
    require(answer->GetReflection()->GetEnum(*answer, code)->name() == "OK", "the answer's code");
  }

  Channel channel_;
  std::unique_ptr<rls::RateLimitService::Stub> stub_;
};

}  // namespace

int main(int count, char** words) {
  require(count == 2, "usage: weir_grpc_peer HOST:PORT");
  Peer peer(grpc::CreateChannel(words[1], grpc::InsecureChannelCredentials()));
  peer.decisions();
  peer.calls_that_fail();
  peer.many_at_once();
  peer.health();
  peer.generic_client();
  std::puts("grpc++ ok");
  return 0;
}
