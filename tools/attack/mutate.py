"""Mutations of bytes, text, JSON and the project's file formats, with recomputed checksums."""

import copy
import struct

import formats

NUMBERS = [0, 1, -1, 2, 7, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 0.5,
           -0.0, 1e38, -1e38, 1e308, 1e-320, 1e400]
TEXTS = ["", "x", "\0", "\ud800", "ä", "\U0001F600", "../../etc/passwd", "lstm:16384", "lstm:0", "cm:4G", "mix:cm:4G+cm:4G",
         "ppm:99", "a" * 3000, "rnn:4,layers=1000000", "%s%n", "-1", "1e400", "nan", "\n", "{}", "task adding:10"]
FLOATS = [b"\0\0\x80\x7f", b"\0\0\x80\xff", b"\0\0\xc0\x7f", struct.pack("<f", 1e38), struct.pack("<f", -1e38),
          struct.pack("<f", 1e-40), b"\xff\xff\xff\xff", b"\0\0\0\0"]
TOKENS = [b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\r", b"\n\n\n", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
          b"\x1f\x8b", b"\t\t\t", b",,,,", b'"', b"'", b"{", b"}", b"[[[[", b"nan", b"inf", b"-1e999", b"1" * 400, b" " * 300,
          b"-DOCSTART-", b"# columns:", b"\x93NUMPY", b"PK\x03\x04", b"\\u0000", b"null"]


def bytes_of(random, data, others=()):
    """Apply one to four changes to bytes."""
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2, 3, 4])):
        size = len(data)
        at = random.randrange(size) if size else 0
        span = min(size - at, random.choice([1, 1, 2, 4, 8, 32, 200, 5000]))
        kind = random.randrange(9)
        if kind == 0 and size:
            data[at] ^= 1 << random.randrange(8)
        elif kind == 1 and size:
            data[at] = random.randrange(256)
        elif kind == 2:
            del data[at:at + span]
        elif kind == 3:
            data[at:at] = random.randbytes(span or 1)
        elif kind == 4:
            data[at:at] = data[at:at + span]
        elif kind == 5:
            del data[at:]
        elif kind == 6:
            data[at:at] = random.choice(TOKENS)
        elif kind == 7 and others:
            other = random.choice(others)
            start = random.randrange(len(other) + 1)
            data[at:at + span] = other[start:start + span]
        elif size:
            data[at:at + 4] = random.choice(FLOATS)
    return bytes(data)


def json_of(random, value):
    """Apply one change to a JSON value."""
    value = copy.deepcopy(value)
    places = []

    def walk(node):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                walk(node[key])

    if isinstance(value, (dict, list)):
        walk(value)
    if not places:
        return random.choice(NUMBERS + TEXTS)
    node, key = random.choice(places)
    kind = random.randrange(8)
    if kind == 0:
        if isinstance(node, dict):
            del node[key]
        else:
            node.pop(key)
    elif kind == 1:
        node[key] = random.choice(NUMBERS)
    elif kind == 2:
        node[key] = random.choice(TEXTS)
    elif kind == 3:
        node[key] = random.choice([None, True, False, [], {}, [[]] * 5, {"a": {"b": []}}])
    elif kind == 4:
        other, at = random.choice(places)
        node[key] = copy.deepcopy(other[at])
    elif kind == 5 and isinstance(node[key], (int, float)) and not isinstance(node[key], bool):
        node[key] = node[key] + random.choice([-1, 1, 2, 1000])
    elif kind == 6 and isinstance(node[key], str) and node[key]:
        at = random.randrange(len(node[key]))
        node[key] = node[key][:at] + random.choice(["", "9", ":", ",", "=", "+", "\0", "é"]) + node[key][at + 1:]
    elif isinstance(node, dict):
        node[random.choice(TEXTS)] = copy.deepcopy(node[key])
    else:
        node.append(copy.deepcopy(node[key]))
    return value


def model_of(random, data, others=()):
    """Mutate the header, the card or the tensors of a model file or checkpoint. The checksum is usually recomputed."""
    header, tensors = formats.split_model(data)
    kind = random.randrange(10)
    if kind == 0:
        return bytes_of(random, data, others)
    if kind <= 2 and tensors:
        at = random.randrange(0, len(tensors), 4)
        return formats.join_model(header, tensors[:at] + random.choice(FLOATS) + tensors[at + 4:])
    if kind == 3:
        return formats.join_model(header, bytes_of(random, tensors, others))
    if kind == 4:
        return formats.join_model(bytes_of(random, header, others), tensors)
    value = formats.header_of(data)
    metadata = value["__metadata__"]
    parsed = {}
    for key, text in metadata.items():
        try:
            parsed[key] = formats.json.loads(text)
        except ValueError:
            pass
    if kind <= 8 and parsed:  # the model card, or the state of a run
        key = random.choice(sorted(parsed))
        for _ in range(random.choice([1, 1, 2])):
            parsed[key] = json_of(random, parsed[key])
        metadata[key] = formats.json.dumps(parsed[key])
    else:
        value = json_of(random, value)
    return formats.with_header(data, value)


def archive_of(random, data, others=()):
    """Mutate header or block fields of an archive. All checksums are recomputed except those of the contents."""
    header, records = formats.split_archive(data)
    kind = random.randrange(10)
    blocks = [r for r in records if r["tag"] == 1]
    if kind == 0:
        return bytes_of(random, data, others)
    if kind <= 3:
        key = random.choice(sorted(header))
        if isinstance(header[key], int):
            header[key] = abs(int(random.choice([n for n in NUMBERS if n == n and abs(n) < 2**64])))
        elif key == "model" and random.random() < 0.6:
            header[key] = random.choice(TEXTS).encode("utf-8", "surrogatepass")
        else:
            header[key] = bytes_of(random, header[key], others)
    elif kind <= 6 and blocks:
        block = random.choice(blocks)
        key = random.choice(["bytes", "symbols", "code", "side", "crc", "code"])
        if isinstance(block[key], int):
            block[key] = random.choice([0, 1, block[key] + 1, max(0, block[key] - 1), 2**28, 2**30, 2**35, 2**62])
        elif key == "crc":
            block[key] = random.randbytes(4)
        else:
            block[key] = bytes_of(random, block[key], others)
    elif kind == 7 and not header["flags"] & 2:
        # Reordered independent blocks may go undetected because checksums protect only against accidental damage.
        random.shuffle(records)
    elif kind == 8:
        at = random.randrange(len(records))
        records.insert(at, copy.deepcopy(random.choice(records)))
    else:
        del records[random.randrange(len(records))]
    return formats.join_archive(header, records)
