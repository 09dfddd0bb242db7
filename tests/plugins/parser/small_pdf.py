"""A PDF of one or more pages, written by hand: text, facts and a link."""

from __future__ import annotations

import io

from pypdf import PdfReader, PdfWriter


def small_pdf(pages: int = 1, link: str = "http://a.com/x") -> bytes:
    """Page n says "Page n says hello"; each has a link."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 3 * number} 0 R" for number in range(pages))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number in range(pages):
        at = 4 + 3 * number
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents {at + 1} 0 R"
            f" /Resources << /Font << /F1 3 0 R >> >> /Annots [{at + 2} 0 R] >>".encode()
        )
        text = f"BT /F1 12 Tf 20 200 Td (Page {number + 1} says hello) Tj ET".encode()
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text))
        objects.append(
            f"<< /Type /Annot /Subtype /Link /Rect [0 0 9 9]"
            f" /A << /S /URI /URI ({link}) >> >>".encode()
        )
    objects.append(
        b"<< /Title (A Title) /Author (Ann) /Keywords (k, l) /CreationDate (D:20240102030405Z) >>"
    )
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (
        len(objects) + 1,
        len(objects),
    )
    out += b"startxref\n%d\n%%%%EOF\n" % start
    return bytes(out)


def encrypted_pdf(password: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(small_pdf())))
    writer.encrypt(password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
