"""Names as text, from common/base/escape.h alone, and the hostile names that tests use. Unicode's
tables are Python's."""
import re
import unicodedata

IGNORED = {0x2800, 0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2065, 0x3164, 0xffa0, *range(0x180b, 0x1810), *range(0xfe00, 0xfe10), *range(0xfff0, 0xfff9),
           *range(0xe0000, 0xe1000)}
PREPENDED = {*range(0x600, 0x606), 0x6dd, 0x70f, 0x890, 0x891, 0x8e2, 0x110bd, 0x110cd}
ESCAPE = re.compile(r'\\(?:u\{([0-9a-f]{1,6})\}|x\{([0-9a-f]{2})\})')

# What somebody may call a thread, a function, a file or a container. At most 15 bytes: a thread's name
# is no longer.
SHORT = [
    b'\x1b[31mred\x1b[m', b'\x1b]0;title\x07', b'\x9b31mcsi', '\x9b2Jcsi'.encode(), b'\x1b(0lqk', b'bell\x07', b'back\x08\x08', b'del\x7f',
    *(('a%sb' % chr(c)).encode() for c in (0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069, 0x200e, 0x200f, 0x61c)),
    *(('a%sb' % chr(c)).encode() for c in (0x200b, 0x200c, 0x200d, 0x2060, 0xfeff, 0xad, 0x34f, 0x3164, 0x2800, 0xfe0f, 0xe0041, 0xe0020, 0x180e)),
    *(('a%sb' % chr(c)).encode() for c in (0xa0, 0x2003, 0x3000, 0x85, 0x2028, 0x2029)), 'ab'.encode(),
    b'\xff\xfe', b'\xc0\xaf', b'\xe0\x80\x9b', b'\xed\xa0\x80\xed\xb0\x80', b'\xf4\x90\x80\x80', b'cut\xe2\x82', '\ufffe'.encode(), '\ufffd'.encode(),
    b'line\nbreak', b'cr\rline', b'tab\tbed', b'v\x0bf\x0c', b'semi;colon', b'semi:colon', b'"quotes"', b"it's", b'`backtick`', b'a|b', b'</script>', b']]>', b'<!--', b'&lt;',
    b'<b>', b'=cmd', b'+1+cmd', b'-1-cmd', b'@SUM(A1)', '\uff1dcmd'.encode(), b'a,b', b'=a","=b', b'\\', b'a\\', b'\\u{1b}', b'\\x{9b}', b'\\u{5c}', b'\\x1b', b'dev\\x2dsda', b'\\n', b'%s%n', b'$(id)',
    b'#hash', b'count 12', b'count 1.5', b'count_12', b'x_[k]', b'x_[j]', b'x_[i]', b'x_[joined]', b'x', b'[kernel]', b'[x]', b'a->b', b'(paren)', b'a b', b'a_b', b'{x,-ofile}', b'bang!1', b'~root', b'a^b', b'a  b', b' a', b'a ', b'?', b'..', b'-v',
    '日本語'.encode(), 'café'.encode(), 'cafe\u0301'.encode(), '\u0301x'.encode(), 'Z\u0301\u0301\u0301\u0301\u0301'.encode(), '🔥'.encode(), '👩\u200d💻'.encode(), 'שלום'.encode(),
]
LONG = [b'x' * 4000 + b'\x1b[2J', '\u202e'.encode() * 500, b';' * 300]


def hidden(c):
    cat = unicodedata.category(chr(c))
    return c & 0xfffe == 0xfffe or 0xfdd0 <= c < 0xfdf0 or c in IGNORED or \
        cat in ('Cc', 'Cf', 'Zl', 'Zp', 'Zs', 'Cs') and c != 32 and c not in PREPENDED


def mark(c):
    return unicodedata.category(chr(c)) in ('Mn', 'Me') or 0x1160 <= c < 0x1200


def columns(text):
    return sum(0 if mark(ord(c)) else 2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in text)


def pieces(raw):
    """Characters, and single bytes (negative) of what is no UTF-8."""
    while raw:
        for n in range(1, 5):
            try:
                yield ord(raw[:n].decode())
                break
            except (UnicodeDecodeError, TypeError):
                pass
        else:
            n = 1
            yield -raw[0]
        raw = raw[n:]


def escape(raw, name=True, text=False):
    """escape_name(); escape_bytes() without NAME; escape_text() with TEXT."""
    out, marks, at, last = [], 4, 0, None
    for c in pieces(raw):
        n = 1 if c < 0 else len(chr(c).encode())
        kept = ESCAPE.match(raw[at:].decode('latin-1')) if c == 92 else None
        esc = c < 0 or hidden(c) or kept and not text
        if not esc and mark(c):
            esc = marks >= 4
            marks += 1
        elif not esc:
            marks = 0
            if c == 32 and name and not text:
                esc = at == 0 or at + 1 == len(raw) or last == 32
        if kept and text:
            marks = 4
        if esc:
            marks = 4
        out.append('\\x{%02x}' % -c if c < 0 else '\\u{%x}' % c if esc else chr(c))
        at += n
        last = c
    return ''.join(out)


def undo(text):
    return re.sub(rb'\\u\{([0-9a-f]{1,6})\}|\\x\{([0-9a-f]{2})\}',
                  lambda m: chr(int(m[1], 16)).encode('utf-8', 'surrogatepass') if m[1] else bytes([int(m[2], 16)]), text.encode())


def seen(data, what, line_ends=True):
    """Does a reader of these bytes see all that is there?"""
    text = data.decode('utf-8')
    bad = {c for c in text if hidden(ord(c)) and not (line_ends and c == '\n')}
    assert not bad, '%s: %s' % (what, ', '.join('U+%04X' % ord(c) for c in sorted(bad)))
    return text


assert len({escape(s) for s in SHORT}) == len(set(SHORT)) and all(undo(escape(s)) == s for s in SHORT + LONG)
assert all(len(s) <= 15 for s in SHORT), [s for s in SHORT if len(s) > 15]
