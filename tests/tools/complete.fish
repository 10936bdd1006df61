# complete.fish SCRIPT LINE...: what fish offers behind each LINE, without the descriptions.
source $argv[1]
for line in $argv[2..-1]
	echo "== $line"
	complete -C "$line" | string replace -r '\t.*' '' | sort -u
end
