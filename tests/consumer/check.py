#!/usr/bin/env python3
"""Builds tests/consumer against weir in one of the ways that people do, and runs it.

usage: check.py install BUILD PREFIX           installs the library into PREFIX
       check.py WAY PREFIX FOLDER [SANITIZE]   WAY: package-shared, package-static,
                                               pkgconfig-shared, pkgconfig-static, subdirectory,
                                               headers (each public header compiles alone),
                                               symbols (the shared library shows weir:: only),
                                               document (what docs/library.md says to type)
"""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
STRICT = ["-std=c++20", "-Wall", "-Wextra", "-Werror"]
# These name a third party, for those who use it.
ADAPTERS = {"asio.h", "middleware/beast.h", "middleware/httplib.h"}


def run(command, **more):
    print("+", " ".join(str(word) for word in command), flush=True)
    return subprocess.run([str(word) for word in command], check=True, **more)


def output(command, **more):
    return run(command, stdout=subprocess.PIPE, text=True, **more).stdout


def libraries(prefix):
    return next(prefix.glob("lib/**/libweir.so")).parent


def flags(sanitize):
    return [f"-fsanitize={sanitize}"] if sanitize else []


def cmake(prefix, folder, sanitize, *definitions):
    run(["cmake", "-G", "Ninja", "-S", HERE, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}",
         f"-DCMAKE_CXX_FLAGS=-O0 {' '.join(flags(sanitize))}", *definitions])
    run(["cmake", "--build", folder, "--target", "consumer"])
    run([folder / "consumer"])


def pkgconfig(prefix, folder, sanitize, static):
    where = libraries(prefix)
    settings = dict(os.environ, PKG_CONFIG_PATH=str(where / "pkgconfig"))
    ask = ["pkg-config", "--cflags", "--libs", "weir"] + (["--static"] if static else [])
    words = output(ask, env=settings).split()
    if static:  # both kinds are installed side by side
        words = ["-l:libweir.a" if word == "-lweir" else word for word in words]
    run(["c++", *STRICT, *flags(sanitize), HERE / "main.cc", "-o", folder / "consumer", *words])
    run([folder / "consumer"], env=dict(os.environ, LD_LIBRARY_PATH=str(where)))
    linked = output(["ldd", folder / "consumer"], env=dict(os.environ, LD_LIBRARY_PATH=str(where)))
    if ("libweir.so" in linked) == static:
        sys.exit(f"linked the wrong kind:\n{linked}")


def headers(prefix):
    root = prefix / "include"
    for header in sorted((root / "weir").rglob("*.h")):
        name = header.relative_to(root / "weir").as_posix()
        if name in ADAPTERS:
            continue
        run(["c++", *STRICT, "-fsyntax-only", "-I", root, "-x", "c++", "-"],
            input=f"#include <weir/{name}>\n", text=True)


def document(prefix, folder):
    sys.path.insert(0, str(SOURCE / "tests" / "system"))
    from example import shape, steps  # the reader of documents that tests play

    where = libraries(prefix)
    settings = dict(os.environ, PKG_CONFIG_PATH=str(where / "pkgconfig"), LD_LIBRARY_PATH=str(where))
    for kind, what, text in steps((SOURCE / "docs" / "library.md").read_text()):
        if kind == "file":
            (folder / what).write_text(text)
            continue
        printed = output(["bash", "-c", what], cwd=folder, env=settings).strip()
        if not shape(text).fullmatch(printed):
            sys.exit(f"{what}\nprinted\n{printed}\nbut the document says\n{text}")


def symbols(prefix):
    names = output(["nm", "-DC", "--defined-only", libraries(prefix) / "libweir.so"])
    foreign = [line for line in names.splitlines()
               if " weir::" not in line and "for weir::" not in line]
    # What std gives every program that uses its templates may be weak or unique.
    strange = [line for line in foreign if line.split()[1] not in "VWuwvi"]
    inner = [line for line in names.splitlines() if " T weir::library::" in line]
    if strange or inner:
        sys.exit("the shared library shows:\n" + "\n".join(strange + inner))


def main():
    way = sys.argv[1]
    if way == "install":
        run(["cmake", "--build", sys.argv[2], "--target", "weir_static", "weir_shared"])
        for component in ("runtime", "library"):
            run(["cmake", "--install", sys.argv[2], "--component", component, "--prefix", sys.argv[3]])
        return
    prefix, folder = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    sanitize = sys.argv[4] if len(sys.argv) > 4 else ""
    if way != "subdirectory" and folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if way == "headers":
        headers(prefix)
    elif way == "document":
        document(prefix, folder)
    elif way == "symbols":
        symbols(prefix)
    elif way == "subdirectory":
        cmake(prefix, folder, sanitize, "-DHOW=subdirectory", f"-DSOURCE={SOURCE}")
    elif way.startswith("package"):
        static = "ON" if way.endswith("static") else "OFF"
        cmake(prefix, folder, sanitize, "-DHOW=package", f"-DWEIR_USE_STATIC={static}")
    else:
        pkgconfig(prefix, folder, sanitize, way.endswith("static"))


if __name__ == "__main__":
    main()
