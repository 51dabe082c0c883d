"""Parsers and writers for the project's file formats, with recomputed checksums."""

import json
import struct
import zlib

CHECKSUM_START = b'{"__metadata__":{"checksum":"crc32:'
MAGIC = b"\x8fUNF"


# Model files and checkpoints ------------------------------------------------------------------------------------------

def split_model(data):
    """Return (header as bytes, tensors as bytes)."""
    length = struct.unpack("<Q", data[:8])[0]
    return data[8:8 + length], data[8 + length:]


def join_model(header, tensors):
    """Return the file with a valid checksum, if the header has space for one."""
    data = bytearray(struct.pack("<Q", len(header)) + header + tensors)
    at = 8 + len(CHECKSUM_START)
    if bytes(data[8:at]) == CHECKSUM_START and len(data) >= at + 8:
        data[at:at + 8] = b"00000000"
        data[at:at + 8] = b"%08x" % zlib.crc32(bytes(data))
    return bytes(data)


def header_of(data):
    return json.loads(split_model(data)[0])


def with_header(data, value):
    """Return the file with a different header; the checksum remains its first entry."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return join_model(text, split_model(data)[1])


# Archives -------------------------------------------------------------------------------------------------------------

def number(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        piece = self.data[self.at:self.at + n]
        self.at += n
        return piece

    def number(self):
        n = shift = 0
        while True:
            byte = self.take(1)[0]
            n |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return n


def split_archive(data):
    """Return the header fields, and one dictionary per record."""
    b = Bytes(data)
    assert b.take(4) == MAGIC and b.take(1) == b"\x01"
    payload = Bytes(b.take(b.number()))
    b.take(4)
    header = {"source": payload.take(1)[0], "flags": payload.take(1)[0], "block": payload.number(),
              "model": payload.take(payload.number()), "identity": payload.number(),
              "optimizer": payload.take(payload.number()), "window": payload.number(),
              "bytes": payload.take(payload.number())}
    records = []
    while True:
        tag = b.take(1)[0]
        if tag == 2:
            records.append({"tag": 2, "bytes": b.number(), "blocks": b.number()})
            return header, records
        sizes = [b.number() for _ in range(4)]
        records.append({"tag": tag, "bytes": sizes[0], "symbols": sizes[1], "code": b.take(sizes[2]),
                        "side": b.take(sizes[3]), "crc": b.take(4)})
        b.take(4)


def join_archive(header, records):
    payload = bytes([header["source"] & 0xFF, header["flags"] & 0xFF]) + number(header["block"])
    payload += number(len(header["model"])) + header["model"] + number(header["identity"])
    payload += number(len(header["optimizer"])) + header["optimizer"] + number(header["window"])
    payload += number(len(header["bytes"])) + header["bytes"]
    chain, out = 0, b""

    def add(record):
        nonlocal chain, out
        chain = zlib.crc32(record, chain)
        out += record + struct.pack("<I", chain)

    add(MAGIC + b"\x01" + number(len(payload)) + payload)
    for r in records:
        if r["tag"] == 2:
            add(b"\x02" + number(r["bytes"]) + number(r["blocks"]))
        else:
            add(bytes([r["tag"]]) + number(r["bytes"]) + number(r["symbols"]) + number(len(r["code"]))
                + number(len(r["side"])) + r["code"] + r["side"] + r["crc"])
    return out
