"""Certificates for the tests, made by openssl in a temporary folder: an authority, and what it
signs."""

import os
import pathlib
import subprocess


def openssl(*arguments, **options):
    return subprocess.run(["openssl", *[str(a) for a in arguments]], check=True,
                          capture_output=True, text=True, **options).stdout


class Authority:
    """One that signs certificates; `ca` is its own."""

    def __init__(self, folder, name="ca"):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.ca = self.folder / f"{name}.pem"
        self.key = self.folder / f"{name}.key"
        self._request(self.key, name, "-x509", "-days", 30, "-out", self.ca,
                      "-addext", "basicConstraints=critical,CA:TRUE")

    @staticmethod
    def _request(key, name, *arguments):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", key, "-subj", f"/CN={name}", *arguments)

    def sign(self, name, hosts=("DNS:localhost", "IP:127.0.0.1")):
        """The paths of a new certificate and its key; replaces those of that name at once."""
        cert, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request, extra = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        new_cert, new_key = self.folder / f"{name}.new.pem", self.folder / f"{name}.new.key"
        extra.write_text("subjectAltName=" + ",".join(hosts) + "\n")
        self._request(new_key, name, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.key,
                "-CAcreateserial", "-days", 30, "-extfile", extra, "-out", new_cert)
        os.replace(new_key, key)
        os.replace(new_cert, cert)
        return cert, key


__all__ = ["Authority", "openssl"]
