"""The client's side of a Kerberos security context, by MIT's library: libgssapi_krb5 through ctypes, so that a test can look at,
keep and change every message.

    context = Initiator("kafka/localhost")
    token = context.step()                   # for the server
    context.step(reply)                      # b"" when nothing is left to say
    context.unwrap(offer); context.wrap(b"\\x01\\0\\0\\0")

Takes tickets and settings from the environment of the process (KRB5CCNAME, KRB5_CONFIG), when it is first used."""

import ctypes

MUTUAL, REPLAY, SEQUENCE, INTEGRITY = 2, 4, 8, 32
CONTINUE_NEEDED = 1
FOREVER = 0xFFFFFFFF


class Oid(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint32), ("elements", ctypes.c_void_p)]


class Buffer(ctypes.Structure):
    _fields_ = [("length", ctypes.c_size_t), ("value", ctypes.c_void_p)]


def oid(*octets):
    memory = ctypes.create_string_buffer(bytes(octets), len(octets))
    return Oid(len(octets), ctypes.cast(memory, ctypes.c_void_p)), memory


MECHANISM, _MECHANISM_MEMORY = oid(0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02)
PRINCIPAL, _PRINCIPAL_MEMORY = oid(0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02, 0x01)


def buffer(data):
    memory = ctypes.create_string_buffer(data, len(data) or 1)
    return Buffer(len(data), ctypes.cast(memory, ctypes.c_void_p)), memory


class Initiator:
    def __init__(self, service, flags=MUTUAL | REPLAY | SEQUENCE | INTEGRITY):
        self._gss = ctypes.CDLL("libgssapi_krb5.so.2")
        self._flags = flags
        self._context = ctypes.c_void_p()
        self._name = ctypes.c_void_p()
        text, _memory = buffer(service.encode())
        self._check("gss_import_name", ctypes.byref(text), ctypes.byref(PRINCIPAL), ctypes.byref(self._name))
        self.established = False

    def step(self, token=b""):
        given, _memory = buffer(token)
        out = Buffer()
        status = self._check(
            "gss_init_sec_context", None, ctypes.byref(self._context), self._name, ctypes.byref(MECHANISM),
            ctypes.c_uint32(self._flags), ctypes.c_uint32(FOREVER), None, ctypes.byref(given), None, ctypes.byref(out),
            None, None)
        self.established = not status & CONTINUE_NEEDED
        return self._taken(out)

    def wrap(self, message, encrypted=False):
        given, _memory = buffer(message)
        out = Buffer()
        self._check("gss_wrap", self._context, ctypes.c_int(encrypted), ctypes.c_uint32(0), ctypes.byref(given), None,
                    ctypes.byref(out))
        return self._taken(out)

    def unwrap(self, message):
        given, _memory = buffer(message)
        out = Buffer()
        self._check("gss_unwrap", self._context, ctypes.byref(given), ctypes.byref(out), None, None)
        return self._taken(out)

    def _taken(self, out):
        data = ctypes.string_at(out.value, out.length) if out.length else b""
        minor = ctypes.c_uint32()
        self._gss.gss_release_buffer(ctypes.byref(minor), ctypes.byref(out))
        return data

    def _check(self, function, *arguments):
        minor = ctypes.c_uint32()
        call = getattr(self._gss, function)
        call.restype = ctypes.c_uint32
        status = call(ctypes.byref(minor), *arguments)
        if status & 0xFFFF0000:
            raise RuntimeError(f"{function}: major {status:#x}, minor {minor.value:#x}")
        return status
