# generate.awk -v shell=bash|zsh|fish TABLE TEMPLATE: fill in a completion script.
#
# TABLE is what nsprof --list-options prints, then for each command "table NAME" and what its --list-options prints (opt.h).
# Lines @OPTIONS@ and @COMMANDS@, and these words in a line, are replaced.
BEGIN { FS = "\t" }

FNR == 1 { file++ }

file == 1 && $1 == "command" {
	commands = commands " " $2
	help[$2] = $3
	order[++ncommands] = $2
	next
}

file == 1 && $1 == "table" {
	command = $2
	tables[++ntables] = command
	next
}

file == 1 {
	if ($1 == "option" || $1 == "operands") {
		n = ++rows[command]
		row[command, n] = $0
	}
	next
}

function or_dash(s) { return s == "" ? "-" : s }

function kind_of(arg) { return arg == "" ? "none" : arg ~ /^\[/ ? "optional" : "required" }

# In single quotes.
function quoted(s, inside) {
	gsub(/'/, inside, s)
	return "'" s "'"
}

function bash_options(    t, c, i, f) {
	for (t = 1; t <= ntables; t++) {
		c = tables[t]
		for (i = 1; i <= rows[c]; i++) {
			split(row[c, i], f, "\t")
			if (f[1] == "operands")
				print c, "- - required", f[2]
			else
				print c, or_dash(f[2]), or_dash(f[3]), kind_of(f[4]), or_dash(f[5])
		}
	}
}

function zsh_escape(s, chars) {
	gsub(chars, "\\\\&", s)
	return s
}

# '*-p+[text]:ARG: _nsprof_value "KIND"'
function zsh_spec(name, arg, value, text,    s) {
	s = "*" name
	if (arg ~ /^\[/)
		s = s (name ~ /^--/ ? "=-" : "-")
	else if (arg != "")
		s = s (name ~ /^--/ ? "=" : "+")
	s = s "[" zsh_escape(text, "[][\\\\]") "]"
	if (arg != "") {
		s = s (arg ~ /^\[/ ? "::" : ":") zsh_escape(arg, ":")
		s = s ":" (value != "" ? " _nsprof_value \"" zsh_escape(value, ":") "\"" : " ")
	}
	return quoted(s, "'\\''")
}

function zsh_options(    t, c, i, f, last) {
	for (t = 1; t <= ntables; t++) {
		c = tables[t]
		printf "\t%s)\n\t\t_arguments -s -S", c
		last = ""
		for (i = 1; i <= rows[c]; i++) {
			split(row[c, i], f, "\t")
			if (f[1] == "operands")
				last = f[2]
			if (f[1] == "operands")
				continue
			if (f[2] != "")
				printf " \\\n\t\t\t%s", zsh_spec(f[2], f[4], f[5], f[6])
			if (f[3] != "")
				printf " \\\n\t\t\t%s", zsh_spec(f[3], f[4], f[5], f[6])
		}
		if (last == "@command")
			printf " \\\n\t\t\t'(-)1:command: _command_names -e' '*::arguments: _normal'"
		else if (last != "")
			printf " \\\n\t\t\t'*:file: _nsprof_value %s'", last
		print " ;;"
	}
}

# -x: an argument, and it is no file.
function fish_argument(arg, value) {
	if (arg == "")
		return ""
	if (value == "@file")
		return arg ~ /^\[/ ? " -F" : " -r -F"
	if (value == "@folder")
		return " -x -a '(__fish_complete_directories)'"
	return (arg ~ /^\[/ ? " -f" : " -x") (value != "" ? " -a \"(__nsprof_value '" value "')\"" : "")
}

function fish_options(    t, c, i, f) {
	for (t = 1; t <= ncommands; t++)
		print "complete -c nsprof -n __fish_use_subcommand -a " order[t] " -d " quoted(help[order[t]], "\\'")
	print "complete -c nsprof -n '__nsprof_in help' -a '" substr(commands, 2) "'"
	for (t = 1; t <= ntables; t++) {
		c = tables[t]
		for (i = 1; i <= rows[c]; i++) {
			split(row[c, i], f, "\t")
			printf "complete -c nsprof -n '__nsprof_%s %s'", f[1] == "operands" ? "operand" : "in", c
			if (f[1] == "operands") {
				if (f[2] == "@command")
					print " -a '(__fish_complete_command)'"
				else
					print " -a \"(__nsprof_value '" f[2] "')\""
				continue
			}
			print (f[2] != "" ? " -s " substr(f[2], 2) : "") (f[3] != "" ? " -l " substr(f[3], 3) : "") \
				fish_argument(f[4], f[5]) " -d " quoted(f[6], "\\'")
		}
	}
}

function fish_required(    i, f, s) {
	for (i = 1; i <= rows["record"]; i++) {
		split(row["record", i], f, "\t")
		if (f[1] == "option" && kind_of(f[4]) == "required")
			s = s " " f[2] " " f[3]
	}
	gsub(/  +/, " ", s)
	return substr(s, 2)
}

$0 == "@OPTIONS@" {
	if (shell == "bash")
		bash_options()
	else if (shell == "zsh")
		zsh_options()
	else
		fish_options()
	next
}

$0 == "@COMMANDS@" {
	for (i = 1; i <= ncommands; i++)
		print "\t\t" quoted(order[i] ":" help[order[i]], "'\\''")
	next
}

{
	sub(/@COMMANDS@/, substr(commands, 2))
	sub(/@REQUIRED@/, fish_required())
	print
}
