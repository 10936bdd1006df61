# options.awk -v version=VERSION TABLE PAGE: fill a manual page, replacing its line @OPTIONS@ and
# @VERSION@ in its .TH.
#
# TABLE is what --list-options prints (opt.h), or nsprof --list-options: the commands. Texts are plain but for `bold`. Options
# and names like perf(1) become bold as well, and lines that begin with "- WORD: " a list.
#
# Written for any awk: mawk lacks \<, gensub() and the like.
BEGIN { FS = "\t" }

function upper_first(s) { return toupper(substr(s, 1, 1)) substr(s, 2) }

function bold(s) {
	gsub(/-/, "\\-", s)
	return "\\fB" s "\\fP"
}

# Is the option of @len characters at @at in @s a word of its own? "-TO" and "3-x" are not.
function is_option(s, at, len) {
	if (at > 1 && substr(s, at - 1, 1) ~ /[A-Za-z0-9_.-]/)
		return 0
	return substr(s, at + len, 1) !~ /[A-Za-z0-9_]/
}

function markup(s,    out, at, len, word) {
	while (match(s, /`[^`]*`|--[a-z][a-z-]*|-[A-Za-z]|[a-z][a-z.-]*\([1-8]\)/)) {
		at = RSTART
		len = RLENGTH
		word = substr(s, at, len)
		out = out plain(substr(s, 1, at - 1))
		if (word ~ /^`/)
			out = out bold(substr(word, 2, len - 2))
		else if (word ~ /\)$/)
			out = out bold(substr(word, 1, len - 3)) substr(word, len - 2)
		else if (is_option(s, at, len))
			out = out bold(word)
		else
			out = out word
		# The rest is looked at with nothing in front of it, so a word that goes on is passed over.
		s = substr(s, at + len)
		if (match(s, /^[A-Za-z0-9_-]+/)) {
			out = out substr(s, 1, RLENGTH)
			s = substr(s, RLENGTH + 1)
		}
	}
	return out plain(s)
}

# Negative numbers have a minus sign, not a hyphen.
function plain(s,    out) {
	while (match(s, /(^|[ (])-[0-9]/)) {
		out = out substr(s, 1, RSTART + RLENGTH - 3) "\\-" substr(s, RSTART + RLENGTH - 1, 1)
		s = substr(s, RSTART + RLENGTH)
	}
	return out s
}

# A line that begins with a dot or an apostrophe would be a request.
function put(s) {
	s = markup(s)
	print (s ~ /^[.']/ ? "\\&" : "") s
}

# @first is a sentence, @more what follows it: paragraphs, and lists.
function put_text(first, more,    n, lines, i, at, in_list) {
	n = split(more, lines, /\\n/)
	i = 1
	if (n && lines[1] !~ /^- /)
		first = first " " lines[i++]
	put(first)
	for (; i <= n; i++) {
		if (lines[i] == "")
			continue
		at = index(lines[i], ": ")
		if (lines[i] ~ /^- / && at) {
			if (!in_list)
				print ".RS"
			in_list = 1
			print ".TP"
			print ".B \"" substr(lines[i], 3, at - 3) "\""
			put(substr(lines[i], at + 2))
			continue
		}
		if (in_list)
			print ".RE"
		print ".IP"
		in_list = 0
		put(lines[i])
	}
	if (in_list)
		print ".RE"
}

# .BR takes bold and roman in turn: \-p ", " \-\-pid " PID"
function tag(shrt, name, arg,    t) {
	gsub(/-/, "\\-", shrt)
	gsub(/-/, "\\-", name)
	t = shrt
	if (shrt != "" && name != "")
		t = t " \", \" "
	t = t name
	if (arg ~ /^\[/)
		t = t " " (name != "" ? "[=" substr(arg, 2) : arg)
	else if (arg != "")
		t = t " \" " arg "\""
	return t
}

FNR == 1 { file++ }

file == 1 {
	table[++rows] = $0
	next
}

$0 != "@OPTIONS@" {
	sub(/@VERSION@/, version)
	print
	next
}

{
	for (r = 1; r <= rows; r++) {
		split(table[r], f, "\t")
		if (f[1] == "group") {
			if (f[2] != "Options")
				print ".SS " f[2]
		} else if (f[1] == "option") {
			print ".TP"
			print ".BR " tag(f[2], f[3], f[4])
			put_text(upper_first(f[6]) (f[6] ~ /\.$/ ? "" : "."), f[7])
		} else if (f[1] == "command") {
			print ".TP"
			print ".B " f[2]
			put(upper_first(f[3]) "." (f[2] ~ /^(version|help)$/ ? "" : " See nsprof-" f[2] "(1)."))
		}
	}
}
