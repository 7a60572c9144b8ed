"""Record batches (magic 2) by hand: built with every field open to lies, and taken apart again."""

import gzip
import struct
import time
from dataclasses import dataclass

from wire import Message, Reader, WireError, varint

HEADER_BYTES = 61
NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 0x08, 0x10, 0x20
NO_TIMESTAMP = -1


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = _crc_table()


def crc32c(data, start=0):
    crc = start ^ 0xFFFFFFFF
    table = CRC_TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def now_ms():
    return int(time.time() * 1000)


def record(offset_delta=0, timestamp_delta=0, key=None, value=b"v", headers=(), attributes=0):
    def sized(content):
        return varint(-1) if content is None else varint(len(content)) + content

    body = bytes([attributes]) + varint(timestamp_delta) + varint(offset_delta) + sized(key) + sized(value)
    body += varint(len(headers)) + b"".join(sized(name) + sized(content) for name, content in headers)
    return varint(len(body)) + body


@dataclass
class Batch:
    """A batch to be sent. What is left None follows from the records; everything else is taken as given."""

    values: tuple = (b"v",)
    keys: tuple = None
    timestamps: tuple = None
    base_timestamp: int = None
    max_timestamp: int = None
    base_offset: int = 0
    leader_epoch: int = -1
    codec: int = NONE
    attributes: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    sequence: int = -1
    last_offset_delta: int = None
    count: int = None
    body: bytes = None  # instead of the records, already compressed when `codec` says so
    crc: int = None

    def encode(self):
        number = len(self.values)
        times = list(self.timestamps) if self.timestamps is not None else [now_ms()] * number
        base_time = self.base_timestamp if self.base_timestamp is not None else (times[0] if times else NO_TIMESTAMP)
        max_time = self.max_timestamp if self.max_timestamp is not None else max(times, default=NO_TIMESTAMP)
        body = self.body if self.body is not None else compress(self.codec, b"".join(
            record(i, times[i] - base_time, self.keys[i] if self.keys else None, self.values[i])
            for i in range(number)))
        delta = self.last_offset_delta if self.last_offset_delta is not None else number - 1
        signed = struct.pack(
            ">hiqqqhii", self.attributes | self.codec, delta, base_time, max_time, self.producer_id,
            self.producer_epoch, self.sequence, number if self.count is None else self.count) + body
        crc = crc32c(signed) if self.crc is None else self.crc
        return struct.pack(">qiibI", self.base_offset, len(signed) + 9, self.leader_epoch, 2, crc) + signed


def batch(*values, **fields):
    """The bytes of one batch holding these values."""
    return Batch(values=tuple(values) or (b"v",), **fields).encode()


def compress(codec, content):
    if codec == NONE:
        return content
    if codec == GZIP:
        return gzip.compress(content, 6)
    if codec == SNAPPY:
        return xerial_snappy(content)
    raise NotImplementedError(f"no encoder for codec {codec}")


def raw_snappy(content):
    """Valid snappy made of literals only."""
    out, length = bytearray(), len(content)
    while True:
        out.append(length & 0x7F | (0x80 if length > 0x7F else 0))
        length >>= 7
        if not length:
            break
    for at in range(0, len(content), 65536):
        piece = content[at:at + 65536]
        out += bytes([61 << 2]) + struct.pack("<H", len(piece) - 1) + piece
    return bytes(out)


XERIAL_HEADER = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)


def xerial_snappy(content, chunk=32768):
    out = bytearray(XERIAL_HEADER)
    for at in range(0, len(content), chunk):
        piece = raw_snappy(content[at:at + chunk])
        out += struct.pack(">i", len(piece)) + piece
    return bytes(out)


def decode_snappy_raw(data):
    reader, out = Reader(data), bytearray()
    total = reader.uvarint()
    while reader.at < len(data):
        tag = reader.take(1)[0]
        if tag & 3 == 0:
            size = tag >> 2
            if size >= 60:
                size = int.from_bytes(reader.take(size - 59), "little")
            out += reader.take(size + 1)
            continue
        if tag & 3 == 1:
            size, offset = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | reader.take(1)[0]
        else:
            size, offset = (tag >> 2) + 1, int.from_bytes(reader.take(2 if tag & 3 == 2 else 4), "little")
        for _ in range(size):
            out.append(out[-offset])
    if len(out) != total:
        raise WireError("snappy length")
    return bytes(out)


def decompress(codec, body):
    if codec == NONE:
        return body
    if codec == GZIP:
        return gzip.decompress(body)
    if codec == SNAPPY:
        if not body.startswith(XERIAL_HEADER[:8]):
            return decode_snappy_raw(body)
        reader, out = Reader(body), bytearray()
        reader.take(16)
        while reader.at < len(body):
            out += decode_snappy_raw(reader.take(reader.number(">i")))
        return bytes(out)
    raise NotImplementedError(f"no decoder for codec {codec}")


def split(data, verified=True):
    """The whole batches in fetched bytes, as Messages with their raw bytes; a cut-off last one is left out."""
    out, at = [], 0
    while at + HEADER_BYTES <= len(data):
        (length,) = struct.unpack_from(">i", data, at + 8)
        raw = data[at:at + 12 + length]
        if len(raw) < 12 + length:
            break
        out.append(_header(raw, verified))
        at += len(raw)
    return out


def _header(raw, verified):
    names = ("base_offset", "length", "leader_epoch", "magic", "crc", "attributes", "last_offset_delta",
             "base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "sequence", "count")
    head = Message(zip(names, struct.unpack_from(">qiibIhiqqqhii", raw)))
    if head.magic != 2 or verified and head.crc != crc32c(raw[21:]):
        raise WireError(f"magic {head.magic} or checksum of the batch at {head.base_offset} is wrong")
    return Message(head, raw=raw, codec=head.attributes & 7, body=raw[HEADER_BYTES:],
                   next_offset=head.base_offset + head.last_offset_delta + 1)


def records_of(batches):
    """(offset, timestamp, key, value, headers) of each record; gzip, snappy and plain batches."""
    out = []
    for one in batches:
        reader = Reader(decompress(one.codec, one.body))
        for _ in range(one.count):
            end = reader.varint() + reader.at
            reader.take(1)
            time_delta, offset_delta = reader.varint(), reader.varint()
            key, value = _sized(reader), _sized(reader)
            headers = [(_sized(reader), _sized(reader)) for _ in range(reader.varint())]
            if reader.at != end:
                raise WireError("record length")
            stamp = one.max_timestamp if one.attributes & LOG_APPEND_TIME else one.base_timestamp + time_delta
            out.append((one.base_offset + offset_delta, stamp, key, value, headers))
        reader.expect_end("the records")
    return out


def _sized(reader):
    length = reader.varint()
    return None if length < 0 else reader.take(length)


def values_of(data):
    return [value for _, _, _, value, _ in records_of(split(data))]
