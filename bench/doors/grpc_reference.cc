// The reference of bench/doors: a grpc++ server of the callback interface that answers every call
// with one constant message.

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>

namespace {

class Answer final : public grpc::ServerGenericBidiReactor {
 public:
  Answer() { StartRead(&request_); }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::INTERNAL, "no message"));
    static const grpc::Slice kMessage("\x08\x01\x12\x02\x08\x01", 6);
    response_ = grpc::ByteBuffer(&kMessage, 1);
    StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
};

class Service final : public grpc::CallbackGenericService {
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Answer;
  }
};

}  // namespace

int main(int, char** arguments) {
  Service service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(arguments[1], grpc::InsecureServerCredentials());
  builder.RegisterCallbackGenericService(&service);
  const auto server = builder.BuildAndStart();
  server->Wait();
}
