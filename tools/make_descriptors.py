#!/usr/bin/env python3
"""Makes src/serve/grpc/descriptor_bytes.cc of the .proto files beside it, for gRPC's reflection.

Needs protoc (protobuf-compiler). With --check it changes nothing and fails where the file is not
what it would write; without protoc it says so and is content.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROTO = ROOT / "src" / "serve" / "grpc" / "proto"
OUT = ROOT / "src" / "serve" / "grpc" / "descriptor_bytes.cc"
HEAD = """// Made by tools/make_descriptors.py of proto/: a google.protobuf.FileDescriptorSet.

#include "serve/grpc/descriptors.h"

namespace weir::grpc {

// clang-format off
const unsigned char kDescriptorBytes[] = {
"""
TAIL = """};
// clang-format on
const std::size_t kDescriptorSize = sizeof kDescriptorBytes;

}  // namespace weir::grpc
"""


def made():
    files = sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto"))
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", f"--proto_path={PROTO}", f"--descriptor_set_out={out.name}",
                        *files], check=True, cwd=PROTO)
        data = pathlib.Path(out.name).read_bytes()
    lines = [", ".join(str(byte) for byte in data[i:i + 24]) + ",\n" for i in range(0, len(data), 24)]
    return HEAD + "".join(lines) + TAIL


def main():
    if not shutil.which("protoc"):
        print("protoc is not installed: nothing is made or checked")
        return 0
    text = made()
    if "--check" not in sys.argv:
        OUT.write_text(text)
        return 0
    if OUT.read_text() == text:
        return 0
    print(f"{OUT} is not what its .proto files say: run tools/make_descriptors.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
