"""A key and a certificate of its own authority for a.test and *.a.test; worth nothing."""

from __future__ import annotations

import ssl
from pathlib import Path

KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg5hMRZwbYowiPIIiQ
pN/6srUNCq21CyfyDWt67ETBYUuhRANCAARnnGK7505O9wv8RZbfmQD02cv/VPjr
e7VgReD5c3BHE5FRlWTNCwGz8VhSWyoc6wxc8nD6DEPeJisOCP/3n1tM
-----END PRIVATE KEY-----
"""
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBljCCATygAwIBAgIUVdvFUJA/6UgAGfgUooM5cNxNK3UwCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGYS50ZXN0MCAXDTI2MTExNTA0NTQwM1oYDzIxMjYxMDIyMDQ1
NDAzWjARMQ8wDQYDVQQDDAZhLnRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AARnnGK7505O9wv8RZbfmQD02cv/VPjre7VgReD5c3BHE5FRlWTNCwGz8VhSWyoc
6wxc8nD6DEPeJisOCP/3n1tMo3AwbjAdBgNVHQ4EFgQUel3yLoMpDNoNNmwxL+M6
1yjw+HkwHwYDVR0jBBgwFoAUel3yLoMpDNoNNmwxL+M61yjw+HkwDwYDVR0TAQH/
BAUwAwEB/zAbBgNVHREEFDASggZhLnRlc3SCCCouYS50ZXN0MAoGCCqGSM49BAMC
A0gAMEUCIDaNX/YNdxONlbLQmXyXdcSomPn3eg5c2KUf5kyRdfMmAiEAj1J28L+o
Am2Wq88IhuebYrpkswvEDlNlmdNLMZRaUjc=
-----END CERTIFICATE-----
"""


def write_certificate(folder: Path) -> Path:
    """The certificate as a file to trust."""
    path = folder / "authority.pem"
    path.write_text(CERTIFICATE)
    return path


def server_context(folder: Path, *alpn: str) -> ssl.SSLContext:
    """The server's side of TLS."""
    key = folder / "key.pem"
    key.write_text(KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(write_certificate(folder), key)
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context
