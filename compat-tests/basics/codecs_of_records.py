"""Records of fetched batches in each of Kafka's codecs, for which conformance/ has no more than gzip and snappy: with
the system's liblz4 and libzstd."""

import ctypes

import records

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LZ4F_VERSION = 100
MOST_BYTES = 1 << 24  # of a batch's records


def unpack_zstd(body):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    target = ctypes.create_string_buffer(MOST_BYTES)
    size = library.ZSTD_decompress(target, ctypes.c_size_t(MOST_BYTES), body, ctypes.c_size_t(len(body)))
    if size > MOST_BYTES:
        raise ValueError("not one zstd frame")
    return target.raw[:size]


def unpack_lz4(body):
    library = ctypes.CDLL("liblz4.so.1")
    library.LZ4F_createDecompressionContext.restype = ctypes.c_size_t
    library.LZ4F_decompress.restype = ctypes.c_size_t
    context = ctypes.c_void_p()
    library.LZ4F_createDecompressionContext(ctypes.byref(context), LZ4F_VERSION)
    target = ctypes.create_string_buffer(MOST_BYTES)
    try:
        out, at, rest = bytearray(), 0, 1
        while at < len(body) and rest:
            size, taken = ctypes.c_size_t(MOST_BYTES), ctypes.c_size_t(len(body) - at)
            rest = library.LZ4F_decompress(context, target, ctypes.byref(size), body[at:], ctypes.byref(taken), None)
            if library.LZ4F_isError(ctypes.c_size_t(rest)) or not taken.value:
                raise ValueError("not an lz4 frame")
            out += target.raw[:size.value]
            at += taken.value
        return bytes(out)
    finally:
        library.LZ4F_freeDecompressionContext(context)


UNPACK = {"lz4": unpack_lz4, "zstd": unpack_zstd}


def records_of(batches):
    """As the client programs tell them: offset, timestamp, key, value, headers."""
    out = []
    for one in batches:
        unpack = UNPACK.get(CODECS[one.codec])
        if unpack:
            one = records.Message(one, codec=records.NONE, body=unpack(one.body))
        for offset, timestamp, key, value, headers in records.records_of([one]):
            out.append({"offset": offset, "timestamp": timestamp, "key": key, "value": value,
                        "headers": [{"name": name.decode(), "value": content} for name, content in headers]})
    return out
