"""How the examiner and a student's process take turns: one frame each way for most calls.

To the student goes an encoded list: ["run", source], ["fetch", names] or ["call", target, args,
kwargs]. A run or a fetch is answered by one encoded value. A call is answered by REPLY and the
encoded outcome, after any number of CALL_BACK frames (number of the lent function, encoded
arguments), each of which is answered by the encoded result."""

import struct

from grader import wire

REPLY = b"="
CALL_BACK = b"?"
NUMBER = struct.Struct(">I")
LONGEST_FRAME = wire.MESSAGE_LIMIT + 1 + NUMBER.size
